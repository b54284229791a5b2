"""Two nodes that remember each other: how far they have come is known to both."""

import asyncio
from pathlib import Path
from shutil import copytree
from typing import Any

from colme.errors import StaleStateError
from colme.node.config import NodeConfig
from colme.node.contact import NEVER
from colme.node.node import Node
from colme.node.state import Overview
from colme.node.wire.codec import Standing
from support.boarded import orders
from support.neighbours import ROUNDS, Neighbours, counted
from support.refusing import refused
from support.waiting import PATIENCE, until

SAMPLES = {"kind": "synthetic", "mean": 0.5, "sigma": 0.1, "seed": 1, "per_round": 5}
PACES: dict[str, dict[str, Any]] = {
    "relay": {},
    "clock": {"defaults": ROUNDS},
    "free": {"defaults": ROUNDS, "agreed": {"rounds": "free"}, "pace": {"deadline": 0.1}},
}
"""By algorithm and, in rounds, by how they begin."""


def config(two: Neighbours, name: str, other: str, pace: str = "relay") -> NodeConfig:
    return two.config(name, other, source=SAMPLES, **PACES[pace])


def state(two: Neighbours, name: str = "a") -> Path:
    return two.folder / name / "state"


def heard(node: Node, peer: str) -> float:
    """Messages that a node has had from a neighbour since it started."""
    return counted(node.metrics, f'messages_received_total{{peer="{peer}"}}')


def remembered(folder: Path) -> Standing:
    """What is stored of a in another's state."""
    return Overview.of(folder).standings.get("a", NEVER)


async def together(a: Node, b: Node, rounds: int = 1) -> None:
    """Both hear the other for some rounds, and what b has heard of a is stored."""
    now = a.status().round, b.status().round
    before = heard(a, "b"), heard(b, "a")
    await until(lambda: heard(a, "b") > before[0] and heard(b, "a") > before[1])
    await until(lambda: a.status().round > now[0] + rounds)
    await until(lambda: b.status().round > now[1] + rounds)
    assert a.status().neighbours[0].connected
    if a.config.agreed.in_rounds:
        known = a.status().round
        await until(lambda: remembered(b.config.state).round >= known)
    else:
        await until(lambda: orders(a).items() <= orders(b).items())
        await b._parts.driver.flush()


async def more_released(node: Node) -> None:
    """It releases samples that it had not."""
    before = node.status().samples.released
    await until(lambda: node.status().samples.released > before)


async def ended(node: Node) -> None:
    """By its neighbour's memory."""
    async with asyncio.timeout(PATIENCE):
        with refused(StaleStateError, "state"):
            await node.failed()


async def grow_apart(two: Neighbours, pace: str = "relay") -> None:
    """`old` is a's state of before, copied while it stood still; it has released more since."""
    a, b = config(two, "a", "b", pace), config(two, "b", "a", pace)
    async with Node(b) as other:
        async with Node(a) as node:
            await together(node, other)
        copytree(state(two), two.folder / "old")
        async with Node(a) as node:
            await together(node, other)
            await until(lambda: samples_noised(state(two)) > samples_noised(two.folder / "old"))
            await together(node, other)


def samples_noised(folder: Path) -> int:
    return Overview.of(folder).ledger.samples
