"""Figure 3 is a function of results: a panel for each cell, a line for each algorithm."""

from math import inf
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from colme.report.curves import save
from colme.report.gain import PAGES, page

T = np.array([1, 10, 100, 1_000])
ALGORITHMS = ["paper", "tracking", "relay", "of one's own"]


def results(more: int = 0) -> xr.Dataset:
    """As a study has them, of which an agent that is asked was lucky: its own error is a half."""
    cell = ("algorithm", "epsilon", "degree", "t")
    algorithms = [*ALGORITHMS, *(f"another {number}" for number in range(more))]
    shape = (len(algorithms), 3, 2, len(T))
    local = np.broadcast_to(0.25 / T, (2, len(T)))
    multiples = np.array([9.0, 1.0, 0.1, 0.5, *[0.7] * more])[:, None, None, None]
    mse = np.broadcast_to(0.25 / T, shape) * multiples
    payload = np.full(shape, 480.0)
    payload[2, ..., 0] = 0.0
    return xr.Dataset(
        {
            "mse": (cell, mse),
            "mse_se": (cell, mse / 10),
            "mse_alone": (cell, np.broadcast_to(local / 2, shape)),
            "mse_local": (("degree", "t"), local),
            "mse_local_se": (("degree", "t"), local / 20),
            "mse_ideal": (("degree", "t"), local / 5),
            "mse_class_ideal": (("degree", "t"), local / 66),
            "payload": (cell, payload),
        },
        coords={
            "algorithm": algorithms,
            "epsilon": [0.5, 1, inf],
            "degree": [20.0, 5.0],
            "t": T,
        },
    )


def heights(line: Line2D) -> NDArray[np.float64]:
    return np.asarray(line.get_ydata(), dtype=np.float64)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_panel_for_each_degree_and_epsilon_on_log_axes(name: str, tmp_path: Path) -> None:
    figure = page(results(), name)
    assert len(figure.axes) == 2 * 3
    references = 0 if name == "traffic" else 3
    for panel in figure.axes:
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        assert len(panel.lines) == references + len(ALGORITHMS)
    for path in save(figure, tmp_path, name):
        assert path.stat().st_size > 1000


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("more", [0, 9])
def test_no_two_curves_share_a_line_or_among_a_few_a_colour(name: str, more: int) -> None:
    """Who can't tell colours apart tells lines apart, of as many algorithms as there are."""
    lines = page(results(more), name).legends[0].get_lines()
    assert [line.get_label() for line in lines][:3] == ["relay", "tracking", "paper"]
    references = 0 if name == "traffic" else 3
    assert len(lines) == len(ALGORITHMS) + more + references
    assert len({str(line.get_color()) for line in lines}) == len(lines)
    assert len({str(line._dash_pattern) for line in lines}) == len(lines)  # type: ignore[attr-defined]


def test_titles_say_what_is_shown_and_how_private() -> None:
    figure = page(results(), "gain")
    assert figure.get_suptitle().startswith("Average squared error as a multiple of staying alone")
    assert [panel.get_title().split(",")[0] for panel in figure.axes[:3]] == [
        *("ε = 0.5", "ε = 1", "ε = ∞")
    ]


def test_a_gain_is_over_those_who_answered() -> None:
    """Local of all agents would make an agent of luck a gain of relay."""
    panel = page(results(), "gain").axes[0]
    relay = panel.lines[-1]  # drawn last, on top
    np.testing.assert_allclose(heights(relay), 0.1 / 0.5)


def test_traffic_is_of_both_ends_of_an_edge_and_silence_has_no_place_on_a_log_axis() -> None:
    relay = page(results(), "traffic").axes[0].lines[-1]
    np.testing.assert_allclose(heights(relay), np.array([np.nan, 48, 48, 48]))
