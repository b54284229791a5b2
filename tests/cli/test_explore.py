"""`colme explore`: an address, a browser where there is one, and faults in a line."""

import sys
import webbrowser
from unittest.mock import Mock

import pytest

from colme.cli import app
from colme.explore.server import ExplorerServer


@pytest.fixture(autouse=True)
def _not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExplorerServer, "run", lambda self: self._socket.close())


def test_it_prints_its_address_and_opens_nothing_that_was_not_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(webbrowser, "open", pytest.fail)
    assert app.run(["explore", "--port", "0", "--no-open"]) == 0
    assert "http://127.0.0.1:" in capsys.readouterr().out


def test_it_opens_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Mock(return_value=True)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "open", opened)
    assert app.run(["explore", "--port", "0"]) == 0
    (address,) = opened.call_args.args
    assert address.startswith("http://127.0.0.1:")


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="always has a desktop")
def test_without_a_desktop_it_opens_nothing_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A browser in the terminal would draw over the command's lines and never return."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(webbrowser, "open", pytest.fail)
    assert app.run(["explore", "--port", "0"]) == 0
    assert "no browser" in capsys.readouterr().err
