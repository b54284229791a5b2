"""The committed figure: its data support every claim, and the claims can fail."""

from pathlib import Path

from colme.sim import results
from colme.sim.figures import PAPER, figure1
from colme.sim.scenario import Scenario

DATA = Path(__file__).parents[2] / "docs" / "figure1"


def test_the_committed_data_are_the_papers_study() -> None:
    dataset = results.load(DATA / "figure1.nc")
    assert Scenario.of_result(dataset) == PAPER
    assert dict(dataset.sizes) | {"t": 0} == {"algorithm": 3, "epsilon": 4, "degree": 2, "t": 0}
    assert figure1.study(PAPER.runs) == PAPER


def test_every_claim_of_section_5_holds_on_the_committed_data() -> None:
    figure, theorem = (results.load(DATA / f"{name}.nc") for name in ("figure1", "theorem1"))
    claims = list(figure1.claims(figure, theorem))
    assert len(claims) == 56
    assert [claim.text for claim in claims if not claim.holds] == []


def test_the_claims_can_fail() -> None:
    """With oracle and optimistic exchanged, or Theorem 1 twice as large, they do."""
    figure, theorem = (results.load(DATA / f"{name}.nc") for name in ("figure1", "theorem1"))
    exchanged = figure.assign_coords(algorithm=["optimistic", "bernstein", "oracle"])
    assert sum(not claim.holds for claim in figure1.claims(exchanged, theorem)) > 10
    wrong = theorem.assign(mse_theorem1=2 * theorem.mse_theorem1)
    assert sum(not claim.holds for claim in figure1.claims(figure, wrong)) == 8
