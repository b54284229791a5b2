"""What relay costs a node: `python benchmarks/boards.py records`, `board`, `ring` or `hub`."""

import asyncio
import resource
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from grpc.aio import secure_channel

from colme.node.node import Node
from colme.node.trust import Identity, channel_options
from colme.node.wire import METHOD, encode, message_in, parse_frame, parts_of
from colme.protocol.board.entry import Entry
from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.board.record import Record
from support.boarded import board_of, boarded, relaying, somebody
from support.boards import written
from support.neighbours import Caller, Neighbours


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
        one.said.clear()
        print(f"board of {len(one.board)}: {megabytes() - before:.1f} MB more than without")
        pages = one.board.pages()
        sizes = [len(encode(DigestMessage(page=page, answer=False), 1)) for page in pages]
        print(f"digest: {len(sizes)} frames, {sum(sizes)} bytes")
    began = perf_counter()
    async with boarded(folder, behind=10**6) as one:
        print(f"restart: {perf_counter() - began:.2f} s, {len(one.board)} records")


async def ring(folder: Path, size: int = 60, interval: float = 0.5) -> None:
    """Embedded nodes: how long until a release is everywhere, and what crosses an edge."""
    names = [f"n{number:02d}" for number in range(size)]
    around = Neighbours(folder, *names)
    async with AsyncExitStack() as stack:
        nodes = []
        for number, name in enumerate(names):
            others = (names[number - 1], names[(number + 1) % size])
            config = relaying(around, name, *others, pace={"interval": interval})
            nodes.append(await stack.enter_async_context(Node(config)))
        while not all(one.connected for node in nodes for one in node.status().neighbours):
            await asyncio.sleep(0.1)
        await asyncio.sleep(4 * interval)
        for turn in range(3):
            author = nodes[turn]
            count = author._parts.driver.agent.counts.released
            began, busy = perf_counter(), process_time()
            await author.take([0.5] * (20 + 10 * turn))
            origin = author._parts.driver.agent.boards.origin
            while not all(is_newer(board_of(node).get(origin), count) for node in nodes):
                await asyncio.sleep(0.01)
            wall = perf_counter() - began
            print(
                f"ring of {size}, interval {interval} s: everywhere after {wall:.2f} s "
                f"({wall / interval:.1f} intervals, {size // 2} hops); "
                f"{(process_time() - busy) / size * 1000:.1f} ms of processor time a node"
            )
        began, busy = perf_counter(), process_time()
        await asyncio.sleep(20)
        share = (process_time() - busy) / (perf_counter() - began) / size
        print(f"idle: {share:.5f} of a core a node, {size} nodes in one process")


def is_newer(held: Entry | None, count: int) -> bool:
    """Whether it has more samples."""
    return isinstance(held, Record) and held.count > count


async def hub(folder: Path, size: int = 200, interval: float = 0.5) -> None:
    """One node with many neighbours, which speak to it and do not listen."""
    names = [f"n{number:03d}" for number in range(size)]
    around = Neighbours(folder, "hub", *names)
    config = relaying(around, "hub", *names, pace={"interval": interval})
    keys = {name: Identity.load(around.identity(name)).signs({}) for name in names}
    async with AsyncExitStack() as stack:
        began, busy = perf_counter(), process_time()
        node = await stack.enter_async_context(Node(config))
        print(f"hub: up after {perf_counter() - began:.1f} s")
        callers = []
        for name in names:
            credentials = around.trust(name, "hub").channel_credentials("hub")
            channel = secure_channel(config.listen, credentials, channel_options())
            await stack.enter_async_context(channel)
            callers.append(Caller(channel.stream_stream(METHOD)(), config))
            await callers[-1].hello()
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


async def main() -> None:
    """Those that are asked for."""
    known = {"records": records, "board": board, "ring": ring, "hub": hub}
    for name in sys.argv[1:] or known:
        with TemporaryDirectory() as folder:
            await known[name](Path(folder))


if __name__ == "__main__":
    asyncio.run(main())
