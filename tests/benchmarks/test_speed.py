"""`python -m benchmarks` measures, on a small scale here, and prints the JSON that others read."""

import json

import pytest

from benchmarks import speed
from benchmarks.__main__ import run


@pytest.mark.parametrize("baseline", ["c-colme", "b-colme", "colme", "private-colme"])
def test_every_baseline_is_measured(baseline: str) -> None:
    assert speed.baseline_rate(baseline, agents=20, degree=4, rounds=3) > 0


def test_the_kernel_is_measured_and_told_as_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the keys that `colme bench --json` had."""
    monkeypatch.setattr(speed, "ROUNDS", 3)
    monkeypatch.setattr(speed, "LARGE_ROUNDS", 3)
    monkeypatch.setattr(speed, "LARGE_GRAPHS", (100,))
    monkeypatch.setattr(speed, "baseline_rate", lambda *_, **__: 1e6)
    with pytest.raises(SystemExit) as ended:
        run(["speed", "--json"])
    assert ended.value.code == 0
    answer = json.loads(capsys.readouterr().out)
    rules = {"oracle", "bernstein", "optimistic"}
    costs = answer.pop("us_per_run_round")
    assert {degree: set(row) for degree, row in costs.items()} == {"20": rules, "5": rules}
    assert all(cost > 0 for row in costs.values() for cost in row.values())
    assert answer.pop("agent_rounds_per_second")["100"] > 0
    assert answer.pop("seconds_to_first_round") > 0
    assert answer == {
        "baseline_agent_rounds_per_second": dict.fromkeys(
            ["c-colme", "b-colme", "colme", "private-colme"], 1e6
        ),
        "baseline_ns_per_agent_round": {
            "b-colme by degree": dict.fromkeys(["5", "10", "20", "40"], 1e3),
            "b-colme by depth": dict.fromkeys(["1", "3", "7"], 1e3),
            "colme by agents": dict.fromkeys(["100", "200", "400", "800"], 1e3),
            "private-colme by agents": dict.fromkeys(["100", "200", "400", "800"], 1e3),
        },
    }


def test_a_name_that_is_no_measurement_is_refused() -> None:
    with pytest.raises(SystemExit, match="speed"):
        run(["pace"])
