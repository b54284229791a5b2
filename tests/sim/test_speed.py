"""What `colme bench` measures can be measured: on a small scale, whatever the figures are."""

import pytest

from colme.sim import speed


@pytest.mark.parametrize("baseline", ["c-colme", "b-colme", "colme", "private-colme"])
def test_every_baseline_is_measured(baseline: str) -> None:
    assert speed.baseline_rate(baseline, agents=20, degree=4, rounds=3) > 0


def test_the_kernel_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "ROUNDS", 3)
    monkeypatch.setattr(speed, "LARGE_ROUNDS", 3)
    for rule in speed.RULES:
        assert speed.microseconds_per_run_round(rule, 5) > 0
    assert speed.agent_rounds_per_second(100) > 0
    assert speed.seconds_to_compile() > 0
