"""What is made of squared errors: ratios with error bars, gains, who gained and who lost."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from colme.experiment.run import Arrays
from colme.studies.question import prepare, recorded
from colme.studies.result import StudyResult
from colme.studies.study import StudyExperiment

SITES = 3


DATA = {name: np.arange(20) / 20 for name in "abc"}


def part(
    together: Any, alone: Any, *, blur: float = 0.0, runs: int = 1
) -> Mapping[str, NDArray[np.float64]]:
    """A batch with these squared errors of every site, at both counts."""
    shape = 1, 1, SITES, runs
    both = (np.broadcast_to(np.asarray(one, float), (SITES, runs)) for one in (together, alone))
    error, own = both
    return {
        "error": np.broadcast_to(error, (2, *shape)).copy(),
        "alone": np.broadcast_to(own, (2, *shape[2:])).copy(),
        "truth": np.full((SITES, runs), 0.5),
        "blur": np.full((SITES, runs), blur),
        "size": np.full(shape, 2.0),
        "margin": np.full(shape, np.nan),
        "covered": np.full(shape, np.nan),
    }


def found(parts: list[Arrays]) -> StudyResult:
    runs = sum(one["alone"].shape[-1] for one in parts)
    asked = prepare(DATA, bounds=(0, 1), epsilon=1, runs=runs, samples=4)
    assert recorded(asked).tolist() == [3, 4]
    return StudyExperiment(asked).combine(parts)


def test_the_curve_is_the_ratio_of_means_and_its_error_is_over_batches() -> None:
    """Means 2 and 4; what is left after the ratio of 1/2 is +-1/2: its error is .5 / sqrt(2) / 4,
    times sqrt(2) for the one batch that the ratio has cost."""
    (curve,) = found([part(1.5, 4.0), part(2.5, 4.0)]).curves
    assert curve.mse_over_local == (0.5, 0.5)
    assert curve.standard_error[0] == pytest.approx(np.sqrt(2 * 2 * 0.25) / 8)


def test_runs_of_one_batch_are_not_taken_for_independent() -> None:
    lonely = [part([[1.0], [2.0], [3.0]], 4.0) for _ in range(4)]
    together = part([[1.0] * 4, [2.0] * 4, [3.0] * 4], 4.0, runs=4)
    assert found(lonely).curves[0].standard_error == (0.0, 0.0)
    assert np.isnan(found([together]).curves[0].standard_error[0])


def test_gain_is_the_share_of_squared_error_that_a_site_is_spared() -> None:
    sites = found([part([[1.0], [4.0], [8.0]], 4.0), part([[1.0], [4.0], [8.0]], 4.0)]).sites
    assert [site.gain for site in sites] == [0.75, 0.0, -1.0]
    assert (sites[0].alone, sites[0].together) == (2.0, 1.0)
    assert [site.verdict for site in sites] == ["gained", "even", "lost"]
    assert (found([part(1.0, 4.0)] * 2).curves[0].gained) == (3, 3)


def test_what_chance_may_have_done_is_no_gain_and_no_loss() -> None:
    """Of four differences of mean 1 and standard error .42, t is 2.4: of 3 degrees of freedom, 3.2
    would be clear. Of eight such it is 3.6, and 2.4 would be."""
    parts = [part(4.0 + change, 4.0) for change in (0.1, 1.9, 0.5, 1.5)]
    assert {site.verdict for site in found(parts).sites} == {"even"}
    assert {site.verdict for site in found(parts * 2).sites} == {"lost"}


def test_a_gain_seen_in_one_turn_of_many_is_not_told() -> None:
    once = part([[2.0], [2.0], [2.0]], 4.0)
    never = part([[2.0], [np.nan], [2.0]], 4.0)
    seldom = found([once, never, never, never, never]).sites
    assert (seldom[0].gain, seldom[0].runs) == (0.5, 5)
    assert np.isnan(seldom[1].gain)
    assert seldom[1].runs == 1


def test_the_error_of_the_truth_itself_is_taken_off_both() -> None:
    (curve,) = found([part(3.0, 5.0, blur=1.0)] * 2).curves
    assert curve.mse_over_local == (0.5, 0.5)


@pytest.mark.parametrize("together", [0.5, 1.0])
def test_what_is_left_of_an_error_has_to_be_positive_to_be_compared(together: float) -> None:
    """Less than the error of the truth itself is no "gain of 100%", and no "1.00 ± 0.00"."""
    findings = found([part(together, 5.0, blur=1.0)] * 2)
    assert findings.sites[0].alone == 2.0
    assert np.isnan(findings.sites[0].gain)
    no_baseline = found([part(2.0, together, blur=1.0)] * 2)
    assert np.isnan(no_baseline.sites[0].gain)
    assert np.isnan(no_baseline.curves[0].mse_over_local).all()
    assert np.isnan(no_baseline.curves[0].standard_error).all()


def test_a_site_that_has_nothing_to_gain_has_gained_nothing() -> None:
    findings = found([part(0.0, 0.0)] * 2)
    assert {site.gain for site in findings.sites} == {0.0}
    assert np.isnan(findings.curves[0].mse_over_local).all(), "nothing to compare with"


def test_sites_that_were_not_asked_are_in_neither_mean() -> None:
    turns = [part([[2.0], [np.nan], [3.0]], [[4.0], [100.0], [6.0]]) for _ in range(2)]
    findings = found(turns)
    assert findings.curves[0].mse_over_local == (0.5, 0.5)
    assert np.isnan(findings.sites[1].gain)
    assert findings.sites[1].verdict == "even"
