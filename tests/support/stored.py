"""Real commits of a real agent, for tests of what is stored."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from colme.node.state import Commit, Store
from colme.node.wire.codec import Standing, encode
from colme.privacy.ledger import Ledger, entry_between
from colme.protocol.agent import Agent
from colme.protocol.events import EVERYTHING, Begin, Deadline, Part
from colme.protocol.messages import ReleaseMessage
from colme.protocol.rounds.paper import Paper
from colme.protocol.rounds.state import Phase
from colme.protocol.settings import Settings
from colme.rules.release import Profile

PROFILE = Profile.bounded(0, 1, epsilon=1)
SETTINGS = Settings(name="me", neighbours=(), profile=PROFILE, algorithm=Paper())


def rounds() -> Iterator[Commit]:
    """One sample a round, noised by itself, as agent `me` would store it; for ever."""
    agent = Agent(SETTINGS)
    while True:
        before, number = Ledger.of(agent), agent.round + 1
        agent.observe(0.26)
        agent.step(Begin(number, (3,)))
        yield Commit(
            snapshot=agent.snapshot(),
            released=encode(ReleaseMessage(round=number, release=agent.release)),
            entry=entry_between(before, Ledger.of(agent), round=number),
            standings={"b": Standing(epoch=1, round=number)},
            marks={"file": 10 * number},
        )


def life(agent: Agent, *, begun: bool) -> Iterator[Commit]:
    """What a node stores of this agent from now on: in turn samples, and a round with all of it.

    `begun`: whether anything is stored of it already. Each round releases something.
    """
    while True:
        before, number = Ledger.of(agent), agent.round + 1
        for _ in range(60):
            agent.observe(0.26)
        parts, begun = {Part.STREAM} if begun else EVERYTHING, True
        yield Commit(snapshot=agent.snapshot(parts), marks={"file": 10 * number})
        while agent.phase is not Phase.IDLE:
            agent.step(Deadline())
        agent.step(Begin(number, (3,) * len(agent.draws_due)))
        entry = entry_between(before, Ledger.of(agent), round=number)
        assert entry is not None
        yield Commit(
            snapshot=agent.snapshot(),
            released=encode(ReleaseMessage(round=number, release=agent.release)),
            entry=entry,
            told={"b": number},
            standings={"b": Standing(epoch=9, round=number)},
        )


def content(store: Store) -> dict[str, Any]:
    """All that a store says is stored."""
    names = ("snapshot", "released", "told", "standings", "marks", "covered", "releases", "floor")
    return {name: getattr(store, name) for name in names}


def opened(folder: Path, **changes: Any) -> Store:
    """The store of agent `me`, or of one whose settings differ."""
    return Store.open(folder, replace(SETTINGS, **changes))


def commit(store: Store, *commits: Commit) -> None:
    """Store them one after another."""

    async def one_after_another() -> None:
        for one in commits:
            await store.commit(one)

    asyncio.run(one_after_another())
