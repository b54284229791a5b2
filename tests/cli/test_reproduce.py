"""`colme reproduce`: the claims of Figure 1, the comparison, and what is elsewhere now."""

from pathlib import Path

import pytest

from colme.cli.app import run
from colme.sim.figures import comparison, figure1
from colme.sim.scenario import Scenario

SMALL = Scenario.build(
    agents=20,
    graph={"degree": 4},
    epsilon=4.0,
    rounds=40,
    runs=8,
    recorded=[1, 10, 40],
    eventful=False,
    algorithms=["oracle"],
)


def test_of_the_claims_only_those_that_fail_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = [figure1.Claim("one", "0.5", True), figure1.Claim("other", "7", False)]
    monkeypatch.setattr(figure1, "study", lambda *_: SMALL)
    monkeypatch.setattr(figure1, "theorem_study", lambda *_: SMALL)
    monkeypatch.setattr(figure1, "claims", lambda *_: iter(claims))
    assert run(["reproduce", "figure1", "--quick", "--out", str(tmp_path)]) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("1 of 2 claims of Sec. V hold")
    assert second == "fails  other: 7"
    assert (tmp_path / "claims.txt").read_text() == "holds  one: 0.5\nfails  other: 7\n"


def test_the_comparison_draws_a_figure_and_writes_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = comparison.OURS.changed(agents=20, graph={"degree": 4}, rounds=40, runs=2)
    monkeypatch.setattr(comparison, "settings", lambda **_: {"paper": small})
    assert run(["reproduce", "comparison", "--quick", "--out", str(tmp_path)]) == 0
    table = (tmp_path / "comparison.md").read_text()
    assert "| private-c-colme, epsilon = 4 |" in table
    assert "| relay, epsilon = 4 |" in table
    assert table.count("\n|") == 2 + 13 + 2
    assert (tmp_path / "comparison.png").stat().st_size > 1000
    assert "paper.nc" in {path.name for path in tmp_path.iterdir()}
