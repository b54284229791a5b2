"""The README's scenario is one that can be run."""

import re
from pathlib import Path

from colme.sim.scenario import Scenario

README = Path(__file__).parent.parent / "README.md"


def test_the_scenario_in_the_readme_is_valid(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", README.read_text(), re.DOTALL)
    path = tmp_path / "scenario.toml"
    path.write_text(block)
    scenario = Scenario.load(path)
    assert [algorithm.label for algorithm in scenario.algorithms] == [
        "relay",
        "patient",
        "as in theorem 1",
    ]
