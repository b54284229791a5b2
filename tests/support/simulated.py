"""Nodes on a simulated clock, network and disk: all that happens follows from a seed.

The loop never waits: where it would, its time passes instead. Frames travel, and commits take, for
random times, in queues of the loop: no thread and no socket decides what comes first. States are
real SQLite files, which a crash leaves as the last commit did.
"""

import asyncio
import selectors
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from random import Random
from shutil import rmtree
from typing import TypeVar

from colme.errors import ColmeError, LocalProtocolError, StoreError
from colme.node.config import NodeConfig
from colme.node.node import Node
from colme.node.session.transport import Parted, PeerSession
from colme.node.state import Store
from colme.node.state.database import FILE
from colme.node.thread import CallThread
from colme.node.wire import neighbour_pb2 as pb
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.board.record import Record, entry_from_bytes
from support.boarded import origin_in
from support.in_memory import End, InMemory, Network
from support.neighbours import Neighbours

Result = TypeVar("Result")

BEGAN = 1_800_000_000.0
"""The wall clock when a simulation begins."""


SENT_TOO_EARLY = "a release was sent before it was stored"
ACKNOWLEDGED_TOO_EARLY = "a sample was acknowledged before it was stored"
DRAWN_TWICE = "noise was drawn twice for the same samples"
STOPPED = "a node with the newest state stopped"


class _Passing(selectors.SelectSelector):
    """Lets time pass instead of waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "nothing would ever happen again"
        found = super().select(0)
        self.now += 0.0 if found else max(0.0, timeout)
        return found


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is simulated."""

    def __init__(self) -> None:
        self._passing = _Passing()
        super().__init__(self._passing)

    def time(self) -> float:
        return self._passing.now


class SimulatedClock:
    """The time of the running loop."""

    def wall(self) -> float:
        return BEGAN + asyncio.get_running_loop().time()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


async def passes(seconds: float) -> None:
    """Return once so much simulated time has passed."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    timer = loop.call_later(seconds, done.set_result, None)
    try:
        await done
    finally:
        timer.cancel()


class SimulatedDisk(CallThread):
    """Makes the calls of a store in the loop, each after a random time; a crash ends them."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._free_at = 0.0
        self.crashed = False

    def call(self, work: Callable[[], Result]) -> Result:
        return work()

    async def reach(self, work: Callable[[], Result]) -> Result:
        now = asyncio.get_running_loop().time()
        # In the order in which they were asked for, as a thread makes them.
        self._free_at = max(self._free_at, now) + self._random.uniform(0.001, 0.02)
        await passes(self._free_at - now)
        if self.crashed:
            raise StoreError("state", "a crash", "a machine that runs")
        return work()

    def close(self) -> None:
        """There is no thread."""

    def end(self, last: Callable[[], object]) -> None:
        last()


@dataclass(eq=False)
class _Line(End):
    """One end of a session whose frames take their time, and arrive in order."""

    network: "SimulatedNetwork" = field(kw_only=True)
    inbox: "asyncio.Queue[bytes]" = field(default_factory=asyncio.Queue)
    arrives_at: float = 0.0

    async def send(self, frame: bytes) -> None:
        if self.over.done():
            raise Parted(self.over.result())
        loop, random = asyncio.get_running_loop(), self.network.random
        self.network.passed(self.other.peer, self.peer, frame)
        self.arrives_at = max(self.arrives_at, loop.time()) + random.uniform(0.001, 0.05)
        loop.call_at(self.arrives_at, self.other.inbox.put_nowait, frame)


@dataclass(eq=False)
class SimulatedNetwork(Network):
    """Sees every frame as it leaves, and holds nodes to what they must never do."""

    random: Random = field(kw_only=True)
    log: list[str] = field(default_factory=list)
    machines: "dict[str, Machine]" = field(default_factory=dict)
    released: dict[tuple[str, tuple[int, int]], bytes] = field(default_factory=dict)
    """What every publisher has sent under each of its numbers."""
    faults: set[str] = field(default_factory=set)
    """What must never happen, and did."""

    def of(self, name: str) -> "InMemory":
        return _Host(self, name)

    def passed(self, sender: str, receiver: str, frame: bytes) -> None:
        at = asyncio.get_running_loop().time()
        self.log.append(f"{at:.6f} {sender}>{receiver} {sha256(frame).hexdigest()[:16]}")
        for content in pb.Frame.FromString(frame).records.entries:
            entry = entry_from_bytes(content)
            if isinstance(entry, Record) and entry.origin == self.machines[sender].origin:
                stored = self.machines[sender].stored_order()
                if stored < entry.order:
                    self.faults.add(SENT_TOO_EARLY)
                known = self.released.setdefault((entry.origin, entry.order), entry.content())
                if known != entry.content():
                    self.faults.add(DRAWN_TWICE)


@dataclass
class _Host(InMemory):
    async def dial(self, peer: str) -> PeerSession:
        network = self.network
        assert isinstance(network, SimulatedNetwork)
        await passes(network.random.uniform(0.001, 0.05))
        if peer not in network._waiting:
            raise Parted(f"{peer} can't be reached")
        here, there = _Line(peer, network=network), _Line(self.name, network=network)
        here.other, there.other = there, here
        network.sessions.append((self.name, peer, here))
        network._waiting[peer].put_nowait(there)
        return here


@dataclass
class Machine:
    """A node's configuration, its disk, and the node while it runs."""

    network: SimulatedNetwork
    config: NodeConfig
    name: str
    origin: str
    acknowledged: int = 0
    """Samples that it said are stored."""
    node: Node | None = None
    disk: SimulatedDisk = field(init=False)

    def stored_order(self) -> tuple[int, int]:
        """The number of its newest record on its disk."""
        path = f"file:{self.config.state / FILE}?mode=ro"
        with closing(sqlite3.connect(path, uri=True)) as connection:
            found = connection.execute("SELECT content FROM entry WHERE origin = ?", [self.origin])
            row = found.fetchone()
        return (-1, -1) if row is None else entry_from_bytes(row[0]).order

    async def start(self) -> None:
        """Start the node on what its disk holds: all that it has acknowledged."""
        random = self.network.random
        self.disk = SimulatedDisk(random)
        self.node = Node(
            self.config,
            clock=SimulatedClock(),
            transport=lambda config, trust: self.network.of(self.name),
            disk=partial(Store.open, thread=self.disk),
            # Other noise than before: the same draw again would hide that it was drawn again.
            noise=SeededLaplace(random.getrandbits(32)),
            random=random,
        )
        await self.node.__aenter__()
        if self.node.status().samples.taken < self.acknowledged:
            self.network.faults.add(ACKNOWLEDGED_TOO_EARLY)

    async def crash(self) -> None:
        """Store and send nothing more; what was under way is lost."""
        assert self.node is not None
        self.disk.crashed = True
        self.network.cut()
        with suppress(ColmeError):
            await self.node.__aexit__(None, None, None)
        self.node = None

    async def feed(self, samples: list[float]) -> None:
        """Give it samples, and count those that it says are stored."""
        assert self.node is not None
        with suppress(StoreError, LocalProtocolError):
            await self.node.take(samples)
            self.acknowledged += len(samples)


async def live(network: SimulatedNetwork, ticks: int, crashes: float) -> None:
    """Feed, crash and restart the machines until they have ticked so often together."""
    random, machines = network.random, list(network.machines.values())
    done = 0
    for one in machines:
        await one.start()
    # A node that a fault has stopped ticks no more.
    while asyncio.get_running_loop().time() < ticks:
        feeding = [
            asyncio.ensure_future(one.feed([random.random()] * random.randrange(1, 12)))
            for one in machines
        ]
        await passes(random.uniform(0.0, 1.5))
        if random.random() < crashes:
            # One machine, or a power cut for all of them.
            victims = machines if random.random() < 0.2 else [random.choice(machines)]
            for victim in victims:
                assert victim.node is not None
                done += victim.node.status().round
                await victim.crash()
            await asyncio.gather(*feeding)
            await passes(random.uniform(0.0, 3.0))
            for victim in victims:
                await victim.start()
                assert victim.node is not None
                done -= victim.node.status().round
        await asyncio.gather(*feeding)
        running = sum(one.node.status().round for one in machines if one.node is not None)
        if done + running >= ticks:
            break
    for one in machines:
        assert one.node is not None
        if one.node._parts.failure.done():
            network.faults.add(STOPPED)
        await one.node.__aexit__(None, None, None)


def simulated(
    neighbours: Neighbours, seed: int, *, ticks: int, crashes: float = 0.05
) -> SimulatedNetwork:
    """Run three new nodes on a path, and return what passed between them."""
    for name in "abc":
        rmtree(neighbours.folder / name / "state", ignore_errors=True)
    network = SimulatedNetwork(random=Random(seed))
    for name, others in (("a", "b"), ("b", "ac"), ("c", "b")):
        config = neighbours.config(name, *others, pace={"interval": 1.0}, owner=False)
        machine = Machine(network, config, name, origin_in(neighbours, name))
        network.machines[name] = machine
    loop = SimulatedLoop()
    try:
        loop.run_until_complete(live(network, ticks, crashes))
    finally:
        loop.close()
    return network
