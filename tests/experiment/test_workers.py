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
from support.refusing import refused

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


def refused_before_it_is_sent(*algorithms: Any) -> None:
    simulation = Simulation(Scenario.build(**SMALL, algorithms=list(algorithms)))
    with refused(ConfigError, "algorithms"):
        run(simulation, executor=Never())


def test_a_script_s_own_rule_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Here, "__module__", "__main__")
    refused_before_it_is_sent(Here())


def test_what_no_module_names_is_refused() -> None:
    @dataclass(frozen=True)
    class Inside(Here):
        pass

    refused_before_it_is_sent(Inside())
    refused_before_it_is_sent(lambda run: None)
    refused_before_it_is_sent(partial(baseline, pull=lambda: 1))


def sent() -> workers.Packed:
    rule = {"algorithm": "paper", "rule": Within(0.2)}
    packed = workers.packed(Simulation(Scenario.build(**SMALL, algorithms=[rule])))
    arrived: workers.Packed = pickle.loads(pickle.dumps(packed))
    return arrived


def with_another(package: str) -> dict[str, Any]:
    return {
        "versions": tuple(
            (name, "0.0") if name == package else (name, one) for name, one in sent().versions
        )
    }


@pytest.mark.parametrize(
    "different",
    [
        *map(with_another, workers.PACKAGES),
        {"modules": (("no_such", ""),)},
        {"modules": (("support.own_rule", "another digest"),)},
    ],
    ids=[*workers.PACKAGES, "no module", "another module"],
)
def test_a_worker_that_is_not_as_the_sender_is_computes_nothing(different: dict[str, Any]) -> None:
    """Versions, and a module that it lacks or that would decide by something else."""
    assert [name for name, _ in sent().modules] == ["support.own_rule"]
    with refused(ConfigError, workers.FIELD):
        workers._unpacked(replace(sent(), **different))


def test_a_worker_looks_where_the_sender_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "searched", ["/some/folder"])
    assert sent().folders == ("/some/folder",)


@pytest.mark.slow
def test_a_process_that_ends_is_told_and_parts_stay(tmp_path: Path) -> None:
    (tmp_path / "ending.py").write_text("import os\n\ndef ending(run):\n    os._exit(1)\n")
    plugins.search_in(tmp_path)
    simulation = Simulation(Scenario.build(**SMALL, algorithms=["ending:ending"]))
    with refused(ConfigError, "--workers"), workers.processes(1) as executor:
        run(simulation, executor=executor)


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
    with refused(ConfigError, words="[cluster]"), cluster.on_cluster("tcp://127.0.0.1:1"):
        pass
