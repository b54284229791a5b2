"""Relay in a node: what is released reaches everybody, also after nodes were cut off."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from colme.node.node import Node
from colme.node.session import grpc_transport, link
from colme.node.state import Overview
from colme.node.trust import tls
from support.boarded import board_of, orders
from support.neighbours import Neighbours
from support.waiting import until
from support.wires import Wire

PATH = {"a": ("b",), "b": ("a", "c"), "c": ("b",)}


async def test_a_release_reaches_those_who_are_no_neighbours(tmp_path: Path) -> None:
    three = Neighbours(tmp_path, *PATH)
    async with AsyncExitStack() as stack:
        nodes = {
            name: await stack.enter_async_context(Node(three.config(name, *others)))
            for name, others in PATH.items()
        }
        for number, node in enumerate(nodes.values()):
            await node.take([0.25 + number / 8] * 20)
        await until(lambda: all(len(board_of(node)) == 3 for node in nodes.values()))
        await until(lambda: orders(nodes["a"]) == orders(nodes["b"]) == orders(nodes["c"]))
        assert nodes["a"].status().records == 3
        assert (await nodes["a"].estimate()).alone == 0.25
    overview = Overview.of(tmp_path / "a" / "state")
    assert overview.ledger.samples == overview.sent.count  # type: ignore[union-attr]


@pytest.fixture(autouse=True)
def at_a_pace_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """In proportion, but for the pings, which gRPC would else wait a minute for."""
    monkeypatch.setattr(link, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(link, "LONGEST_PAUSE", 0.1)
    monkeypatch.setattr(link, "ANSWER_SECONDS", 2.0)
    monkeypatch.setattr(grpc_transport, "DIAL_SECONDS", 2.0)
    monkeypatch.setattr(tls, "KEEPALIVE_MS", 1000)


@pytest.mark.parametrize("silent", [False, True], ids=["hangs up", "silent"])
async def test_two_that_were_cut_off_notice_it_and_have_the_same_boards_after_it(
    tmp_path: Path, silent: bool
) -> None:
    """Both go on meanwhile: what each has released comes through once there is a way."""
    two = Neighbours(tmp_path, "a", "b")
    async with AsyncExitStack() as stack:
        nodes, wires = [], []
        for name, other in (("a", "b"), ("b", "a")):
            wire = await stack.enter_async_context(Wire(two.address(other)))
            config = two.config(name, other)
            (there,) = config.neighbours
            through = (there.model_copy(update={"address": wire.address}),)
            node = Node(config.model_copy(update={"neighbours": through}))
            nodes.append(await stack.enter_async_context(node))
            wires.append(wire)

        def connected() -> list[bool]:
            return [one.connected for node in nodes for one in node.status().neighbours]

        def alike() -> bool:
            boards = [orders(node) for node in nodes]
            return boards[0] == boards[1] and len(boards[0]) == 2

        await until(lambda: all(connected()))
        for node in nodes:
            await node.take([0.5] * 20)
        await until(alike)
        for wire in wires:
            wire.cut(silent=silent)
        for node in nodes:
            await node.take([0.5] * 200)
        await until(lambda: not any(connected()) and not alike())
        for wire in wires:
            wire.heal()
        await until(lambda: all(connected()) and alike())
        assert len({board_of(node).fingerprint for node in nodes}) == 1
