"""The answer before joining: what it says, and what it refuses."""

from typing import Any

import pytest

from colme.errors import ConfigError
from colme.plan.forecast import PAYS, expected, forecast
from colme.plan.question import Question
from colme.report.curves import over_samples
from support.refusing import refused

SMALL = Question(agents=20, degree=5, means=(0.2, 0.8), epsilon=4)


def test_it_pays_from_where_the_curve_says_so() -> None:
    told = forecast(SMALL, "paper", samples=3000)
    assert told.pays_from is not None
    assert [point.samples for point in told.curve] == [10, 32, 100, 316, 1000, 3000]
    for point in told.curve:
        assert (point.ratio <= PAYS) == (point.samples >= told.pays_from)
    assert expected(SMALL, "paper", told.pays_from).ratio <= PAYS
    assert not expected(SMALL, "paper", int(told.pays_from / 1.25)).ratio <= PAYS
    assert told.pays


def test_the_smallest_epsilon_pays_and_a_smaller_one_does_not() -> None:
    least = forecast(SMALL, "paper", samples=3000).smallest_epsilon
    assert least is not None
    assert expected(SMALL.model_copy(update={"epsilon": least}), "paper", 3000).ratio <= PAYS
    less = SMALL.model_copy(update={"epsilon": least / 1.25})
    assert not expected(less, "paper", 3000).ratio <= PAYS


def test_relay_is_told_with_what_changes_would_cost() -> None:
    told = forecast(SMALL, "relay", samples=300, boards=12)
    assert told.pays
    assert [change.what for change in told.changes] == [
        "as planned",
        "bounds twice as wide",
        "half the agents",
        "2 neighbours instead of 5",
        "half the epsilon",
    ]
    planned, wide, fewer, *_ = told.changes
    assert planned.late.samples == 300
    assert wide.early.ratio > planned.early.ratio
    assert fewer.late.ratio > planned.late.ratio


@pytest.mark.parametrize(("agents", "degree"), [(2, 1), (3, 2), (7, 2), (9, 4), (10, 9), (6, 0)])
def test_any_graph_can_be_asked_about(agents: int, degree: int) -> None:
    """Half of the agents, or of the neighbours, must be a graph that there is."""
    question = Question(agents=agents, degree=degree, means=(0.5,))
    for algorithm in ("relay", "paper"):
        told = forecast(question, algorithm, samples=30, boards=1)
        changes = [change.what for change in told.changes]
        assert ("half the agents" in changes) == (agents > 2)
        assert len({*changes}) == len(changes)


def test_where_nobody_is_alike_nothing_pays() -> None:
    told = forecast(SMALL.model_copy(update={"spread": 3.0}), "paper", samples=300)
    assert (told.pays_from, told.smallest_epsilon, told.pays) == (None, None, False)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("agents", 1),
        ("degree", 20),
        ("means", ()),
        ("means.0", (float("nan"),)),
        ("spread", -1.0),
        ("sigma", 0.0),
        ("half_range", 0.2),
        ("epsilon", 0.0),
    ],
)
def test_invalid_questions_are_refused(field: str, value: Any) -> None:
    with refused(ConfigError, field):
        SMALL.model_copy(update={field.partition(".")[0]: value})


@pytest.mark.parametrize(
    ("field", "value"), [("algorithm", "relais"), ("samples", 1), ("boards", 0)]
)
def test_invalid_options_are_refused(field: str, value: Any) -> None:
    with refused(ConfigError, field, seen=value):
        forecast(SMALL, **{field: value})


def test_the_figure_has_a_curve_for_each_algorithm_and_marks_where_it_pays() -> None:
    told = [forecast(SMALL, name, samples=3000) for name in ("relay", "paper")]
    figure = over_samples(told)
    panel = figure.axes[0]
    marks = sum(one.pays_from is not None for one in told)
    assert len(panel.lines) == 2 * 2 + marks + 1
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["Local: everybody alone", "relay", "paper"]
