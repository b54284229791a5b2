"""The explorer's server: loopback, its own pages alone, and every fault in words."""

import json
import socket
import tomllib
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from math import inf
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from colme.errors import ConfigError
from colme.explore import server as room
from colme.explore.server import ExplorerServer
from colme.pages.assets import POLICY
from support.exploring import exploring

QUICK = {"agents": 9, "rounds": 20}


@pytest.fixture(scope="module")
def server() -> Iterator[ExplorerServer]:
    with exploring() as serving:
        yield serving


def _get(server: ExplorerServer, path: str, host: str | None = None) -> tuple[HTTPResponse, str]:
    connection = HTTPConnection("127.0.0.1", server.port)
    headers = {} if host is None else {"Host": host}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def _open(server: ExplorerServer, **headers: str) -> ClientConnection:
    origin = headers.pop("origin", f"http://127.0.0.1:{server.port}")
    return connect(
        f"ws://127.0.0.1:{server.port}/socket",
        origin=Origin(origin) if origin else None,
        additional_headers=headers,
        proxy=None,
    )


def _until(page: ClientConnection, kind: str) -> dict[str, Any]:
    while True:
        told: dict[str, Any] = json.loads(page.recv(timeout=120))
        if told["type"] == kind:
            return told


def _ask(page: ClientConnection, **asked: object) -> None:
    page.send(json.dumps(asked))


@pytest.mark.parametrize("path", ["/", "/page/explore.js", "/components/style.css", "/nothing"])
def test_every_answer_has_the_policy(server: ExplorerServer, path: str) -> None:
    answer, _ = _get(server, path)
    assert answer.status == (404 if path == "/nothing" else 200)
    assert answer.getheader("Content-Security-Policy") == POLICY
    assert answer.getheader("X-Content-Type-Options") == "nosniff"


def test_the_page_names_no_file_that_is_not_there_and_has_nothing_inline(
    server: ExplorerServer,
) -> None:
    _, page = _get(server, "/")
    names = [part.split('"')[0] for part in page.split('src="')[1:]]
    names += [part.split('"')[0] for part in page.split('rel="stylesheet" href="')[1:]]
    assert len(names) > 10
    for name in names:
        assert _get(server, f"/{name}")[0].status == 200, name
    assert "<style" not in page
    assert "style=" not in page
    assert "<script>" not in page
    assert " on" not in [attribute[:3] for attribute in page.split("=")]


@pytest.mark.parametrize(
    "path", ["/../errors.py", "/%2e%2e/errors.py", "/page/../server.py", "/server.py", "/assets.py"]
)
def test_no_other_file_can_be_had(server: ExplorerServer, path: str) -> None:
    assert _get(server, path)[0].status == 404


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example:80",
        "localhost:80@evil.example",
        "evil.example@localhost:80",
        "localhost:port",
        "localhost:80/",
    ],
)
def test_a_name_that_was_made_to_lead_here_is_refused(server: ExplorerServer, host: str) -> None:
    """DNS rebinding: the browser takes us for a part of somebody else's site."""
    answer, words = _get(server, "/", host)
    assert answer.status == 421
    assert "Host" in words


def test_a_socket_by_such_a_name_is_refused(server: ExplorerServer) -> None:
    """A page that has its name lead here is of the origin that it asks for."""
    here = socket.create_connection(("127.0.0.1", server.port))
    with pytest.raises(InvalidStatus, match="421"):
        connect("ws://evil.example/socket", sock=here, origin=Origin("http://evil.example"))


@pytest.mark.parametrize("origin", ["", "https://evil.example", "http://127.0.0.1:1", "null"])
def test_a_socket_of_another_page_is_refused(server: ExplorerServer, origin: str) -> None:
    with pytest.raises(InvalidStatus, match="403"):
        _open(server, origin=origin)


def test_it_listens_on_loopback_alone(server: ExplorerServer) -> None:
    assert server._socket.getsockname()[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_said(server: ExplorerServer) -> None:
    with pytest.raises(ConfigError, match=r"port: saw \d+, expected a free port .*in use"):
        ExplorerServer(server.port)


def test_choices_are_answered_with_a_network_and_curves(server: ExplorerServer) -> None:
    with _open(server) as page:
        _ask(page, do="choose", choices=QUICK)
        chosen = _until(page, "chosen")
        assert chosen["choices"]["agents"] == "9"
        assert len(chosen["network"]["truth"]) == 9
        curves = _until(page, "curves")
        assert curves["number"] == chosen["number"]
        assert [one["name"] for one in curves["errors"]] == [
            "relay",
            "paper",
            "local",
            "ideal",
            "class-ideal",
        ]


def test_new_choices_end_what_was_computed_for_the_old(server: ExplorerServer) -> None:
    with _open(server) as page:
        _ask(page, do="choose", choices={"agents": 40, "rounds": 1000})
        _until(page, "chosen")
        _ask(page, do="choose", choices=QUICK)
        latest = _until(page, "chosen")["number"]
        told = _until(page, "curves")
        while told["runs"] < told["of"]:
            told = _until(page, "curves")
            assert told["number"] == latest


def test_it_plays_and_pauses_and_agents_can_be_killed(server: ExplorerServer) -> None:
    with _open(server) as page:
        _ask(page, do="choose", choices=QUICK)
        assert _until(page, "frame")["round"] == 0
        _ask(page, do="step")
        assert _until(page, "frame")["round"] == 1
        _ask(page, do="kill", agent=4)
        assert _until(page, "frame")["away"] == [4]
        _ask(page, do="lie", agent=5)
        assert _until(page, "frame")["liars"] == [5]
        _ask(page, do="cut")
        assert _until(page, "frame")["cut"]
        _ask(page, do="play", rate=30)
        while _until(page, "frame")["round"] < 5:
            pass
        _ask(page, do="look", agent=2)
        inside = _until(page, "inside")
        assert inside["agent"] == 2
        assert "event level" in inside["promise"]
        _ask(page, do="pause")
        _ask(page, do="look", agent=None)
        _ask(page, do="nothing")
        rounds = []
        while (told := json.loads(page.recv(timeout=60)))["type"] != "refused":
            rounds += [told["round"]] if told["type"] == "frame" else []
        _ask(page, do="cut")
        assert _until(page, "frame")["round"] == max(rounds)


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "[",
        "[" * 9000,
        "3",
        "{}",
        '{"do": "fly"}',
        '{"do": "choose"}',
        '{"do": "choose", "choices": {"agents": 1e9}}',
        '{"do": "choose", "choices": {"colour": 3}}',
        '{"do": "play", "rate": 1e9}',
        '{"do": "play", "rate": "fast"}',
        '{"do": "kill", "agent": -1}',
        '{"do": "kill", "agent": true}',
        '{"do": "lie", "agent": "0"}',
        '{"do": "look", "agent": 900}',
        '{"do": "step"}',
        '{"do": "play", "rate": 4}',
    ],
)
def test_what_makes_no_sense_is_refused_in_words(server: ExplorerServer, asked: str) -> None:
    with _open(server) as page:
        page.send(asked)
        assert "expected" in _until(page, "refused")["words"]
        _ask(page, do="choose", choices=QUICK)
        _until(page, "chosen")


def test_messages_that_are_too_long_end_the_session(server: ExplorerServer) -> None:
    with _open(server) as page:
        page.send("x" * (room.LARGEST_MESSAGE + 1))
        with pytest.raises(ConnectionClosed):
            _until(page, "nothing")


def test_pages_beyond_the_most_are_told_so(
    server: ExplorerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MOST_PAGES", 0)
    with _open(server) as page:
        assert "close one" in _until(page, "refused")["words"]


def test_a_link_can_be_had_as_a_scenario(server: ExplorerServer) -> None:
    answer, text = _get(server, "/scenario.toml?agents=50&family=grid&epsilon=inf")
    assert answer.getheader("Content-Disposition") == 'attachment; filename="scenario.toml"'
    scenario = tomllib.loads(text)
    assert (scenario["agents"], scenario["epsilon"]) == (49, [inf])
    answer, words = _get(server, "/scenario.toml?agents=<script>")
    assert answer.status == 422
    assert words.startswith("agents: ")
    assert (answer.getheader("Content-Type") or "").startswith("text/plain")


def test_a_port_that_nobody_asked_for_is_any(server: ExplorerServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port)):
        assert server.address == f"http://127.0.0.1:{server.port}/"
