"""Relay in a node: what is released reaches everybody, is stored first, and is never forgotten."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from colme.node.config import NodeConfig
from colme.node.node import Node
from colme.node.state import Overview
from support.boarded import board_of, orders
from support.neighbours import Neighbours, free_ports
from support.relay import relaying as line
from support.waiting import until

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


def through(config: NodeConfig, other: str, port: int) -> NodeConfig:
    """The same, where a neighbour is reached through another port."""
    address = f"127.0.0.1:{port}"
    neighbours = tuple(
        one.model_copy(update={"address": address}) if one.name == other else one
        for one in config.neighbours
    )
    return config.model_copy(update={"neighbours": neighbours})


@pytest.mark.usefixtures("call_again_soon")
async def test_after_a_partition_boards_become_alike(tmp_path: Path) -> None:
    """Both halves go on alone, and no rule is needed to bring them together."""
    four = Neighbours(tmp_path, "a", "b", "c", "d")
    to_b, to_c = free_ports(2)
    configs = {
        "a": four.config("a", "b"),
        "b": through(four.config("b", "a", "c"), "c", to_c),
        "c": through(four.config("c", "b", "d"), "b", to_b),
        "d": four.config("d", "c"),
    }
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(Node(one)) for one in configs.values()]

        def prints() -> set[str | None]:
            return {node.status().board for node in nodes}

        for number, node in enumerate(nodes):  # There is no line yet: two halves.
            await node.take([0.25 + number / 8] * 20)
        await until(lambda: [len(board_of(node)) for node in nodes] == [2] * 4)
        for _ in range(2):
            async with line(to_b, four.ports["b"]), line(to_c, four.ports["c"]):
                await until(lambda: len(prints()) == 1)
                assert len(board_of(nodes[0])) == 4
            for node in nodes:  # Apart again, and all have news.
                await node.take([0.5] * 20)
            await until(lambda: len(prints()) == 2)
        assert not any(node.status().barred for node in nodes)
