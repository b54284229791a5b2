"""Signs of progress where there is no terminal."""

import pytest

from colme.experiment import run as runner
from colme.experiment.run import progress, progress_line
from support.elsewhere import until


def test_a_line_says_how_far_it_is_and_how_long_it_takes() -> None:
    assert progress_line("figure 1", 0, 400, 20) == "figure 1: preparing, 20 s so far"
    assert progress_line("figure 1", 100, 400, 20) == ("figure 1: 25% after 20 s, about 60 s to go")


def test_lines_come_also_while_nothing_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "LINE_EVERY", 0.01)
    with progress("study", 8) as report:
        until("a first line", lambda: "study: preparing" in capsys.readouterr().err)
        report(4)
        until("a second one", lambda: "study: 50%" in capsys.readouterr().err)


def test_what_is_over_sooner_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("study", 8) as report:
        report(8)
    assert capsys.readouterr() == ("", "")
