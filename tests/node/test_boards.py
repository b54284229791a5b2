"""Relay in a node: what is released reaches everybody, is stored first, and is never forgotten."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from colme.node.node import Node
from colme.node.state import Overview
from support.boarded import board_of, orders, relaying
from support.neighbours import Neighbours
from support.waiting import until

PATH = {"a": ("b",), "b": ("a", "c"), "c": ("b",)}


def test_a_release_reaches_those_who_are_no_neighbours(tmp_path: Path) -> None:
    async def check() -> None:
        three = Neighbours(tmp_path, *PATH)
        async with AsyncExitStack() as stack:
            nodes = {
                name: await stack.enter_async_context(Node(relaying(three, name, *others)))
                for name, others in PATH.items()
            }
            for number, node in enumerate(nodes.values()):
                await node.take([0.25 + number / 8] * 20)
            await until(lambda: all(len(board_of(node)) == 3 for node in nodes.values()))
            await until(lambda: orders(nodes["a"]) == orders(nodes["b"]) == orders(nodes["c"]))
            assert nodes["a"].status().records == 3
            assert (await nodes["a"].estimate()).alone == 0.25

    asyncio.run(check())
    overview = Overview.of(tmp_path / "a" / "state")
    assert overview.ledger.samples == overview.sent.count  # type: ignore[union-attr]
