"""What a scenario is told apart by: everything that its results depend on."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from colme.sim.scenario import Scenario
from colme.sim.simulation import Simulation

SCENARIO = """
agents = 4
rounds = 5
runs = 1

[graph]
family = "edges"
file = "edges.txt"

[data]
distribution = "empirical"
file = "values.txt"

[[algorithms]]
algorithm = "paper"
rule = "identity_rule:Near"

[[algorithms]]
algorithm = "identity_baseline:Own"
"""

FILES = {
    "scenario.toml": SCENARIO,
    "edges.txt": "0 1\n1 2\n2 3\n",
    "values.txt": "1 2 4\n",
    "identity_rule.py": """
from dataclasses import dataclass
from identity_base import Base


@dataclass(frozen=True)
class Near(Base):
    width: float = 1.0
""",
    "identity_base.py": """
from colme import ThresholdRule


class Base(ThresholdRule):
    def threshold(self, mine, theirs):
        return self.width
""",
    "identity_baseline.py": """
class Own:
    def __init__(self, run):
        self.run = run
""",
}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before
    _forget()


def _forget() -> None:
    """Forget the custom modules, as a new process would."""
    for name in ("identity_rule", "identity_base", "identity_baseline"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()


def identity(folder: Path, **fields: Any) -> tuple[str, str]:
    """Identity and name of the checkpoint, as a new process would compute them."""
    _forget()
    scenario = Scenario.load(folder / "scenario.toml", **fields)
    return json.dumps(scenario.identity_fields()), json.dumps(Simulation(scenario).identity())


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("edges.txt", "2 3", "0 3"),
        ("values.txt", "4", "5"),
        ("identity_rule.py", "1.0", "1.5"),
        ("identity_rule.py", "@dataclass", "# another line\n@dataclass"),
        ("identity_base.py", "self.width", "2 * self.width"),
        ("identity_baseline.py", "self.run = run", "self.run, self.bias = run, 1"),
    ],
)
def test_an_edited_file_is_another_scenario(
    folder: Path, name: str, before: str, after: str
) -> None:
    first = identity(folder)
    assert identity(folder) == first
    (folder / name).write_text(FILES[name].replace(before, after))
    second = identity(folder)
    assert all(now != then for now, then in zip(second, first, strict=True))


def test_the_same_contents_elsewhere_are_the_same_scenario(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The name of a data file does not change a result."""
    first = identity(folder)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for name in FILES:
        (folder / name).rename(elsewhere / name)
    sys.path.remove(str(folder))
    assert identity(elsewhere) == first


def test_files_are_read_once_when_the_scenario_is_made(folder: Path) -> None:
    """An edit while runs are computed would otherwise mix two data sets in one result."""
    scenario = Scenario.load(folder / "scenario.toml")
    before = scenario.identity_fields()
    (folder / "edges.txt").write_text("0 1\n")
    (folder / "values.txt").unlink()
    assert scenario.identity_fields() == before
    assert scenario.draw_graph(0, 0).degrees.tolist() == [1, 2, 2, 1]
    assert scenario.shapes[0].support == pytest.approx((-4 / 3, 5 / 3))


@pytest.mark.parametrize(
    "typed", [FILES["identity_baseline.py"], "def Own(run):\n    return run\n"]
)
def test_what_was_typed_into_a_session_is_told_apart_by_its_definition(
    typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook has no file: a cell that is run again makes another class."""
    session = ModuleType("typed_here")
    monkeypatch.setitem(sys.modules, "typed_here", session)

    def fields() -> dict[str, Any]:
        return Scenario(algorithms=["typed_here:Own"]).identity_fields()

    exec(typed, session.__dict__)
    first = fields()
    assert fields() == first
    kept = session.__dict__["Own"]  # so that the next one is elsewhere in memory
    exec(typed, session.__dict__)
    assert session.__dict__["Own"] is not kept
    assert fields() != first
