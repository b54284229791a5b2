"""How fast a node's state is stored here."""

import asyncio
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from colme.network import Network
from colme.node.state import Commit, Store, to_json
from colme.node.wire import Standing
from colme.privacy.ledger import Ledger, entry_between
from colme.protocol.events import EVERYTHING, Part
from colme.rules.release import Profile

NAMES = ("a", "b", "c", "d", "e")
PROFILE = Profile.bounded(0, 1, epsilon=1)
RELEASE_BYTES = 80
BATCH = 20


def commit_rates(folder: Path, *, commits: int = 500) -> tuple[float, float]:
    """Durable commits per second: a node's own, and SQLite's of the same bytes with nothing else.

    Both take turns in small batches, so that whatever else the disk does meets both.
    """
    return asyncio.run(_commit_rates(folder, _as_a_node(commits)))


async def _commit_rates(folder: Path, commits: Sequence[Commit]) -> tuple[float, float]:
    plain = [_as_written(commit) for commit in commits]
    ours = bare = 0.0
    with (
        closing(Store.open(folder / "ours", _network().agents[NAMES[0]].settings)) as store,
        closing(_bare(folder / "bare.sqlite")) as connection,
    ):
        for first in range(0, len(commits), BATCH):
            start = time.perf_counter()
            for commit in commits[first : first + BATCH]:
                await store.commit(commit)
            middle = time.perf_counter()
            for rows in plain[first : first + BATCH]:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("UPDATE state SET content = ? WHERE id = ?", rows)
                connection.execute("COMMIT")
            bare += time.perf_counter() - middle
            ours += middle - start
    return len(commits) / ours, len(commits) / bare


def _network() -> Network:
    return Network.of_equals(
        {name: [peer for peer in NAMES if peer != name] for name in NAMES},
        profile=PROFILE,
        noise=lambda scale: int(scale),
    )


def _as_a_node(count: int) -> list[Commit]:
    """What an agent with four neighbours stores: in turn a sample, and all that a round changes."""
    network = _network()
    agent = network.agents[NAMES[0]]
    commits: list[Commit] = []
    for number in range(1, count // 2 + 1):
        before = Ledger.of(agent)
        for place, name in enumerate(NAMES, 1):
            network.observe(name, (number * place) % 7 / 7)
        parts = {Part.STREAM} if commits else EVERYTHING
        commits.append(Commit(snapshot=agent.snapshot(parts), marks={"file": number}))
        network.run_round()
        commits.append(
            Commit(
                snapshot=agent.snapshot(),
                released=number.to_bytes(RELEASE_BYTES, "big"),
                entry=entry_between(before, Ledger.of(agent), round=number),
                told=dict.fromkeys(NAMES[1:], number),
                standings={name: Standing(epoch=1, round=number) for name in NAMES[1:]},
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
