"""What a study takes of memory is said beforehand, and nothing is drawn for that."""

import pytest

from colme.errors import ConfigError
from colme.sim import graphs
from colme.sim.scenario import Scenario
from colme.sim.simulation import Simulation


def memory(scenario: Scenario) -> int:
    return Simulation(scenario).memory_of_part()


def test_it_grows_with_all_that_takes_room() -> None:
    small = Scenario.build(agents=1_000, graph={"degree": 4}, algorithms=["paper"], runs=32)
    least = memory(small)
    assert memory(small.changed(agents=10_000)) == 10 * least
    for more in (
        {"graph": {"degree": 20}},
        {"epsilon": [1.0, 4.0]},
        {"algorithms": ["paper", "relay"]},
        {"runs": 256},
    ):
        assert memory(small.changed(**more)) > least


def test_it_is_near_what_was_measured() -> None:
    """Peak resident memory in bytes an agent, 100,000 agents, 3 rounds, less that of 1,000."""
    measured = [
        ("paper", 5, 32, 966),
        ("paper", 20, 32, 2040),
        ("paper", 5, 256, 6660),
        ("relay", 5, 32, 1718),
    ]
    for algorithm, degree, runs, taken in measured:
        study = Scenario.build(
            agents=100_000,
            graph={"degree": degree},
            algorithms=[algorithm],
            runs=runs,
            rounds=3,
        )
        assert 0.9 < memory(study) / 100_000 / taken < 1.6


def test_ten_million_agents_are_asked_for_in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "random_regular", None)
    assert memory(Scenario.build(agents=10_000_000)) > 10 * 2**30
    with pytest.raises(ConfigError, match="even"):
        Scenario.build(agents=9_999_999, graph={"degree": 5})
