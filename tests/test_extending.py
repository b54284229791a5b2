"""What an extension costs: a measured quantity and a feed take a file of one's own each.

Each example is what a researcher would write: nothing of the package is edited.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

import colme
from colme import Scenario, simulate
from colme.sim.measures import Measure
from colme.studies.feeds import SiteFeed

FloatArray = NDArray[np.float64]


def worst(answers: FloatArray, truth: FloatArray, weight: FloatArray) -> FloatArray:
    """A measured quantity: the largest error of any evaluated agent, in each run."""
    return np.asarray((np.abs(answers - truth) * (weight > 0)).max(axis=0))


class EveryOther(SiteFeed):
    """A feed: the rows of each site in turn, from its last one backwards."""

    def means(self, first: int, last: int) -> FloatArray:
        self.truth = self.world.truth_at(0)
        self.blur = np.zeros(self.truth.shape)
        midpoint = self.question.sites.midpoint
        turned = [np.resize(values[::-1], last) - midpoint for values in self.question.sites.values]
        counts = np.arange(1, last + 1)
        running = np.stack([np.cumsum(one) / counts for one in turned], axis=1)
        return np.asarray(np.repeat(running[first - 1 :, :, None], self.world.runs, axis=2))


def test_a_measured_quantity() -> None:
    scenario = Scenario.build(
        agents=12, graph={"degree": 4}, rounds=30, runs=8, algorithms=["local", "oracle"]
    )
    measure = Measure("worst", "largest error of any agent", worst)
    result = simulate(scenario, measures=[measure], keep="agents,runs")
    largest = np.abs(result.answer - result.truth).max("agent").mean("run")
    np.testing.assert_allclose(result.worst, largest, rtol=1e-6)
    assert (result.worst_se > 0).all()
    assert result.worst.attrs["description"] == measure.description


def test_a_feed() -> None:
    rows = {f"site {i}": np.arange(30) % (5 + i) for i in range(6)}
    options = {"bounds": (0, 12), "epsilon": 4, "samples": 30, "runs": 2}
    found = colme.study(rows, mode=EveryOther, **options)  # type: ignore[arg-type]
    for site, values in zip(found.sites, rows.values(), strict=True):
        assert site.alone == pytest.approx(0, abs=1e-9), "all rows once: the mean itself"
        assert site.truth == pytest.approx(values.mean())
