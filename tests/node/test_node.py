"""A node outside of its block: what it says then, in words."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from colme.errors import LocalProtocolError, NetworkError, StoreError
from colme.node.node import Node
from support.neighbours import Neighbours
from support.refusing import refused

USES: dict[str, Callable[[Node], object]] = {
    "name": lambda node: node.name,
    "metrics": lambda node: node.metrics,
    "observe": lambda node: node.observe(0.5),
    "estimate": lambda node: asyncio.run(node.estimate()),
    "status": lambda node: node.status(),
    "troubles": lambda node: node.troubles(),
    "take": lambda node: asyncio.run(node.take([0.5])),
    "failed": lambda node: asyncio.run(node.failed()),
}


def alone(folder: Path, **changes: object) -> Node:
    """A node with no neighbours."""
    return Node(Neighbours(folder, "a").config("a").model_copy(update=changes))


@pytest.mark.parametrize("use", USES)
def test_before_it_is_entered_it_asks_for_that(use: str, tmp_path: Path) -> None:
    with refused(LocalProtocolError, "node"):
        USES[use](alone(tmp_path))


@pytest.mark.parametrize("use", USES)
def test_a_start_that_failed_is_no_start(use: str, tmp_path: Path) -> None:
    node = alone(tmp_path, listen="203.0.113.1:7400")  # Nobody's address: it can't be bound.

    async def start() -> None:
        with pytest.raises(NetworkError):
            await node.__aenter__()

    asyncio.run(start())
    with refused(LocalProtocolError, "node"):
        USES[use](node)


async def test_to_enter_it_twice_is_refused_and_does_not_disturb_it(tmp_path: Path) -> None:
    async with alone(tmp_path) as node:
        with pytest.raises(StoreError, match="in use"):
            await node.__aenter__()
        await node.observe(0.5)
        assert node.status().samples.taken == 1
    assert node.status().epoch == 1


async def test_once_left_it_can_be_looked_at_and_takes_nothing(tmp_path: Path) -> None:
    node = alone(tmp_path)

    async with node:
        await node.observe(0.5)
    assert node.name == node.status().name == "a"
    assert node.status().samples.taken == (await node.estimate()).samples == 1
    with refused(LocalProtocolError, "sample", seen="one for a node that has stopped"):
        node.observe(0.5)
    with refused(LocalProtocolError, "sample", seen="one for a node that has stopped"):
        await node.take([0.5])
    with refused(LocalProtocolError, "node", seen="one that was left"):
        await node.failed()
    async with node:
        assert node.status().epoch == 2
        await node.observe(0.75)
    assert node.status().samples.taken == 2
