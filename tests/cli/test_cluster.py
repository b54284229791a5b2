"""`--cluster`: what is refused before anything is sought, started or computed."""

import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from colme.cli.app import BAD_INPUT, INTERRUPTED, run
from colme.sim.study import cluster, load
from support.elsewhere import PATIENCE, until

COMMANDS = [
    "simulate --json",
    "reproduce comparison --out {0}",
    "reproduce figure1 --out {0}",
    "study x.csv --site a --value b --bounds 0,1 --epsilon 1 --json",
]
SMALL = "simulate --agents 20 --degree 4 --algorithm oracle"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "where", ["8786", "local:0", "local", "http://x:1", "tcp://x", "tcp://:1/"]
)
def test_what_is_no_address_is_refused_first(
    command: str, where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run([*command.format(out).split(), "--cluster", where]) == BAD_INPUT
    told = capsys.readouterr().err
    assert f"cluster: saw '{where}', expected tcp://host:port" in told
    assert "local:N" in told
    assert not out.exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_threads_are_one_too_many_and_no_folder_is_taken(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    both = ["--cluster", "local:2", "--threads", "2"]
    assert run([*command.format(out).split(), *both]) == BAD_INPUT
    assert "--threads: saw 2, expected none with --cluster" in capsys.readouterr().err
    assert not out.exists()


def test_without_the_extra_it_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> object:
        if name == "distributed":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return import_module(name)

    monkeypatch.setattr(cluster, "import_module", missing)
    assert run([*SMALL.split(), "--json", "--cluster", "local:2"]) == BAD_INPUT
    assert "pip install '.[cluster]'" in capsys.readouterr().err


def test_tls_without_certificates_says_where_they_belong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*SMALL.split(), "--json", "--cluster", "tls://127.0.0.1:1"]) == BAD_INPUT
    assert "certificates in Dask's configuration" in capsys.readouterr().err


def test_nothing_of_it_is_imported_unless_it_is_asked_for() -> None:
    code = "import sys, colme.cli.simulate; print('distributed' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


@pytest.mark.slow
def test_processes_of_ones_own_and_an_interruption(tmp_path: Path) -> None:
    """Ctrl-C reaches everybody in the terminal: one line is said, finished batches are kept."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "colme", *SMALL.split(), "--out", str(out)]
    command += ["--rounds", "1000000", "--runs", "31", "--cluster", "local:1"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            until(
                "a batch is kept, of the many to come",
                lambda: any(out.glob("*/*.batch")) or process.poll() is not None,
                patience=4 * PATIENCE,  # first a cluster is started, and the kernel compiled
            )
            assert process.poll() is None, process.communicate()[1]
            os.killpg(process.pid, signal.SIGINT)
            _, told = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == INTERRUPTED
    *progress, last = told.splitlines()
    assert all(line.startswith("simulating: ") for line in progress)
    assert last.startswith("colme: interrupted; ")
    assert last.endswith("the same command goes on from there")


@pytest.mark.slow
def test_local_processes_give_the_same_result(tmp_path: Path) -> None:
    small = [*SMALL.split(), "--rounds", "50", "--runs", "8"]
    assert run([*small, "--out", str(tmp_path / "here")]) == 0
    there = [*small, "--out", str(tmp_path / "there"), "--cluster", "local:2"]
    subprocess.run([sys.executable, "-m", "colme", *there], check=True)
    assert load(tmp_path / "there").identical(load(tmp_path / "here"))
