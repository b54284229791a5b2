"""What a node costs here, as ratios to the bare parts that it is made of, measured in one run.

Four measurements in turn, so that both sides of a ratio meet the same machine: a bare gRPC echo
over the same TLS, half of it before the fleet and half after it; a fleet of nodes in rounds;
durable commits beside bare SQLite's of the same bytes; and the memory of nodes that relay.
"""

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic, process_time, sleep
from typing import Annotated, Self

import grpc
import typer
from grpc.aio import ServicerContext, UnaryUnaryMultiCallable, secure_channel, server
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from benchmarks import AsJson, show
from colme.errors import NetworkError
from colme.network import Network
from colme.node.fleet import LOOK_SECONDS, SAMPLES, START_SECONDS, Fleet, Plan, outcome, prepare
from colme.node.owner.client import OwnerClient
from colme.node.state import Commit, Store, to_json
from colme.node.trust.identity import Identity
from colme.node.trust.tls import Trust, channel_options, server_options
from colme.node.wire.codec import Standing
from colme.privacy.ledger import Ledger, entry_between
from colme.protocol.events import EVERYTHING, Part
from colme.protocol.rounds.paper import Paper
from colme.rules.release import Profile

MESSAGE_BYTES = 40
"""Of a release on the wire, the largest of the three messages."""
WARM_UP_ROUNDS = 20

ECHO_METHOD = "/colme.Echo/Echo"
ECHO_CALLS = 2000
ECHO_WARM_UP = 100

COMMITTING = ("a", "b", "c", "d", "e")
"""Agents of a network whose first one's commits are stored."""
PROFILE = Profile.bounded(0, 1, epsilon=1)
RELEASE_BYTES = 80
COMMITS_IN_TURN = 20

RELAYING = 7
"""Nodes whose memory is looked at: answers rest on others' records from six on."""
SAMPLES_EACH = 300
MEGABYTE = 1e6


def main(
    rounds: Annotated[int, typer.Option(help="Rounds of the fleet.", min=40)] = 300,
    as_json: AsJson = False,
) -> None:
    """Measure a node: a message, durable commits, a fleet's rounds per second, and memory.

    At most 1.5 is asked for of message_ratio, at least 0.5 of commit_ratio, and at most 80 MB
    resident of an idle node.
    """
    console = Console(stderr=True)
    with TemporaryDirectory(prefix="colme-bench-") as folder, console.status("") as status:
        speed = measure(Path(folder), rounds=rounds, progress=status.update)
    ratios = {"message_ratio": speed.message_ratio, "commit_ratio": speed.commit_ratio}
    show(asdict(speed) | ratios, as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """Of a process, in millions of bytes, as the system counts them."""

    resident: float
    """All pages that are in memory, those of libraries included, which it shares."""
    proportional: float
    """A page that n processes share counts as an n-th. Of a fleet: with all the others' help."""
    own: float
    """Pages of nobody else: what would be free at once if it ended."""

    @classmethod
    def of(cls, process: int) -> Self:
        """As it is now. Linux alone counts so."""
        counts: dict[str, float] = {}
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]:
            name, kibibytes, *_ = line.split()
            counts[name] = int(kibibytes) * 1024 / MEGABYTE
        return cls(
            resident=counts["Rss:"],
            proportional=counts["Pss:"],
            own=counts["Private_Clean:"] + counts["Private_Dirty:"],
        )

    @classmethod
    def median(cls, many: Sequence[Self]) -> Self:
        """Of each count by itself."""
        return cls(
            resident=median(one.resident for one in many),
            proportional=median(one.proportional for one in many),
            own=median(one.own for one in many),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpeed:
    """What a node costs here, and what the bare parts cost in the same run."""

    message_us: float
    """Processor time for a message of a fleet: both sides, rounds and commits included."""
    echo_us: float
    """The same for a bare unary call, half before the fleet and half after it."""
    commits_per_second: float
    bare_commits_per_second: float
    rounds_per_second: float
    cores_used: float
    """By the whole fleet, of those there are."""
    cores: int
    idle: Footprint
    """Of a node that relays and was never asked."""
    answered: Footprint
    """The same once it was."""

    @property
    def message_ratio(self) -> float:
        """At most 1.5 is asked for."""
        return self.message_us / self.echo_us

    @property
    def commit_ratio(self) -> float:
        """At least 0.5 is asked for."""
        return self.commits_per_second / self.bare_commits_per_second


def measure(folder: Path, *, rounds: int, progress: Callable[[str], None]) -> NodeSpeed:
    """Echo, fleet, echo, commits, memory; a few minutes at most."""
    progress("bare calls")
    echo = echo_cost(folder / "echo before", size=MESSAGE_BYTES, calls=ECHO_CALLS)
    plan = Plan(rounds=rounds, algorithm=Paper.name)  # So many messages a round.
    members = prepare(plan, folder / "fleet")
    with Fleet(members) as fleet:
        clients: list[OwnerClient] = []
        before, began = _Counts(), 0.0
        for sights in fleet.watch():
            progress(f"fleet: round {min(sight.round for sight in sights)} of {rounds}")
            if not clients and min(sight.round for sight in sights) >= WARM_UP_ROUNDS:
                clients = [OwnerClient(member.config) for member in members]
                before, began = _Counts.of(clients), monotonic()
        seconds = monotonic() - began
        after = _Counts.of(clients)
        result = outcome(sights, plan.rounds)
    progress("bare calls again")
    echo += echo_cost(folder / "echo after", size=MESSAGE_BYTES, calls=ECHO_CALLS)
    progress("commits")
    ours, bare = commit_rates(folder / "commits")
    progress("memory")
    idle, answered = footprints(folder / "idle")
    spent = after.processor_seconds - before.processor_seconds
    return NodeSpeed(
        message_us=1e6 * spent / (after.messages - before.messages),
        echo_us=1e6 * echo / 2,
        commits_per_second=ours,
        bare_commits_per_second=bare,
        rounds_per_second=result.rounds_per_second,
        cores_used=spent / seconds,
        cores=os.cpu_count() or 1,
        idle=idle,
        answered=answered,
    )


@dataclass(frozen=True, slots=True)
class _Counts:
    """Of all nodes together."""

    processor_seconds: float = 0.0
    messages: float = 0.0

    @classmethod
    def of(cls, clients: list[OwnerClient]) -> "_Counts":
        seen = [totals(client) for client in clients]
        return cls(
            sum(one["process_cpu_seconds_total"] for one in seen),
            sum(one["colme_messages_sent_total"] for one in seen),
        )


def totals(client: OwnerClient) -> dict[str, float]:
    """What a node counts; of a series with labels, the sum."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(client.get("/metrics").decode()):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found


def echo_cost(folder: Path, *, size: int, calls: int) -> float:
    """Processor seconds for a call and its answer, both sides together, a process each."""
    names = ("caller", "answerer")
    for name in names:
        Identity.create(name, folder / name, now=datetime.now(UTC))
    context = get_context("spawn")
    here, there = context.Pipe()
    answerer = context.Process(target=_answer, args=(folder, there))
    caller_here, caller_there = context.Pipe()
    caller = context.Process(target=_call, args=(folder, size, calls, caller_there))
    answerer.start()
    caller.start()
    try:
        caller_here.send(here.recv())
        caller_here.recv()  # warmed up
        here.send("begin")
        before = here.recv()
        caller_here.send("begin")
        spent_calling: float = caller_here.recv()
        here.send("end")
        spent_answering: float = here.recv() - before
    finally:
        for process in (caller, answerer):
            process.terminate()
            process.join()
    return (spent_calling + spent_answering) / calls


def _trust(folder: Path, me: str, peer: str) -> Trust:
    pins = {peer: folder / peer / "identity.crt"}
    return Trust(Identity.load(folder / me), folder / me, pins)


def _answer(folder: Path, pipe: Connection) -> None:
    async def echo(request: bytes, _context: ServicerContext[bytes, bytes]) -> bytes:
        return request

    async def serve() -> None:
        handler: grpc.RpcMethodHandler[bytes, bytes]
        handler = grpc.unary_unary_rpc_method_handler(echo)
        answerer = server(options=server_options())
        answerer.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("colme.Echo", {"Echo": handler}),)
        )
        trust = _trust(folder, "answerer", "caller")
        credentials = trust.server_credentials(lambda: None)
        port = answerer.add_secure_port("127.0.0.1:0", credentials)
        await answerer.start()
        pipe.send(port)
        while True:
            await asyncio.to_thread(pipe.recv)
            pipe.send(process_time())

    asyncio.run(serve())


def _call(folder: Path, size: int, calls: int, pipe: Connection) -> None:
    async def call(port: int) -> None:
        credentials = _trust(folder, "caller", "answerer").channel_credentials("answerer")
        message = bytes(size)
        async with secure_channel(f"127.0.0.1:{port}", credentials, channel_options()) as channel:
            echo: UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(ECHO_METHOD)
            for _ in range(ECHO_WARM_UP):
                await echo(message, timeout=10)
            pipe.send("ready")
            pipe.recv()
            before = process_time()
            for _ in range(calls):
                await echo(message, timeout=10)
            pipe.send(process_time() - before)

    asyncio.run(call(pipe.recv()))


def commit_rates(folder: Path, *, commits: int = 500) -> tuple[float, float]:
    """Durable commits per second: a node's own, and SQLite's of the same bytes with nothing else.

    Both take turns in small batches, so that whatever else the disk does meets both.
    """
    return asyncio.run(_commit_rates(folder, _as_a_node(commits)))


async def _commit_rates(folder: Path, commits: Sequence[Commit]) -> tuple[float, float]:
    plain = [_as_written(commit) for commit in commits]
    ours = bare = 0.0
    with (
        closing(Store.open(folder / "ours", _network().agents[COMMITTING[0]].settings)) as store,
        closing(_bare(folder / "bare.sqlite")) as connection,
    ):
        for first in range(0, len(commits), COMMITS_IN_TURN):
            start = time.perf_counter()
            for commit in commits[first : first + COMMITS_IN_TURN]:
                await store.commit(commit)
            middle = time.perf_counter()
            for rows in plain[first : first + COMMITS_IN_TURN]:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("UPDATE state SET content = ? WHERE id = ?", rows)
                connection.execute("COMMIT")
            bare += time.perf_counter() - middle
            ours += middle - start
    return len(commits) / ours, len(commits) / bare


def _network() -> Network:
    return Network.of_equals(
        {name: [peer for peer in COMMITTING if peer != name] for name in COMMITTING},
        profile=PROFILE,
        noise=lambda scale: int(scale),
    )


def _as_a_node(count: int) -> list[Commit]:
    """What an agent with four neighbours stores: in turn a sample, and all that a round changes."""
    network = _network()
    agent = network.agents[COMMITTING[0]]
    commits: list[Commit] = []
    for number in range(1, count // 2 + 1):
        before = Ledger.of(agent)
        for place, name in enumerate(COMMITTING, 1):
            network.observe(name, (number * place) % 7 / 7)
        parts = {Part.STREAM} if commits else EVERYTHING
        commits.append(Commit(snapshot=agent.snapshot(parts), marks={"file": number}))
        network.run_round()
        commits.append(
            Commit(
                snapshot=agent.snapshot(),
                released=number.to_bytes(RELEASE_BYTES, "big"),
                entry=entry_between(before, Ledger.of(agent), round=number),
                told=dict.fromkeys(COMMITTING[1:], number),
                standings={name: Standing(epoch=1, round=number) for name in COMMITTING[1:]},
            )
        )
    return commits


def _as_written(commit: Commit) -> list[tuple[str | bytes, int]]:
    """The same bytes, by the place of their row."""
    rest = {
        "told": dict(commit.told),
        "standings": {name: asdict(one) for name, one in commit.standings.items()},
        "marks": dict(commit.marks),
        "entry": commit.entry and asdict(commit.entry),
    }
    rows: dict[int, str | bytes | None] = {
        place: to_json(commit.snapshot[part])
        for place, part in enumerate(Part)
        if part in commit.snapshot
    }
    rows |= {len(Part): commit.released, len(Part) + 1: to_json(rest)}
    return [(content, place) for place, content in rows.items() if content is not None]


def _bare(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE state (id INTEGER PRIMARY KEY, content)")
    places = [(place,) for place in range(len(Part) + 2)]
    connection.executemany("INSERT INTO state (id) VALUES (?)", places)
    return connection


def footprints(folder: Path) -> tuple[Footprint, Footprint]:
    """Of a node that relays, which has drawn noise and holds everybody's release: before its owner
    has ever asked, and after that. The median of a fleet whose samples come from files.
    """
    members = prepare(Plan(agents=RELAYING, from_files=True), folder)
    with Fleet(members) as fleet:
        # None is there when the nodes start, so that every line is a new one.
        _until(fleet, records=0)
        for number, member in enumerate(members):
            draws = Random(number)
            lines = (f"{draws.gauss(member.truth, 0.1)}\n" for _ in range(SAMPLES_EACH))
            (member.folder / SAMPLES).write_text("".join(lines))
        _until(fleet, records=RELAYING)
        idle = _look(fleet)
        for member in members:
            OwnerClient(member.config).estimate()
        return idle, _look(fleet)


def _look(fleet: Fleet) -> Footprint:
    return Footprint.median([Footprint.of(fleet.process(one).pid) for one in fleet.members])


def _until(fleet: Fleet, *, records: int) -> None:
    """All nodes are connected, and hold so many records and no others."""
    began = monotonic()
    while True:
        seen = [sight.status for sight in fleet.look()]
        well = all(one and not one.troubles and one.records == records for one in seen)
        if well and len({one.board for one in seen if one}) == 1:
            return
        if monotonic() - began > START_SECONDS:
            held = [one and one.records for one in seen]
            expected = f"{records} at each, and no troubles"
            raise NetworkError("records", f"{held} after {START_SECONDS:g} s", expected)
        sleep(LOOK_SECONDS)
