"""Ctrl-C: it comes at once, says what is kept, and that is true."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from colme.cli.app import INTERRUPTED, run
from colme.sim import study
from support.elsewhere import PATIENCE

SMALL = "--agents 20 --degree 4 --algorithm oracle --rounds 50 --runs 8 --threads 1"


@pytest.mark.parametrize(("kept", "told"), [(0, "no batch"), (1, "1 batch"), (3, "3 batches")])
def test_it_says_what_is_kept_and_the_same_command_goes_on(
    kept: int,
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save, saved = study.Checkpoint.save, list[str]()

    def interrupt(self: study.Checkpoint, name: str, sums: object) -> None:
        if len(saved) == kept:
            raise KeyboardInterrupt
        saved.append(name)
        save(self, name, sums)  # type: ignore[arg-type]

    command = ["simulate", *SMALL.split(), "--out", str(tmp_path)]
    with monkeypatch.context() as patch:
        patch.setattr(study.Checkpoint, "save", interrupt)
        assert run(command) == INTERRUPTED
    words = capsys.readouterr().err
    assert told in words
    assert ("the same command goes on" in words) is (kept > 0)
    again = list[str]()
    monkeypatch.setattr(study.Checkpoint, "save", lambda _self, name, _sums: again.append(name))
    assert run(command) == 0
    assert len(again) == 8 - kept
    assert not set(again) & set(saved)
    capsys.readouterr()


def test_without_a_folder_nothing_is_promised(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(study, "simulate", interrupted)
    assert run(["simulate", *SMALL.split(), "--json"]) == INTERRUPTED
    assert "nothing is kept" in capsys.readouterr().err


STUCK = """
import sys, threading
from colme.cli import main
from colme.sim.study.batch import Batch

def advance(*_):
    print("begun", flush=True)
    threading.Event().wait()  # for ever, whoever may say stop

Batch.advance = advance
sys.argv[0] = "colme"
main()
"""


def test_it_waits_for_no_batch() -> None:
    """One that compiles, or is far from where it looks whether to stop, is left as it is."""
    command = [sys.executable, "-c", STUCK, "simulate", *SMALL.split(), "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        try:
            _, told = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == INTERRUPTED
    assert told == "colme: interrupted; without --out nothing is kept\n"
