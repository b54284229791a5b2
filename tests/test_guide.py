"""The scenario that is shown is one that can be run."""

import re
from pathlib import Path

from colme.sim.scenario import Scenario

SIMULATOR = Path(__file__).parent.parent / "docs" / "simulator.md"


def test_the_scenario_of_the_guide_is_valid(tmp_path: Path) -> None:
    block, *_ = re.findall(r"```toml\n(.*?)```", SIMULATOR.read_text(), re.DOTALL)
    path = tmp_path / "scenario.toml"
    path.write_text(block)
    scenario = Scenario.load(path)
    assert [algorithm.label for algorithm in scenario.algorithms] == [
        "relay",
        "patient",
        "as in theorem 1",
    ]
