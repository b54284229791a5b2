"""Neighbours that relay, cut off from each other, listened in on and lied to, on real nodes:

python benchmarks/boards_apart.py partition [SECONDS [INTERVAL]]
python benchmarks/boards_apart.py edges
python benchmarks/boards_apart.py invented [STARTS]
"""

import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from colme.node.node import Node
from colme.node.session import link
from support.boarded import board_of, relaying
from support.neighbours import Neighbours
from support.wires import Wire


class Ring:
    """Embedded nodes in a ring, each session through a wire that can be cut and is counted."""

    def __init__(self, folder: Path, size: int, interval: float) -> None:
        self.names = [f"n{number:02d}" for number in range(size)]
        self._around = Neighbours(folder, *self.names)
        self._interval = interval
        self.nodes: list[Node] = []
        self.wires: dict[tuple[str, str], Wire] = {}

    async def start(self, stack: AsyncExitStack) -> None:
        """All of them, until they know each other."""
        for number, name in enumerate(self.names):
            others = (self.names[number - 1], self.names[(number + 1) % len(self.names)])
            for other in others:
                wire = Wire(self._around.address(other))
                self.wires[name, other] = await stack.enter_async_context(wire)
            config = relaying(self._around, name, *others, pace={"interval": self._interval})
            pinned = tuple(
                one.model_copy(update={"address": self.wires[name, one.name].address})
                for one in config.neighbours
            )
            config = config.model_copy(update={"neighbours": pinned})
            self.nodes.append(await stack.enter_async_context(Node(config)))
        await reached(self.are_connected)

    def are_connected(self) -> bool:
        """Whether all sessions are open."""
        return all(one.connected for node in self.nodes for one in node.status().neighbours)

    def are_alike(self) -> bool:
        """Whether all boards hold the same."""
        boards = [board_of(node) for node in self.nodes]
        return len({board.fingerprint for board in boards}) == 1

    async def release(self, samples: int) -> None:
        """Feed each so many samples; what they close goes out at the next tick."""
        for node in self.nodes:
            await node.take([0.5] * samples)

    def records(self) -> int:
        """Written so far, by everybody: one for each release, of however many blocks."""
        return sum(node._parts.store.releases for node in self.nodes)

    def bytes(self) -> int:
        """That have crossed, both ways, TLS and all."""
        return sum(wire.bytes for wire in self.wires.values())


async def reached(condition: Callable[[], bool]) -> float:
    """Seconds until it holds."""
    began = perf_counter()
    while not condition():
        await asyncio.sleep(0.01)
    return perf_counter() - began


async def partition(folder: Path, seconds: float = 150, interval: float = 0.5) -> None:
    """A ring of 12 is cut into halves, which go on; then the cut heals."""
    # As long as an interval, as by default: a scaled one is to show the same.
    link.LONGEST_PAUSE = link.ANSWER_SECONDS = interval
    async with AsyncExitStack() as stack:
        ring = Ring(folder, 12, interval)
        await ring.start(stack)
        await ring.release(20)
        await reached(ring.are_alike)
        for kind in ("refused", "silent"):
            edges = [(ring.names[5], ring.names[6]), (ring.names[11], ring.names[0])]
            cut = [ring.wires[pair] for a, b in edges for pair in ((a, b), (b, a))]
            for wire in cut:
                wire.cut(silent=kind == "silent")
            for _ in range(10):
                await asyncio.sleep(seconds / 10)
                await ring.release(40)
            assert not ring.are_alike()
            assert not ring.are_connected(), "silence is noticed after half a minute"
            before = sum(wire.bytes for wire in cut)
            for wire in cut:
                wire.heal()
            began = perf_counter()
            alike = asyncio.create_task(reached(ring.are_alike))
            await reached(ring.are_connected)
            connected = perf_counter() - began
            later = await alike
            sent = (sum(wire.bytes for wire in cut) - before) / len(cut)
            print(
                f"partition of {seconds:g} s ({seconds / interval:.0f} intervals of "
                f"{interval:g} s), {kind}: connected {connected:.2f} s after the heal "
                f"({connected / interval:.2f} intervals), boards alike after {later:.2f} s "
                f"({later / interval:.2f}; hops x interval: 6); {sent:.0f} bytes a session",
                flush=True,
            )


async def edges(folder: Path, interval: float = 0.5) -> None:
    """What crosses an edge: to connect, for each new record, and while there is no news."""
    async with AsyncExitStack() as stack:
        ring = Ring(folder, 12, interval)
        await ring.start(stack)
        await asyncio.sleep(4 * interval)
        count = len(ring.nodes)
        print(f"to connect: {ring.bytes() / count:.0f} bytes an edge (two sessions)")
        bytes_, records = ring.bytes(), ring.records()
        for _ in range(20):
            await ring.release(30)
            await reached(ring.are_alike)
            await asyncio.sleep(interval)
        news = ring.records() - records
        crossed = (ring.bytes() - bytes_) / count
        print(f"{news} new records: {crossed:.0f} bytes an edge, {crossed / news:.0f} a record")
        bytes_ = ring.bytes()
        await asyncio.sleep(60)
        print(f"idle: {(ring.bytes() - bytes_) / count:.0f} bytes an edge in a minute")


async def main() -> None:
    """The one that is asked for."""
    name, *options = sys.argv[1:]
    with TemporaryDirectory() as folder:
        if name == "partition":
            await partition(Path(folder), *map(float, options))
        else:
            await edges(Path(folder))


if __name__ == "__main__":
    asyncio.run(main())
