"""`colme plot`: whatever was measured, as it is asked for."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from colme.cli.app import run
from colme.errors import ConfigError
from colme.report import style
from colme.report.drawing import Drawing, draw
from colme.sim.results import load, save
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate
from support.refusing import refused

RUNS, AGENTS = 3, 20


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    scenario = Scenario.build(
        agents=AGENTS,
        graph={"degree": [4, 6]},
        epsilon=[1, 4],
        rounds=40,
        runs=RUNS,
        recorded=5,
        eventful=False,
        algorithms=["oracle", {"algorithm": "bernstein", "name": "paper, plain"}, "local"],
    )
    return simulate(scenario, keep="agents,classes,runs")


def has(panel: Axes, curve: Any) -> bool:
    """Whether one of its lines is this curve."""
    wanted = np.asarray(curve, dtype=np.float64)
    lines = [np.asarray(line.get_ydata(), dtype=np.float64) for line in panel.lines]
    return any(one.shape == wanted.shape and np.allclose(one, wanted) for one in lines)


@pytest.mark.parametrize("count", [3, 12, 40])
def test_no_two_algorithms_have_the_same_line(count: int) -> None:
    drawn = style.lines([f"algorithm {number}" for number in range(count)])
    lines = [Line2D([], [], linestyle=style, lw=1) for style in drawn.values()]
    patterns = [line._dash_pattern for line in lines]  # type: ignore[attr-defined]
    assert all(one != other for one, other in combinations(patterns, 2))


def test_errors_are_drawn_on_a_log_axis_with_local_and_ideal(result: xr.Dataset) -> None:
    figure = draw(result, Drawing())
    assert [panel.get_title() for panel in figure.axes] == [
        *("4 neighbours each (r = 4)", "6 neighbours each (r = 6)")
    ]
    for panel, degree in zip(figure.axes, (4, 6), strict=True):
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        assert len(panel.lines) == 2 + 3 * 2
        data = result.sel(degree=degree)
        assert has(panel, data.mse_local)
        assert has(panel, data.mse_ideal)
        assert has(panel, data.mse.sel(algorithm="oracle", epsilon=4))


def test_a_subset_as_a_multiple_of_local_on_axes_of_choice(result: xr.Dataset) -> None:
    drawing = Drawing(
        over_local=True,
        x="linear",
        y="linear",
        algorithms=["paper, plain"],
        epsilons=[4],
        size=(7, 3),
    )
    figure = draw(result, drawing)
    assert figure.get_size_inches().tolist() == [7, 3]
    panel = figure.axes[0]
    assert (panel.get_xscale(), panel.get_yscale()) == ("linear", "linear")
    assert len(panel.lines) == 3
    cell = result.sel(algorithm="paper, plain", epsilon=4, degree=4)
    assert has(panel, cell.mse / cell.mse_alone)
    assert has(panel, cell.mse_ideal / cell.mse_local)
    assert not has(panel, result.sel(algorithm="oracle", epsilon=4, degree=4).mse)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["Local: everybody alone", "Ideal (Proposition 3)", "paper, plain"]
    assert "ε = 4" in figure.get_suptitle(), "where the legend does not tell it"


def test_who_has_no_such_quantity_is_told_to_have_none(result: xr.Dataset) -> None:
    figure = draw(result, Drawing(quantity="type_one"))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "local (has none)" in labels
    assert "oracle" in labels
    assert all(panel.collections for panel in figure.axes)  # a band: shares have errors, too


def test_harm_is_drawn_class_by_class(result: xr.Dataset) -> None:
    figure = draw(result, Drawing(quantity="class_mse", over_local=True))
    titles = [panel.get_title() for panel in figure.axes]
    assert titles == [f"r = {r}, class of mean {m}" for r in (4, 6) for m in (0.2, 0.4, 0.8)]
    cell = result.sel(algorithm="oracle", epsilon=1, degree=6, class_number=2)
    assert has(figure.axes[5], cell.class_mse / cell.class_mse_alone)
    assert len(figure.axes[5].collections) == 3 * 2


@pytest.mark.parametrize(("quantity", "each"), [("run_mse", RUNS), ("agent_mse", AGENTS)])
def test_of_runs_and_agents_everyone_has_a_line(
    result: xr.Dataset, quantity: str, each: int
) -> None:
    panel = draw(result, Drawing(quantity=quantity, epsilons=[1])).axes[0]
    assert len(panel.lines) == 3 * (each + 1) + 1
    some = "run" if quantity == "run_mse" else "agent"
    cell = result[quantity].sel(algorithm="oracle", epsilon=1, degree=4)
    assert has(panel, cell.sel({some: 2}))
    assert has(panel, cell.mean(some))


def test_single_trajectories_around_the_truth(result: xr.Dataset) -> None:
    drawing = Drawing(
        quantity="answer", algorithms=["oracle"], epsilons=[1], runs=[2], agents=[0, 7]
    )
    panel = draw(result, drawing).axes[0]
    cell = result.sel(algorithm="oracle", epsilon=1, degree=4, run=2)
    truths = {float(cell.truth.sel(agent=a, t=1)) for a in (0, 7)}
    assert len(panel.lines) == 2 + len(truths)
    for a in (0, 7):
        assert has(panel, cell.answer.sel(agent=a))
        assert has(panel, cell.truth.sel(agent=a))
    assert panel.get_yscale() == "linear"
    assert len(draw(result, Drawing(quantity="answer")).axes[0].lines) <= 6 * AGENTS + 3


@pytest.mark.parametrize(
    ("drawing", "field", "seen"),
    [
        (Drawing(quantity="mes"), "quantity", "mes"),
        (Drawing(quantity="mse_local"), "quantity", "mse_local"),
        (Drawing(quantity="type_one", over_local=True), "over_local", "type_one"),
        (Drawing(algorithms=["relay"]), "algorithm", "relay"),
        (Drawing(epsilons=[3]), "epsilon", 3),
        (Drawing(runs=[1]), "run", [1]),
        (Drawing(quantity="run_mse", runs=[9]), "run", 9),
    ],
)
def test_what_is_not_there_is_refused(
    result: xr.Dataset, drawing: Drawing, field: str, seen: object
) -> None:
    with refused(ConfigError, field, seen=seen):
        draw(result, drawing)


@pytest.fixture
def folder(result: xr.Dataset, tmp_path: Path) -> str:
    save(result, tmp_path / "result.nc")
    return str(tmp_path)


@pytest.mark.slow
def test_the_command_has_all_of_it(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--quantity", "class_mse", "--over-local"]
    options += ["--algorithm", "paper, plain", "--algorithm", "local,oracle", "--epsilon", "4"]
    assert run(["plot", folder, *options]) == 0
    paths = [Path(folder) / f"class_mse-over-local.{ending}" for ending in ("png", "svg", "pdf")]
    assert capsys.readouterr().out.splitlines() == list(map(str, paths))
    assert all(path.stat().st_size > 1000 for path in paths)
    for options, text in ((["--epsilon", "one"], "--epsilon: saw 'one'"),):
        assert run(["plot", folder, *options]) == 2
        assert text in capsys.readouterr().err


def test_simulate_keeps_what_it_is_asked_to(tmp_path: Path) -> None:
    small = "simulate --agents 12 --degree 4 --rounds 20 --runs 2 --algorithm local --out"
    assert run([*small.split(), str(tmp_path), "--keep", "classes,runs"]) == 0
    assert "class_mse" in load(tmp_path)
    assert run([*small.split(), str(tmp_path / "new"), "--keep", "classes,run"]) == 2
    assert not (tmp_path / "new").exists()
