"""Figure 3: the committed data, the pages that are drawn of such data, and the command."""

from math import inf
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from colme.cli.app import run_app
from colme.sim.figures.comparison import over_all_rounds
from colme.sim.results import load
from colme.sim.scenario import Scenario
from research import figure3
from research.__main__ import app
from research.readings import bytes_per_edge

DATA = Path(__file__).parents[2] / "docs" / "figure3" / "figure3.nc"


@pytest.fixture(scope="module")
def data() -> xr.Dataset:
    return load(DATA)


def test_the_committed_data_are_this_study(data: xr.Dataset) -> None:
    assert Scenario.of_result(data) == figure3.study()
    assert data.t.size <= 80


def test_nobody_is_worse_off_than_alone_at_any_recorded_round(data: xr.Dataset) -> None:
    """On average over the agents, at every epsilon and degree: to 1%, where all answer alone."""
    relay = data.sel(algorithm="relay")
    assert float((relay.mse / relay.mse_alone).max()) < 1.01


def test_it_ends_ten_times_below_what_proposition_3_allows_within_a_class(data: xr.Dataset) -> None:
    """At degree 5, at every epsilon, privately too; and near the Ideal of the whole class."""
    end = data.isel(t=-1).sel(algorithm="relay")
    assert float((end.mse / end.mse_ideal).sel(degree=5).max()) < 0.1
    assert float((end.mse / end.mse_class_ideal).max()) < 1.2


def test_a_few_hundred_samples_do(data: xr.Dataset) -> None:
    relay = data.sel(algorithm="relay", epsilon=1)
    for t, bar in ((30, 0.95), (100, 0.6), (300, 0.1)):
        assert float((relay.mse / relay.mse_alone).sel(t=t).max()) < bar


def test_it_costs_few_bytes(data: xr.Dataset) -> None:
    """At epsilon = 1, on average over all rounds, with signatures and framing."""
    sent = over_all_rounds(bytes_per_edge(data)).sel(epsilon=1)
    assert float(sent.sel(algorithm="relay").max()) < 110


@pytest.mark.slow
def test_figure3_writes_three_pages_and_their_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Scenario.build(
        agents=20,
        graph={"degree": 4},
        epsilon=[1.0, 4.0],
        rounds=40,
        runs=8,
        recorded=6,
        eventful=False,
        algorithms=["paper", {"algorithm": "relay"}],
    )
    monkeypatch.setattr(figure3, "study", lambda *_, **__: small)
    assert run_app(app, ["figure3", "--quick", "--out", str(tmp_path)], "research") == 0
    assert "MSE / Local, 8 runs" in capsys.readouterr().out
    pictures = {f"figure3{page}.png" for page in ("", "-error", "-traffic")}
    assert pictures <= {path.name for path in tmp_path.iterdir()}
    assert load(tmp_path / "figure3.nc").algorithm.values.tolist() == ["paper", "relay"]


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


@pytest.mark.parametrize("name", figure3.PAGES)
def test_a_panel_for_each_degree_and_epsilon_on_log_axes(name: str) -> None:
    figure = figure3.page(results(), name)
    assert len(figure.axes) == 2 * 3
    references = 0 if name == "traffic" else 3
    for panel in figure.axes:
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        assert len(panel.lines) == references + len(ALGORITHMS)


@pytest.mark.parametrize("name", figure3.PAGES)
@pytest.mark.parametrize("more", [0, 9])
def test_no_two_curves_share_a_line_or_among_a_few_a_colour(name: str, more: int) -> None:
    """Who can't tell colours apart tells lines apart, of as many algorithms as there are."""
    lines = figure3.page(results(more), name).legends[0].get_lines()
    assert [line.get_label() for line in lines][:3] == ["relay", "tracking", "paper"]
    references = 0 if name == "traffic" else 3
    assert len(lines) == len(ALGORITHMS) + more + references
    assert len({str(line.get_color()) for line in lines}) == len(lines)
    assert len({str(line._dash_pattern) for line in lines}) == len(lines)  # type: ignore[attr-defined]


def test_titles_say_what_is_shown_and_how_private() -> None:
    figure = figure3.page(results(), "gain")
    assert figure.get_suptitle().startswith("Average squared error as a multiple of staying alone")
    assert [panel.get_title().split(",")[0] for panel in figure.axes[:3]] == [
        *("ε = 0.5", "ε = 1", "ε = ∞")
    ]


def test_a_gain_is_over_those_who_answered() -> None:
    """Local of all agents would make an agent of luck a gain of relay."""
    panel = figure3.page(results(), "gain").axes[0]
    relay = panel.lines[-1]  # drawn last, on top
    np.testing.assert_allclose(heights(relay), 0.1 / 0.5)


def test_traffic_is_of_both_ends_of_an_edge_and_silence_has_no_place_on_a_log_axis() -> None:
    relay = figure3.page(results(), "traffic").axes[0].lines[-1]
    np.testing.assert_allclose(heights(relay), np.array([np.nan, 48, 48, 48]))
