"""What all figures share: Local and Ideal, bands, infinity, titles that fit."""

from collections.abc import Callable
from itertools import combinations
from math import inf

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from colme.report import style
from colme.report.comparison import systems_over_time
from colme.report.curves import mse_over_time
from colme.report.drawing import Drawing, draw
from colme.report.style import IDEAL, LOCAL
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate

NAMES = ["paper", "tracking", *(f"own {number}" for number in range(4))]

FIGURES: dict[str, Callable[[xr.Dataset], Figure]] = {
    "figure 1": mse_over_time,
    "plot": lambda result: draw(result, Drawing()),
    "compare": lambda result: systems_over_time({"here": result}),
}


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    scenario = Scenario.build(
        agents=20,
        graph={"degree": 4},
        epsilon=[1, inf],
        rounds=30,
        runs=4,
        recorded=6,
        eventful=False,
        algorithms=["local", "ideal", *({"algorithm": "oracle", "name": one} for one in NAMES)],
    )
    return simulate(scenario)


def told(figure: Figure) -> dict[str, Line2D]:
    return {str(line.get_label()): line for line in figure.legends[0].get_lines()}


@pytest.mark.parametrize("name", FIGURES)
def test_local_and_ideal_look_the_same_everywhere(name: str, result: xr.Dataset) -> None:
    """In colour and in line, and like nothing else."""
    lines = told(FIGURES[name](result))
    for pen in (LOCAL, IDEAL):
        own = lines.pop(pen.label)
        assert to_rgb(own.get_color()) == to_rgb(pen.colour)
        assert own.get_linestyle() == pen.handle().get_linestyle()
        assert to_rgb(pen.colour) not in {to_rgb(line.get_color()) for line in lines.values()}
    assert LOCAL.colour != IDEAL.colour
    assert LOCAL.line != IDEAL.line


@pytest.mark.parametrize("name", FIGURES)
def test_every_algorithm_is_drawn_and_told(name: str, result: xr.Dataset) -> None:
    """The sixth as the first: Figure 2 used to leave out all after the fourth."""
    figure = FIGURES[name](result)
    labels = told(figure)
    for one in NAMES:
        assert any(label.startswith(one) for label in labels)
    wanted = result.mse.sel(algorithm=NAMES[-1], epsilon=inf).values.squeeze()
    drawn = [np.asarray(line.get_ydata(), dtype=float) for line in figure.axes[0].lines]
    assert any(one.shape == wanted.shape and np.allclose(one, wanted) for one in drawn)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_have_titles_bands_capitals_and_one_infinity(name: str, result: xr.Dataset) -> None:
    figure = FIGURES[name](result)
    assert figure.get_suptitle()
    assert any("ε = ∞" in label for label in told(figure))
    first = figure.axes[0]
    assert len(first.collections) >= 2 * len(NAMES)
    for panel in figure.axes:
        for text in (panel.get_xlabel(), panel.get_ylabel(), panel.get_title()):
            assert text == text[:1].upper() + text[1:]
            assert "inf" not in text


def seen(colour: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """In CIELAB, where distances are about those that people see (sRGB, D65)."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    primaries = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(primaries @ linear / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_no_two_systems_of_a_comparison_have_the_same_colour() -> None:
    """Lines tell epsilons there. Twelve systems and two references, at least 20 apart; two blues
    that nobody could tell from each other were at 3.6, two yellows at 18.
    """
    systems = style.pens(["paper", "tracking", "relay", *(f"own {number}" for number in range(9))])
    colours = [seen(pen.colour) for pen in (LOCAL, IDEAL, *systems.values())]
    apart = [np.linalg.norm(one - other) for one, other in combinations(colours, 2)]
    assert min(apart) > 20


def test_a_title_is_no_wider_than_its_figure() -> None:
    figure = Figure(figsize=(5, 3), layout="constrained")
    style.head(figure, "a long title " * 12)
    figure.draw_without_rendering()
    assert figure._suptitle is not None  # type: ignore[attr-defined]
    assert figure._suptitle.get_window_extent().width < figure.bbox.width  # type: ignore[attr-defined]
