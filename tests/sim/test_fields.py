"""Every field of a scenario is told in words."""

import pytest

from colme.cli.app import run
from colme.sim.scenario import Scenario
from colme.sim.scenario.fields import described


def test_every_field_and_every_option_has_words() -> None:
    lines = [(name.strip(), words) for name, _, words in described()]
    assert [name for name, words in lines if not words] == []
    assert set(Scenario.model_fields) <= {name for name, _ in lines}
    for one in ("graph.rewired", "liars.kind = off", "liars.deviations", "algorithms.depth"):
        assert one in dict(lines)


def test_they_can_be_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["simulate", "--help-scenario"]) == 0
    told = capsys.readouterr().out
    assert "graph.family = random-regular" in told
    assert "epsilon_per_agent" in told
