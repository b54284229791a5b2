"""What travels to other processes, and what is refused before anything is sent or sought."""

import pickle
import subprocess
import sys
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from colme import plugins
from colme.cli.app import BAD_INPUT
from colme.cli.app import run as command_line
from colme.errors import ConfigError
from colme.experiment import cluster, workers
from colme.experiment.run import run
from colme.rules.decision import ThresholdRule
from colme.rules.release import Release
from colme.sim.results import load
from colme.sim.scenario import Scenario
from colme.sim.simulation import Simulation, simulate
from support.own_rule import Within

SMALL = {"agents": 12, "graph": {"degree": 4}, "rounds": 10, "runs": 9}


class Never(Executor):
    """Nothing may get here."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        raise AssertionError("something was sent")


@dataclass(frozen=True)
class Here(ThresholdRule):
    """A rule that is made to look as if a script had defined it."""

    def threshold(self, mine: Release, theirs: Release) -> float:
        return 1.0


def baseline(run: object, **options: object) -> None:
    """Is never called."""


def refused(*algorithms: Any) -> None:
    simulation = Simulation(Scenario.build(**SMALL, algorithms=list(algorithms)))
    with pytest.raises(ConfigError) as error:
        run(simulation, executor=Never())
    assert error.value.field == "algorithms"


def test_a_script_s_own_rule_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Here, "__module__", "__main__")
    refused(Here())


def test_what_no_module_names_is_refused() -> None:
    @dataclass(frozen=True)
    class Inside(Here):
        pass

    refused(Inside())
    refused(lambda run: None)
    refused(partial(baseline, pull=lambda: 1))


def sent() -> workers.Packed:
    rule = {"algorithm": "paper", "rule": Within(0.2)}
    packed = workers.packed(Simulation(Scenario.build(**SMALL, algorithms=[rule])))
    arrived: workers.Packed = pickle.loads(pickle.dumps(packed))
    return arrived


@pytest.mark.parametrize("package", workers.PACKAGES)
def test_a_worker_with_another_version_computes_nothing(package: str) -> None:
    other = tuple((name, "0.0" if name == package else one) for name, one in sent().versions)
    with pytest.raises(ConfigError) as error:
        workers._unpacked(replace(sent(), versions=other))
    assert error.value.field == workers.FIELD


def test_a_worker_without_the_module_says_so() -> None:
    assert [name for name, _ in sent().modules] == ["support.own_rule"]
    with pytest.raises(ConfigError) as error:
        workers._unpacked(replace(sent(), modules=(("no_such", ""),)))
    assert error.value.field == workers.FIELD


def test_a_module_that_differs_from_the_sender_s_is_not_used() -> None:
    """It would decide by something else."""
    with pytest.raises(ConfigError) as error:
        workers._unpacked(replace(sent(), modules=(("support.own_rule", "another digest"),)))
    assert error.value.field == workers.FIELD


def test_a_worker_looks_where_the_sender_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "searched", ["/some/folder"])
    assert sent().folders == ("/some/folder",)


@pytest.mark.slow
def test_a_process_that_ends_is_told_and_parts_stay(tmp_path: Path) -> None:
    (tmp_path / "ending.py").write_text("import os\n\ndef ending(run):\n    os._exit(1)\n")
    plugins.search_in(tmp_path)
    simulation = Simulation(Scenario.build(**SMALL, algorithms=["ending:ending"]))
    with pytest.raises(ConfigError) as error, workers.processes(1) as executor:
        run(simulation, executor=executor)
    assert error.value.field == "--workers"


@pytest.mark.slow
def test_processes_of_a_command_give_the_same_result(tmp_path: Path) -> None:
    small = [
        "simulate",
        "--agents",
        "20",
        "--degree",
        "4",
        "--algorithm",
        "oracle",
        "--rounds",
        "50",
        "--runs",
        "8",
    ]
    there = [sys.executable, "-m", "colme", *small, "--workers", "2", "--out", str(tmp_path)]
    subprocess.run(there, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = load(tmp_path)
    assert found.identical(simulate(Scenario.model_validate_json(found.attrs["scenario"])))


@pytest.mark.parametrize("where", ["8786", "local:2", "http://x:1", "tcp://x", "tcp://:1/"])
def test_an_invalid_address_is_refused_before_a_folder_is_taken(
    where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    for command in ("simulate", "reproduce figure1", "reproduce comparison"):
        assert command_line([*command.split(), "--out", str(out), "--cluster", where]) == BAD_INPUT
        assert "--cluster" in capsys.readouterr().err
        assert not out.exists()


def test_a_cluster_needs_its_extra_and_tls_its_certificates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> object:
        if name == "distributed":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return import_module(name)

    with pytest.raises(ConfigError), cluster.on_cluster("tls://127.0.0.1:1"):
        pass
    monkeypatch.setattr(cluster, "import_module", missing)
    with pytest.raises(ConfigError) as error, cluster.on_cluster("tcp://127.0.0.1:1"):
        pass
    assert "[cluster]" in str(error.value)
