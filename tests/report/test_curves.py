"""The figure is a function of results."""

from pathlib import Path

from colme.report.curves import mse_over_time, save
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate


def test_a_panel_for_each_degree_and_a_curve_for_each_cell(tmp_path: Path) -> None:
    scenario = Scenario.build(
        agents=20,
        graph={"degree": [4, 6]},
        epsilon=[1, float("inf")],
        algorithms=[{"algorithm": "oracle"}, {"algorithm": "bernstein"}],
        rounds=40,
    )
    figure = mse_over_time(simulate(scenario))
    assert [panel.get_title() for panel in figure.axes] == [
        *("4 neighbours each (r = 4)", "6 neighbours each (r = 6)")
    ]
    for panel in figure.axes:
        assert panel.get_yscale() == "log"
        assert len(panel.lines) == 2 * 2 + 2
        assert len(panel.collections) == 2 * 2 + 1, "a band for each, and for Local"
    for path in save(figure, tmp_path, "mse"):
        assert path.stat().st_size > 1000


def test_any_epsilon_and_any_name_can_be_drawn() -> None:
    scenario = Scenario.build(
        agents=20,
        graph={"degree": 4},
        epsilon_per_agent=[0.3] * 20,
        algorithms=[{"algorithm": "oracle", "name": "all-knowing"}],
        rounds=40,
        runs=1,
    )
    figure = mse_over_time(simulate(scenario))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["Local: everybody alone", "Ideal (Proposition 3)", "all-knowing"]


def test_where_the_truth_drifts_there_is_no_ideal_to_draw() -> None:
    scenario = Scenario.build(
        agents=20,
        graph={"degree": 4},
        drift={"kind": "jump", "at": 20, "share": 0.5},
        algorithms=["local"],
        rounds=40,
        runs=2,
    )
    figure = mse_over_time(simulate(scenario))
    low, high = figure.axes[0].get_ylim()
    assert 0 < low < high < 10
