"""What relay costs real nodes, and how their boards come together again after a partition.

records: parsed, verified, merged, stored and passed on.
board: memory and restart of a node whose board is full.
hub: one node with 200 neighbours.
ring: how long until a release is at all of 60 nodes, and what idling takes.
partition: a ring of 12 is cut into halves, which go on; then the cut heals.
edges: bytes that cross an edge of a ring of 12.
"""

import asyncio
import resource
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Annotated

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import typer

from colme.node.node import Node
from colme.node.session import grpc_transport, link
from colme.node.trust.identity import Identity
from colme.node.wire.codec import encode, message_in, parse_frame, parts_of
from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.board.record import Record
from support.boarded import board_of, boarded, somebody
from support.boards import written
from support.neighbours import Neighbours, calling
from support.wires import Wire

INTERVAL = 0.5
"""Seconds between two ticks of a node."""
NAMES = ("records", "board", "hub", "ring", "partition", "edges")


def main(
    names: Annotated[list[str], typer.Argument(help=f"Of {', '.join(NAMES)}.")],
    seconds: Annotated[float, typer.Option(help="Of a partition.")] = 150,
    interval: Annotated[float, typer.Option(help="Between two ticks, in a partition.")] = INTERVAL,
) -> None:
    """Measure nodes that relay. For memory and processor time, name one at a time."""
    measurements = {
        "records": records,
        "board": board,
        "hub": hub,
        "ring": ring,
        "partition": lambda folder: partition(folder, seconds, interval),
        "edges": edges,
    }
    for name in names:
        with TemporaryDirectory() as folder:
            asyncio.run(measurements[name](Path(folder)))


def megabytes() -> float:
    """Resident now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def frames(first: int, count: int, sequence: int = 1) -> list[bytes]:
    """Records of so many origins, as they come over the wire."""
    out = []
    for start in range(first, first + count, 80):
        some = range(start, min(start + 80, first + count))
        records = tuple(written(somebody(n), sequence=sequence, count=2000) for n in some)
        out += [encode(part, 1) for part in parts_of(RecordsMessage(records))]
    return out


async def records(folder: Path) -> None:
    """Parsed, verified, merged, stored and handed on: processor seconds, on one core."""
    async with boarded(folder, interval=1.0, behind=10**6) as one:
        one.driver.start(0)
        news = frames(0, 4000)
        await asyncio.sleep(0.1)
        wall, began = perf_counter(), process_time()
        for frame in news:
            one.driver.receive("b", message_in("b", parse_frame("b", frame)))
            await asyncio.sleep(0)
        while len(one.records_to("c")) < 4000:
            await asyncio.sleep(0.01)
        busy, wall = process_time() - began, perf_counter() - wall
        print(f"records: {4000 / busy:.0f} a second of processor time; {wall:.2f} s in all")
        print(f"200 a second: {200 * busy / 4000:.3f} of a core")


async def board(folder: Path) -> None:
    """A board of 4,096 records."""
    async with boarded(folder, interval=0.01, behind=10**6) as one:
        before = megabytes()
        one.driver.start(0)
        for frame in frames(0, 4096):
            one.driver.receive("b", message_in("b", parse_frame("b", frame)))
        while len(one.records_to("c")) < 4096:
            await asyncio.sleep(0.01)
        one.posts.clear()
        print(f"board of {len(one.board)}: {megabytes() - before:.1f} MB more than without")
        pages = one.board.pages()
        sizes = [len(encode(DigestMessage(page=page, answer=False), 1)) for page in pages]
        print(f"digest: {len(sizes)} frames, {sum(sizes)} bytes")
    began = perf_counter()
    async with boarded(folder, behind=10**6) as one:
        print(f"restart: {perf_counter() - began:.2f} s, {len(one.board)} records")


async def hub(folder: Path, size: int = 200) -> None:
    """One node with many neighbours, which call it and can't be called."""
    names = [f"n{number:03d}" for number in range(size)]
    around = Neighbours(folder, "hub", *names)
    config = around.config("hub", *names, pace={"interval": INTERVAL})
    keys = {name: Identity.load(around.identity(name)).signs({}) for name in names}
    async with AsyncExitStack() as stack:
        began, busy = perf_counter(), process_time()
        node = await stack.enter_async_context(Node(config))
        print(f"hub: up after {perf_counter() - began:.1f} s")
        callers = []
        for name in names:
            trust = around.trust(name, "hub")
            callers.append(await stack.enter_async_context(calling(trust, "hub", config)))
            await callers[-1].hello()
        # Whoever reads nothing is sent nothing, and hung up on.
        reading = asyncio.gather(*(one.listen() for one in callers))
        stack.callback(reading.cancel)
        print(f"hub: {size} sessions after {perf_counter() - began:.1f} s")
        for turn in range(1, 4):
            began, busy = perf_counter(), process_time()
            for name, caller in zip(names, callers, strict=True):
                record = written(keys[name], sequence=turn, count=8 * turn)
                await caller.say(encode(RecordsMessage((record,)), turn))
            while sum(one.order == (0, turn) for one in board_of(node)) < size:
                await asyncio.sleep(0.01)
            print(
                f"hub: a record of each of {size} after {perf_counter() - began:.2f} s, "
                f"{(process_time() - busy) / size * 1000:.2f} ms of processor time each, "
                "both ends and their signing included"
            )


class Ring:
    """Embedded nodes in a ring; wired: each session crosses a wire that is cut and counted."""

    def __init__(self, folder: Path, size: int, interval: float, *, wired: bool = True) -> None:
        self.names = [f"n{number:02d}" for number in range(size)]
        self._around = Neighbours(folder, *self.names)
        self._interval = interval
        self._wired = wired
        self.nodes: list[Node] = []
        self.wires: dict[tuple[str, str], Wire] = {}

    async def start(self, stack: AsyncExitStack) -> None:
        """All of them, until they know each other."""
        for number, name in enumerate(self.names):
            others = (self.names[number - 1], self.names[(number + 1) % len(self.names)])
            config = self._around.config(name, *others, pace={"interval": self._interval})
            if self._wired:
                for other in others:
                    wire = Wire(self._around.address(other))
                    self.wires[name, other] = await stack.enter_async_context(wire)
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


async def ring(folder: Path, size: int = 60) -> None:
    """Embedded nodes: how long until a release is everywhere, and what idling takes."""
    async with AsyncExitStack() as stack:
        around = Ring(folder, size, INTERVAL, wired=False)
        await around.start(stack)
        await asyncio.sleep(4 * INTERVAL)
        for turn in range(3):
            agent = around.nodes[turn]._parts.driver.agent
            count = agent.counts.released
            began, busy = perf_counter(), process_time()
            await around.nodes[turn].take([0.5] * (20 + 10 * turn))
            await reached(partial(all_newer, around.nodes, agent.boards.origin, count))
            wall = perf_counter() - began
            print(
                f"ring of {size}, interval {INTERVAL} s: everywhere after {wall:.2f} s "
                f"({wall / INTERVAL:.1f} intervals, {size // 2} hops); "
                f"{(process_time() - busy) / size * 1000:.1f} ms of processor time a node"
            )
        began, busy = perf_counter(), process_time()
        await asyncio.sleep(20)
        share = (process_time() - busy) / (perf_counter() - began) / size
        print(f"idle: {share:.5f} of a core a node, {size} nodes in one process")


def all_newer(nodes: Sequence[Node], origin: str, count: int) -> bool:
    """Whether every node holds a record of this publisher with more samples than this."""
    held = [board_of(node).get(origin) for node in nodes]
    return all(isinstance(one, Record) and one.count > count for one in held)


async def partition(folder: Path, seconds: float, interval: float) -> None:
    """A ring of 12 is cut into halves, which go on; then the cut heals."""
    # As long as an interval, as by default: a scaled one is to show the same.
    link.LONGEST_PAUSE = link.ANSWER_SECONDS = grpc_transport.DIAL_SECONDS = interval
    async with AsyncExitStack() as stack:
        around = Ring(folder, 12, interval)
        await around.start(stack)
        await around.release(20)
        await reached(around.are_alike)
        for kind in ("refused", "silent"):
            edges = [(around.names[5], around.names[6]), (around.names[11], around.names[0])]
            cut = [around.wires[pair] for a, b in edges for pair in ((a, b), (b, a))]
            for wire in cut:
                wire.cut(silent=kind == "silent")
            for _ in range(10):
                await asyncio.sleep(seconds / 10)
                await around.release(40)
            assert not around.are_alike()
            assert not around.are_connected(), "silence is noticed after half a minute"
            before = sum(wire.bytes for wire in cut)
            for wire in cut:
                wire.heal()
            began = perf_counter()
            alike = asyncio.create_task(reached(around.are_alike))
            await reached(around.are_connected)
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


async def edges(folder: Path) -> None:
    """What crosses an edge: to connect, for each new record, and while there is no news."""
    async with AsyncExitStack() as stack:
        around = Ring(folder, 12, INTERVAL)
        await around.start(stack)
        await asyncio.sleep(4 * INTERVAL)
        count = len(around.nodes)
        print(f"to connect: {around.bytes() / count:.0f} bytes an edge")
        bytes_, records = around.bytes(), around.records()
        for _ in range(20):
            await around.release(30)
            await reached(around.are_alike)
            await asyncio.sleep(INTERVAL)
        news = around.records() - records
        crossed = (around.bytes() - bytes_) / count
        print(f"{news} new records: {crossed:.0f} bytes an edge, {crossed / news:.0f} a record")
        bytes_ = around.bytes()
        await asyncio.sleep(60)
        print(f"idle: {(around.bytes() - bytes_) / count:.0f} bytes an edge in a minute")
