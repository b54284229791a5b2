"""What travels to other processes, what is refused at the door, and how batches go together."""

import hashlib
import pickle
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import pytest

from colme import plugins
from colme.errors import ConfigError
from colme.rules.decision import ThresholdRule
from colme.rules.release import Release
from colme.sim.scenario import Scenario
from colme.sim.study import elsewhere, sent, simulate
from colme.sim.study.sweep import Sweep
from support.own_rule import Within

SMALL = {"agents": 12, "graph": {"degree": 4}, "rounds": 10, "runs": 9}


class Never(Executor):
    """Nothing may get here."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        raise AssertionError("something was sent")


class Counting(Executor):
    """Computes nothing: its futures never end, but can be cancelled."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        self.futures.append(Future())
        if len(self.futures) == 3:
            self.futures[1].set_exception(KeyboardInterrupt())
        return self.futures[-1]


@dataclass(frozen=True)
class Here(ThresholdRule):
    """A rule that is made to look as if a script had defined it."""

    def threshold(self, mine: Release, theirs: Release) -> float:
        return 1.0


def baseline(run: object, **options: object) -> None:
    """Is never called."""


def refused(words: str, *algorithms: Any) -> None:
    scenario = Scenario.build(**SMALL, algorithms=list(algorithms))
    with pytest.raises(ConfigError, match=words):
        simulate(scenario, executor=Never())


def test_a_script_s_own_rule_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Here, "__module__", "__main__")
    refused("__main__:Here.*workers can't import a script", Here())


def test_what_no_module_names_is_refused() -> None:
    @dataclass(frozen=True)
    class Inside(Here):
        pass

    refused("<locals>.Inside.*under this name", Inside())
    refused("<lambda>.*under this name", lambda run: None)
    refused("under a name of its own", partial(baseline, pull=1))


def test_options_that_would_arrive_as_something_else_are_refused() -> None:
    """JSON has no infinity: a worker would be given a text."""
    refused("plain data, and finite", {"algorithm": baseline, "pull": inf})
    refused("options that are plain data", {"algorithm": baseline, "pull": object()})


def test_threads_and_an_executor_are_one_too_many() -> None:
    with pytest.raises(ConfigError, match="none with an executor"):
        simulate(Scenario.build(**SMALL), threads=2, executor=Never())


def parcel() -> elsewhere.Parcel:
    rule = {"algorithm": "paper", "rule": Within(0.2)}
    sweep = Sweep(Scenario.build(**SMALL, algorithms=[rule]), float, frozenset())
    order = sent.orders(sweep, sweep.places)[0]
    arrived: sent.Order = pickle.loads(pickle.dumps(order))
    return arrived.parcel


@pytest.mark.parametrize("package", elsewhere.PACKAGES)
def test_a_worker_with_another_version_computes_nothing(package: str) -> None:
    other = tuple((name, "0.0" if name == package else one) for name, one in parcel().versions)
    with pytest.raises(ConfigError, match=rf"{package} .* on .*workers with {package} 0\.0"):
        replace(parcel(), versions=other).opened()


def test_a_worker_without_the_module_says_so() -> None:
    assert [name for name, _ in parcel().modules] == ["support.own_rule"]
    with pytest.raises(ConfigError, match=r"no_such.*can be imported on .*ModuleNotFoundError"):
        replace(parcel(), modules=(("no_such", ""),)).opened()


def test_a_module_that_was_edited_since_a_worker_read_it_is_not_used_there(tmp_path: Path) -> None:
    """It would decide by what it was before."""
    path = tmp_path / "edited_later.py"
    plugins.search_in(tmp_path)
    tables = [{"algorithm": "edited_later:rule"}]
    path.write_text("rule = 1\n")
    elsewhere.require_names(tables)
    sent = elsewhere.Parcel.of(b"x", tables)
    assert sent.opened() == b"x"
    edited = (("edited_later", hashlib.sha256(b"rule = 2\n").hexdigest()),)
    path.write_text("rule = 2\n")
    assert sent.opened() == b"x"
    with pytest.raises(ConfigError, match=r"another module edited_later on .*restart workers"):
        replace(sent, modules=edited).opened()


def test_a_worker_looks_where_the_sender_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "searched", ["/some/folder"])
    assert parcel().folders == ("/some/folder",)


def test_an_interruption_cancels_what_was_sent() -> None:
    executor = Counting()
    with pytest.raises(KeyboardInterrupt):
        simulate(Scenario.build(**SMALL, algorithms=["local"]), executor=executor)
    assert len(executor.futures) == 9
    assert [one.cancelled() for one in executor.futures] == [i != 1 for i in range(9)]


@pytest.mark.parametrize(
    ("rounds", "runs", "together"),
    [(10, 60, 1), (10, 4096, 2), (10, 32 * 64 * 7, 7), (10_000_000, 32 * 64 * 7, 1)],
)
def test_small_batches_go_together_and_many_orders_are_left(
    rounds: int, runs: int, together: int
) -> None:
    scenario = Scenario.build(**SMALL | {"rounds": rounds, "runs": runs}, algorithms=["local"])
    sweep = Sweep(scenario, float, frozenset())
    found = sent.orders(sweep, sweep.places)
    assert max(len(order.places) for order in found) == together
    assert [place for order in found for place in order.places] == sweep.places
    assert len(found) >= min(sent.FEWEST, len(sweep.places))
