"""Sweeps on a real Dask scheduler with real worker processes: also when one of them is killed."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from colme import plugins
from colme.cli.app import BAD_INPUT, run
from colme.errors import ConfigError
from colme.experiment import cluster
from colme.experiment.cluster import on_cluster
from colme.sim.results import load
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate
from support import clusters
from support.elsewhere import until
from support.refusing import refused

HELD = '''
import os, threading
from pathlib import Path
from colme.sim.engines import Cost


class Held:
    """Answers its own means; whoever is the first to be asked never does."""

    def __init__(self, run, *, folder):
        self.folder = Path(folder)

    def advance(self, first, data, noise, answers):
        answers[:] = data
        try:
            (self.folder / "first").mkdir()
        except FileExistsError:
            return
        written = self.folder / "first" / "pid"
        written.write_text(str(os.getpid()))
        written.replace(self.folder / "victim")
        threading.Event().wait()

    def cost(self):
        return Cost(messages=0, payload=0, memory=1)

    def accepted(self):
        return None
'''


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("cluster")
    with clusters.scheduler(folder) as where, clusters.workers(where, 2, folder):
        yield where


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(
    address: str, tmp_path: Path
) -> None:
    (tmp_path / "holding.py").write_text(HELD)
    plugins.search_in(tmp_path)
    held = {"algorithm": "holding:Held", "folder": str(tmp_path)}
    scenario = Scenario.build(
        agents=20, graph={"degree": 4}, algorithms=["local", held], rounds=50, runs=24
    )
    first, victim = tmp_path / "first", tmp_path / "victim"
    first.mkdir()
    expected = simulate(scenario, threads=1)
    first.rmdir()
    # In this order: if nobody is killed, leaving the cluster ends what waits for it.
    with ThreadPoolExecutor(1) as here, on_cluster(address) as executor:
        # Workers have to import the simulator first, which takes as long as it takes.
        simulate(scenario.changed(algorithms=["local"]), executor=executor)
        found = here.submit(simulate, scenario, executor=executor)
        until("somebody with a batch", victim.exists)
        pid = int(victim.read_text())
        os.kill(pid, signal.SIGKILL)
        until("its end", lambda: is_gone(pid))
        assert found.result().identical(expected)


def test_the_command_line_computes_there(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = "--agents 20 --degree 4 --algorithm oracle --rounds 50 --runs 8"
    for out, where in ((tmp_path / "there", ["--cluster", address]), (tmp_path / "here", [])):
        assert run(["simulate", *small.split(), "--out", str(out), *where]) == 0
    assert load(tmp_path / "there").identical(load(tmp_path / "here"))
    capsys.readouterr()
    data = tmp_path / "rows.csv"
    rows = [f"{site},{value}\n" for site in "ab" for value in range(3, 9)]
    data.write_text("site,value\n" + "".join(rows))
    asked = f"study {data} --site site --value value --bounds 0,10 --epsilon 2 --min-samples 2"
    asked += " --algorithm local --samples 5 --runs 3 --json"
    answers = []
    for where in (["--cluster", address], []):
        assert run([*asked.split(), *where]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]
    assert '"sites"' in answers[0]


def test_workers_of_another_version_are_refused_at_the_door(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "versions", lambda: (("colme", "9.9"),))
    with refused(ConfigError, "workers"), on_cluster(address):
        pass
    monkeypatch.setattr(cluster, "versions", lambda: (("no-such-package", "9.9"),))
    with refused(ConfigError, "workers") as caught, on_cluster(address):
        pass
    assert str(caught.value.seen).startswith("no-such-package is missing on ")


def test_a_scheduler_without_workers_is_told_of(tmp_path: Path) -> None:
    with (
        clusters.scheduler(tmp_path) as where,
        pytest.warns(UserWarning, match="has no workers yet"),
        on_cluster(where),
    ):
        pass


def test_where_nobody_answers_is_said_in_bounded_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 0.2)
    assert run(["simulate", "--runs", "2", "--json", "--cluster", "tcp://127.0.0.1:1"]) == BAD_INPUT
    told = capsys.readouterr().err
    assert told.startswith("colme: --cluster: saw 'tcp://127.0.0.1:1', expected a Dask scheduler")
    assert len(told.splitlines()) == 1
