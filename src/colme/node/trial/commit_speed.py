"""How fast a node's state is stored here."""

import asyncio
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from colme.node.state import Commit, Store, to_json
from colme.node.wire import Standing
from colme.privacy.ledger import Ledger, entry_between
from colme.protocol.network import Network
from colme.rules.release import Profile

NAMES = ("a", "b", "c", "d", "e")
PROFILE = Profile.bounded(0, 1, epsilon=1)
RELEASE_BYTES = 80
BATCH = 20


def commit_rates(folder: Path, *, commits: int = 500) -> tuple[float, float]:
    """Durable commits per second: a node's own, and SQLite's of the same bytes with nothing else.

    Both take turns in small batches, so that whatever else the disk does meets both.
    """
    return asyncio.run(_commit_rates(folder, _rounds(commits)))


async def _commit_rates(folder: Path, commits: Sequence[Commit]) -> tuple[float, float]:
    plain = [_as_written(commit) for commit in commits]
    ours = bare = 0.0
    with (
        closing(Store.open(folder / "ours", name=NAMES[0], profile=PROFILE)) as store,
        closing(_bare(folder / "bare.sqlite")) as connection,
    ):
        for first in range(0, len(commits), BATCH):
            start = time.perf_counter()
            for commit in commits[first : first + BATCH]:
                await store.commit(commit)
            middle = time.perf_counter()
            for row in plain[first : first + BATCH]:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("UPDATE state SET snapshot = ?, released = ?, rest = ?", row)
                connection.execute("COMMIT")
            bare += time.perf_counter() - middle
            ours += middle - start
    return len(commits) / ours, len(commits) / bare


def _rounds(count: int) -> list[Commit]:
    """What an agent with four neighbours stores in so many rounds."""
    network = Network.of_equals(
        {name: [peer for peer in NAMES if peer != name] for name in NAMES},
        profile=PROFILE,
        noise=lambda scale: int(scale),
    )
    agent = network.agents[NAMES[0]]
    commits = []
    for number in range(1, count + 1):
        before = Ledger.of(agent)
        network.run_round({name: (number * place) % 7 / 7 for place, name in enumerate(NAMES, 1)})
        commits.append(
            Commit(
                snapshot=agent.snapshot(),
                released=number.to_bytes(RELEASE_BYTES, "big"),
                entry=entry_between(before, Ledger.of(agent), round=number),
                standings={name: Standing(epoch=1, round=number) for name in NAMES[1:]},
                marks={"file": number},
            )
        )
    return commits


def _as_written(commit: Commit) -> tuple[str, bytes | None, str]:
    rest = {
        "standings": {name: asdict(one) for name, one in commit.standings.items()},
        "marks": dict(commit.marks),
        "entry": commit.entry and asdict(commit.entry),
    }
    return to_json(commit.snapshot), commit.released, to_json(rest)


def _bare(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE state (snapshot TEXT, released BLOB, rest TEXT)")
    connection.execute("INSERT INTO state DEFAULT VALUES")
    return connection
