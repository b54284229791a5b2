"""A 95% band is Student's interval, on every kind of axis."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure
from scipy import stats

from colme.report import style
from colme.report.style import LOCAL


def band(scale: str, value: float, margin: float) -> tuple[float, float]:
    """Return the lowest and the highest point of a band around a flat curve."""
    panel = Figure().subplots()
    panel.set_yscale(scale)
    style.draw(panel, [1, 2], [value, value], LOCAL, [margin, margin])
    heights = np.asarray(panel.collections[0].get_paths()[0].vertices)[:, 1]
    return float(np.min(heights)), float(np.max(heights))


def test_on_a_linear_axis_nothing_is_cut_off() -> None:
    """The lower end used to stop at a third of the value."""
    assert band("linear", 1.0, 0.9) == pytest.approx((0.1, 1.9))
    assert band("linear", 1.0, 1.5) == pytest.approx((-0.5, 2.5))


def test_on_a_log_axis_it_is_a_factor_to_both_sides() -> None:
    low, high = band("log", 1.0, 0.01)
    assert (low, high) == pytest.approx((0.99, 1.01), abs=1e-4)
    low, high = band("log", 1.0, 1.5)
    assert 0 < low < 1 / 3
    assert low * high == pytest.approx(1)


@pytest.mark.parametrize("batches", [2, 8, 40])
def test_a_band_is_as_wide_as_so_few_batches_need(batches: int) -> None:
    data = xr.Dataset({"mse_se": ("t", [0.1])}, attrs={"batches": batches, "runs": 40})
    margin = style.margin_of(data, "mse")
    assert margin is not None
    assert float(margin[0]) == pytest.approx(0.1 * stats.t.ppf(0.975, batches - 1))
    assert style.margin_of(data, "type_one") is None
