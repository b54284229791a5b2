"""`colme explore`: an address, a browser where there is one, and faults in a line."""

import socket
import threading
import webbrowser

import pytest

from colme.cli import app
from colme.cli import explore as command
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
    opened = threading.Event()
    addresses = []

    def open_page(address: str) -> bool:
        addresses.append(address)
        opened.set()
        return True

    monkeypatch.setattr(webbrowser, "open", open_page)
    assert app.run(["explore", "--port", "0"]) == 0
    assert opened.wait()
    assert addresses[0].startswith("http://127.0.0.1:")


def test_where_there_is_no_browser_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    command._open("http://127.0.0.1:1/")
    assert "no browser" in capsys.readouterr().err


def test_a_port_that_is_taken_is_said_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert app.run(["explore", "--port", str(port), "--no-open"]) == app.BAD_INPUT
    said = capsys.readouterr().err
    assert said.startswith(f"colme: port: saw {port}, expected a free port")
    assert said.count("\n") == 1


def test_what_is_missing_is_said_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name="websockets")

    monkeypatch.setattr(app, "_load", missing)
    assert app.run(["explore"]) == app.BAD_INPUT
    assert ".[web]" in capsys.readouterr().err
