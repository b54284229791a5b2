"""The one runner: killed anywhere and resumed it gives the same bytes, and it loses no part."""

import errno
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from colme.cli import running
from colme.cli.app import BAD_INPUT, INTERRUPTED
from colme.cli.app import run as command_line
from colme.errors import ConfigError
from colme.experiment.run import Arrays, Experiment, Folder, Interrupted, Report, Several, run
from colme.sim.scenario import Scenario
from colme.sim.simulation import Simulation
from colme.studies.question import prepare
from colme.studies.study import StudyExperiment
from support.elsewhere import PATIENCE, until
from support.refusing import refused

ROWS = {f"site {i}": [(7 * j + i) % 10 for j in range(30)] for i in range(6)}


class Squares(Experiment[int, list[float]]):
    """Squares of some numbers: a part each."""

    def __init__(self, count: int = 4, file: str = "squares.txt") -> None:
        self.count, self.files, self.computed = count, (file,), list[int]()

    def identity(self) -> Mapping[str, Any]:
        return {"count": self.count}

    def parts(self) -> Sequence[int]:
        return range(self.count)

    def name(self, part: int) -> str:
        return str(part)

    def work(self, part: int) -> int:
        return 10

    def compute(self, part: int, report: Report = lambda _: None, *, threads: int = 1) -> Arrays:
        report(10)
        self.computed.append(part)
        return {"square": np.array(float(part**2))}

    def combine(self, parts: Sequence[Arrays]) -> list[float]:
        return [float(part["square"]) for part in parts]

    def save(self, result: list[float], out: Path) -> list[Path]:
        (out / self.files[0]).write_text(repr(result))
        return [out / self.files[0]]

    def load(self, out: Path) -> list[float]:
        return [float(one) for one in (out / self.files[0]).read_text()[1:-1].split(",")]


def simulation() -> Simulation:
    fields = {"agents": 20, "graph": {"degree": 4}, "rounds": 40, "runs": 20}
    return Simulation(Scenario.build(**fields, algorithms=["oracle", "bernstein"]))


def study() -> StudyExperiment:
    return StudyExperiment(
        prepare(ROWS, bounds=(0, 10), epsilon=4, samples=10, runs=5, algorithm="paper")
    )


EXPERIMENTS = {"plain": Squares, "simulate": simulation, "study": study}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _stop_at(parts: int) -> Any:
    def finished(done: Sequence[Arrays]) -> None:
        if len(done) == parts:
            raise KeyboardInterrupt

    return finished


@pytest.mark.parametrize("stored", [0, 1, 3])
@pytest.mark.parametrize("kind", EXPERIMENTS)
def test_stopped_at_any_part_and_resumed_it_has_the_same_bytes(
    kind: str, stored: int, tmp_path: Path
) -> None:
    make: Any = EXPERIMENTS[kind]
    run(make(), out=tmp_path / "whole")
    out = tmp_path / "out"
    total = make().total_work()

    with pytest.raises(Interrupted):
        run(make(), out=out, threads=1, finished=_stop_at(stored + 1))
    done: list[int] = []
    outcome = run(make(), out=out, report=done.append)
    assert outcome.computed
    assert sum(done) == total
    assert contents(out) == contents(tmp_path / "whole")
    assert {path.name for path in out.iterdir()} == {"asked.json", *(p.name for p in outcome.files)}


def full(*_: object) -> None:
    """What the system says where there is no room."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_at_the_end_loses_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts are removed after the result is written, never before."""
    for kind, make in EXPERIMENTS.items():
        experiment: Any = make()  # type: ignore[operator]
        out = tmp_path / kind
        with monkeypatch.context() as patch:
            patch.setattr(type(experiment), "save", full)
            with refused(ConfigError, "--out"):
                run(experiment, out=out)
        assert len(list(out.glob("unfinished-*/*.part"))) == len(experiment.parts())
        with monkeypatch.context() as patch:
            patch.setattr(type(experiment), "compute", None)
            assert run(experiment, out=out).files


def test_a_disk_that_is_full_in_between_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_for_parts(path: Path, target: Path) -> None:
        if target.suffix == ".part":
            full()
        os.replace(path, target)

    monkeypatch.setattr(Path, "replace", full_for_parts)
    with refused(ConfigError, "--out"):
        run(Squares(), out=tmp_path)


def test_parts_come_as_they_are_finished_and_are_combined_in_order() -> None:
    grown: list[int] = []
    outcome = run(Squares(), threads=2, finished=lambda parts: grown.append(len(parts)))
    assert grown == [1, 2, 3, 4]
    assert outcome.result == [0, 1, 4, 9]


def test_damaged_parts_are_computed_again_with_one_warning(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        run(Squares(), out=tmp_path, threads=1, finished=_stop_at(3))
    damaged = sorted(tmp_path.glob("unfinished-*/*.part"))[:2]
    for path in damaged:
        path.write_bytes(b"PK\x03\x04 torn")
    again = Squares()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        assert run(again, out=tmp_path, threads=1).result == [0, 1, 4, 9]
    assert len(told) == 1
    assert again.computed == [0, 1, 3]


def test_any_damage_of_a_part_is_noticed(tmp_path: Path) -> None:
    folder = Folder(tmp_path, {})
    folder.save("one", {"mse": np.arange(6.0), "runs": np.array(3.0)})
    path = folder.parts / "one.part"
    content, draws = path.read_bytes(), np.random.default_rng(1)
    for _ in range(300):
        changed = bytearray(content)
        changed[draws.integers(len(content))] ^= 1 << draws.integers(8)
        torn = draws.random() < 0.3
        path.write_bytes(content[: draws.integers(len(content))] if torn else changed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert folder.load("one") is None


def test_several_end_in_one_folder(tmp_path: Path) -> None:
    def draw(found: dict[str, Any], out: Path) -> list[Path]:
        (out / "both.txt").write_text(repr(found))
        return [out / "both.txt"]

    def both(second: int) -> Several:
        experiments = {"first": Squares(2, "first.txt"), "second": Squares(second, "second.txt")}
        return Several(experiments, draw)

    outcome = run(both(3), out=tmp_path)
    assert outcome.result == {"first": [0, 1], "second": [0, 1, 4]}
    again = run(both(3), out=tmp_path)
    assert not again.computed
    assert again.result == outcome.result
    assert [path.name for path in again.files] == ["first.txt", "second.txt", "both.txt"]
    with pytest.raises(ConfigError):
        run(both(4), out=tmp_path)


class Counting(Executor):
    """Computes nothing: its futures never end, but can be cancelled."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        self.futures.append(Future())
        if len(self.futures) == 3:
            self.futures[1].set_exception(KeyboardInterrupt())
        return self.futures[-1]


def test_an_interruption_cancels_what_was_sent_to_an_executor() -> None:
    executor = Counting()
    with pytest.raises(Interrupted):
        run(simulation(), executor=executor)
    cancelled = [one.cancelled() for one in executor.futures]
    assert cancelled == [number != 1 for number in range(len(simulation().parts()))]
    with refused(ConfigError, "threads"):
        run(Squares(), threads=2, executor=executor)


STUCK = """
import sys, threading
from colme.cli import main
from colme.sim.batch import Batch

def advance(*_):
    print("begun", flush=True)
    threading.Event().wait()  # for ever, whoever may say stop

Batch.advance = advance
sys.argv[0] = "colme"
main()
"""
SMALL = "simulate --agents 20 --degree 4 --algorithm oracle"


def test_ctrl_c_waits_for_no_part() -> None:
    """A part that compiles, or is far from where it reports, is left as it is."""
    command = [sys.executable, "-c", STUCK, *SMALL.split(), "--rounds", "50", "--threads", "1"]
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
    assert told == "colme: interrupted; without --out nothing is stored\n"


@pytest.mark.slow
@pytest.mark.parametrize("on", ["--threads", "--workers"])
def test_killed_and_resumed_a_command_writes_the_same_bytes(on: str, tmp_path: Path) -> None:
    """A real SIGKILL once some parts are stored. Processes of its own end with it."""
    command = [sys.executable, "-m", "colme", *SMALL.split(), "--rounds", "200000", "--runs", "31"]
    command += [on, "1"]
    out = tmp_path / "out"
    with subprocess.Popen(
        [*command, "--out", str(out)], stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        until(
            "a part is stored, of the many to come",
            lambda: any(out.glob("*/*.part")) or process.poll() is not None,
            patience=4 * PATIENCE,  # first processes are started, and the kernel is compiled
        )
        assert process.poll() is None
        workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.kill()
        assert process.wait(timeout=PATIENCE) == -signal.SIGKILL
    assert (on == "--workers") is bool(workers)
    until("no worker is left", lambda: not any(Path(f"/proc/{one}").exists() for one in workers))
    for folder in (out, tmp_path / "whole"):
        subprocess.run(
            [*command, "--out", str(folder)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    assert contents(out) == contents(tmp_path / "whole")


def test_what_does_not_fit_into_memory_is_refused_unless_forced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "memory_of_machine", lambda: 8 * 2**30)
    out = tmp_path / "out"
    large = f"simulate --agents 10000000 --threads 1 --out {out}".split()
    assert command_line(large) == BAD_INPUT
    assert not out.exists()
    monkeypatch.setattr(running, "memory_of_machine", lambda: 1)
    monkeypatch.setattr(running, "WORTH_SAYING", 1)
    small = [*SMALL.split(), "--rounds", "20", "--runs", "4", "--out", str(out)]
    assert command_line(small) == BAD_INPUT
    assert command_line([*small, "--force"]) == 0
    assert "of memory will be taken" in capsys.readouterr().err


def test_a_containers_limit_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(running, "LIMIT", limit)
    whole = running.memory_of_machine()
    assert whole is not None
    limit.write_text("max\n")
    assert running.memory_of_machine() == whole
    limit.write_text("4096\n")
    assert running.memory_of_machine() == 4096


@pytest.mark.parametrize("both", ["--threads 2 --workers 2", "--workers 2 --cluster tcp://x:1"])
def test_one_kind_of_worker_is_enough_and_no_folder_is_taken(both: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert command_line([*SMALL.split(), *both.split(), "--out", str(out)]) == BAD_INPUT
    assert not out.exists()
