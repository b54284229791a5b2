"""`colme status`: what it shows of a running node, and how it refuses."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from colme.cli.app import run
from colme.node.config import NodeConfig
from colme.node.owner.client import STATUS as READER
from support.neighbours import free_ports
from support.owned import ANSWER, NEIGHBOUR, NO_SAMPLE, STATUS, TOKEN, KnownNode, served

Write = Callable[[int], list[str]]


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """The command's arguments for a node at a port; its token is in place."""
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "state").mkdir()
    token = tmp_path / "state" / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)

    def write(port: int) -> list[str]:
        config = tmp_path / "node.toml"
        config.write_text(
            f"identity = 'here'\nstate = 'state'\nlisten = '127.0.0.1:7400'\n"
            f"agreed.bounds = [0, 1]\nowner.listen = '127.0.0.1:{port}'\n"
        )
        return ["status", "--config", str(config)]

    return write


def show(node: KnownNode, arguments: Write, *options: str) -> int:
    async def showing() -> int:
        async with served(node) as client:
            return await asyncio.to_thread(run, [*arguments(client.port), *options])

    return asyncio.run(showing())


def test_a_ready_node_is_shown_and_the_code_is_0(
    arguments: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    assert show(KnownNode(), arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "here: ready, round 7 (clock)" in printed.out
    assert "algorithm: paper" in printed.out
    assert "estimate: 0.123457 (95%: 0.0987654 to 0.148148, with 12 " in printed.out
    assert "12 releases of others in 3 classes, the oldest 62 s old)" in printed.out
    assert "alone it would be 0.234568" in printed.out
    assert "class: 3 with this node" in printed.out
    assert "privacy: epsilon = 1 for each sample" in printed.out
    assert "taken 41, released 32" in printed.out
    row = next(line for line in printed.out.splitlines() if "10.0.0.2:7400" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "there",
        "10.0.0.2:7400",
        "connected",
        "same",
        "7",
        "4",
        "",
    ]


def test_a_node_in_trouble_says_why_and_the_code_is_1(
    arguments: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    node = KnownNode(NO_SAMPLE, seen=replace(STATUS, troubles=("the disk is full",)))
    assert show(node, arguments) == 1
    printed = capsys.readouterr().out
    assert "here: not ready" in printed
    assert "trouble: the disk is full" in printed
    assert "estimate: none yet" in printed


def test_as_json_it_is_one_object(arguments: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(KnownNode(), arguments, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert READER.validate_python(answer["status"]) == STATUS
    assert answer["estimate"]["value"] == ANSWER.value
    node = KnownNode(NO_SAMPLE, seen=replace(STATUS, troubles=("no sample",)))
    assert show(node, arguments, "--json") == 1
    assert json.loads(capsys.readouterr().out)["estimate"] is None


def test_a_neighbours_words_are_neither_markup_nor_commands(
    arguments: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    neighbour = replace(NEIGHBOUR, last_error="[red]x[/] \x1b[2J", connected=False)
    assert show(KnownNode(seen=replace(STATUS, neighbours=(neighbour,))), arguments) == 0
    printed = capsys.readouterr().out
    assert "[red]x[/] ?[2J" in printed
    assert "away" in printed


def test_a_proxy_of_the_environment_never_sees_the_token(
    arguments: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert show(KnownNode(), arguments) == 0


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("colme: ")
    assert printed.err.count("\n") == 1
    return printed.err


def test_a_node_that_does_not_run_is_one_line_and_code_2(
    arguments: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments(*free_ports(1))) == 2
    assert "expected a running node" in refusal(capsys)


def test_a_token_that_is_missing_or_anothers_is_one_line_and_code_2(
    arguments: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "state" / "token"
    token.write_text("x" * 40)
    assert show(KnownNode(), arguments) == 2
    assert "another may run there" in refusal(capsys)
    token.chmod(0o644)
    assert show(KnownNode(), arguments) == 2
    assert "chmod 600" in refusal(capsys)
    token.unlink()
    assert show(KnownNode(), arguments) == 2
    assert "the node makes it when it starts" in refusal(capsys)
    assert not token.exists()


def test_an_owners_side_that_is_off_is_one_line_and_code_2(
    arguments: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fields: dict[str, Any] = {"identity": "here", "state": "state", "listen": "127.0.0.1:7400"}
    off = NodeConfig.build(fields | {"agreed": {"bounds": [0, 1]}, "owner": None})
    monkeypatch.setattr(NodeConfig, "load", lambda _path: off)
    assert run(arguments(1)) == 2
    assert "owner: saw None" in refusal(capsys)


@pytest.mark.parametrize("answer", [b"hello", b"[1]", b"{}"])
def test_another_program_at_the_address_is_one_line_and_code_2(
    answer: bytes, arguments: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + answer)
        writer.close()
        await writer.wait_closed()

    async def asking() -> int:
        server = await asyncio.start_server(reply, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            return await asyncio.to_thread(run, arguments(port))

    assert asyncio.run(asking()) == 2
    assert "a healthy colme node" in refusal(capsys)


def test_a_node_with_a_board_shows_it(arguments: Write, capsys: pytest.CaptureFixture[str]) -> None:
    neighbour = replace(NEIGHBOUR, suspect=None, accepted=None, late=None, vouched_for=5)
    status = replace(
        STATUS,
        algorithm="relay",
        phase=None,
        rounds=None,
        class_size=None,
        trust=None,
        records=17,
        board="ef" * 8,
        barred=("cd" * 16,),
        neighbours=(neighbour,),
    )
    answer = replace(ANSWER, why="too few others")
    assert show(KnownNode(answer, seen=status), arguments) == 0
    printed = capsys.readouterr().out
    assert "here: ready, tick 7" in printed
    assert "board efefefefefefefef: 17 records; barred: cdcd" in printed
    assert f"own origin {'ab' * 16}" in printed
    assert "alone: too few others" in printed
    row = next(line for line in printed.splitlines() if "10.0.0.2:7400" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")][2:] == ["connected", "5", ""]
