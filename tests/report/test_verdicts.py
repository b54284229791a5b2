"""The picture of `colme reproduce harm`."""

from colme.report.verdicts import worst_and_least
from colme.sim.figures.readings import Coverage, Gain, Harm, Measured
from colme.sim.figures.verdict import Verdict


def test_every_cell_has_its_estimate_and_its_bar_in_its_row() -> None:
    harm, coverage = Harm(bar=1.08, goal=1.02), Coverage(first=21, bar=0.9, goal=0.93)
    verdicts = [
        Verdict.of("kind", harm, Measured(0.9, 0.01, 0.92)),
        Verdict.of("kind", coverage, Measured(0.95, 0.01, 0.93)),
        Verdict.of("unkind", harm, Measured(1.3, 0.1, 1.5)),
        Verdict.of("neither", Gain(t=30, bar=1.0, goal=0.5), Measured(0.7, 0.1, 0.9)),
    ]
    assert [one.word for one in verdicts] == ["goal", "goal", "fails", "passes"]
    figure = worst_and_least(verdicts)
    assert figure is not None
    worst, least = figure.axes
    assert [label.get_text() for label in worst.get_yticklabels()] == ["kind", "unkind"]
    points = [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))  # type: ignore[index, arg-type]
        for line in worst.lines
        if line.get_marker() in ("o", "|") and len(line.get_xdata()) == 1  # type: ignore[arg-type]
    ]
    assert {(0.9, 0.0), (1.3, 1.0), (1.08, 0.0), (1.08, 1.0)} <= set(points)
    assert any(line.get_xdata()[0] == 0.95 for line in least.lines)  # type: ignore[index]


def test_where_there_is_nothing_to_draw_there_is_no_picture() -> None:
    verdict = Verdict.of("neither", Gain(t=30, bar=1.0, goal=0.5), Measured(0.7, 0.1, 0.9))
    assert worst_and_least([verdict]) is None
