"""Records that anybody may have written, and agents that do nothing but exchange boards."""

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

from colme.errors import LocalProtocolError
from colme.protocol.board.board import LAST_ORIGIN, Page
from colme.protocol.board.identity import BoardIdentity, InProcess
from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.board.record import Entry, Foreign, Record
from colme.protocol.events import Begin, Effects, Estimate, Received, Returned
from colme.protocol.relay import BoardAlgorithm, BoardExchange, BoardState, Evidence
from colme.rules.release import Profile

PROFILE = Profile.bounded(0, 1, epsilon=1, sigma2=0.1)


def written(
    identity: BoardIdentity | str,
    *,
    incarnation: int = 0,
    sequence: int = 1,
    mean: float = 0.5,
    **others: Any,
) -> Record:
    """A record of somebody's, signed."""
    by = InProcess(identity) if isinstance(identity, str) else identity
    facts: dict[str, Any] = {
        "count": 8 * sequence,
        "epsilon": 1.0,
        "bounds": (0.0, 1.0),
        "variance": 0.1,
        "square": None,
    }
    record = Record(
        key=by.key,
        incarnation=incarnation,
        sequence=sequence,
        mean=mean,
        signature=bytes(64),
        **(facts | others),
    )
    return replace(record, signature=by.sign(record.content()))


def foreign(name: str = "a", **fields: Any) -> Foreign:
    """What a later version may write."""
    who = InProcess(name)
    made = Foreign(
        **{
            "version": 2,
            "key": who.key,
            "incarnation": 0,
            "sequence": 7,
            "body": b"something else",
            "signature": bytes(64),
            **fields,
        }
    )
    return replace(made, signature=who.sign(made.content()))


def contents(entries: Iterable[Entry]) -> dict[str, bytes]:
    """What a board says, whoever's signatures it holds."""
    return {entry.origin: entry.content() for entry in entries}


@dataclass
class Releases:
    """Stands in for an agent's own data: each block that is due gets its mean from the noise."""

    profile: Profile = PROFILE
    squares: bool = False
    due: int = 0
    released: float = 0.0
    mean: float = 0.0
    stream: Any = field(default_factory=lambda: SimpleNamespace(incarnation=0, blocks=0))
    believed_variance: float = 0.1

    @property
    def draws_due(self) -> tuple[float, ...]:
        return (1.0,) * self.due

    def publish(self, noise: tuple[int, ...]) -> None:
        if len(noise) != self.due:
            raise LocalProtocolError("noise", len(noise), f"{self.due}")
        self.stream.blocks += self.due
        self.due = 0
        if noise:
            self.released = noise[-1] / 100

    def weighed(self) -> Any:
        if self.stream.blocks == 0:
            return None
        return SimpleNamespace(
            incarnation=self.stream.incarnation,
            blocks=self.stream.blocks,
            count=8 * self.stream.blocks,
            past_count=0,
            past_draws=0,
            mean=self.released,
            variance=self.profile.sigma2,
            square=None,
        )


class Answers:
    """An algorithm that keeps what it was asked about, and counts."""

    def answer(self, evidence: Evidence, warm: object) -> tuple[Estimate, object]:
        self.evidence, self.warm = evidence, warm
        estimate = Estimate(
            round=evidence.round,
            value=evidence.own_mean,
            low=evidence.own_mean - 0.25,
            high=evidence.own_mean + 0.25,
            alone=evidence.own_mean,
            class_size=1,
            trust=0.0,
        )
        return estimate, 1 if warm is None else 2


def exchange(
    name: str,
    neighbours: Iterable[str],
    *,
    own: Releases | None = None,
    identity: BoardIdentity | None = None,
    algorithm: Answers | None = None,
    **options: Any,
) -> BoardExchange:
    """The exchange of one agent, by default in one process with all others."""
    return BoardExchange(
        cast(BoardAlgorithm, algorithm or Answers()),
        cast(Any, own or Releases()),
        tuple(neighbours),
        identity or InProcess(name),
        **options,
    )


def heard(peer: str, message: Any) -> Received:
    """An event that brings a message."""
    return Received(peer, message)


def own_of(me: BoardExchange) -> Releases:
    """What stands in for its own data."""
    return cast(Releases, me._own)


def record_of(me: BoardExchange) -> Record:
    """My newest record."""
    mine = me.board.get(me.origin)
    assert isinstance(mine, Record)
    return mine


def released(me: BoardExchange, number: int, draw: int) -> Record:
    """My record after one block more."""
    own_of(me).due = 1
    me.step(Begin(number, (draw,)))
    return record_of(me)


def sent_records(effects: Effects) -> dict[str, tuple[Entry, ...]]:
    """To whom which entries go."""
    return {
        peer: message.entries
        for peer, message in effects.send
        if isinstance(message, RecordsMessage)
    }


def through_json(state: BoardState) -> BoardState:
    """As a store gives it back."""
    return BoardState(**json.loads(json.dumps(asdict(state), allow_nan=False)))


NOTHING_HELD = DigestMessage(page=Page(after="", last=LAST_ORIGIN, heads=()), answer=True)
"""The answer of somebody whose board is empty: a restored agent may go on."""


Flight = tuple[str, str, Any]
"""A message on its way: who sent it, to whom, and what it says."""


class World:
    """Agents on a graph, with messages that a test may lose, repeat and bring out of order."""

    def __init__(self, graph: Mapping[str, Iterable[str]], **options: Any) -> None:
        self.agents = {name: exchange(name, peers, **options) for name, peers in graph.items()}
        self.edges = [(name, peer) for name, peers in graph.items() for peer in peers]
        self.in_flight: deque[Flight] = deque()
        self.round = 0
        self.sent: list[Any] = []

    def tick(self, name: str, noise: tuple[int, ...] = ()) -> Effects:
        """One agent's tick; each draw is a block."""
        self.round += 1
        own_of(self.agents[name]).due = len(noise)
        effects = self.agents[name].step(Begin(self.round, noise))
        for receiver, message in effects.send:
            self.sent.append(message)
            self.in_flight.append((name, receiver, message))
        return effects

    def deliver(self, flight: Flight) -> None:
        """Bring one message, which may have been brought before."""
        sender, receiver, message = flight
        self.agents[receiver].step(heard(sender, message))

    def reconnect(self) -> None:
        """All that was on its way is lost, and everybody finds everybody back."""
        self.in_flight.clear()
        for name, peer in self.edges:
            self.agents[name].step(Returned(peer))

    def until_quiet(self, ticks: int) -> int:
        """Tick, and deliver everything, until nobody has more to say; how many ticks that took."""
        for passed in range(ticks):
            for name in self.agents:
                self.tick(name)
            waiting = any(agent.has_more for agent in self.agents.values())
            if not self.in_flight and not waiting:
                return passed
            while self.in_flight:
                self.deliver(self.in_flight.popleft())
        raise AssertionError(f"still talking after {ticks} ticks")

    def settled(self) -> list[dict[str, bytes]]:
        """What each agent's board says once all are connected again and nothing is sent any more.

        That takes a digest, its answer and the records, and then one hop at a time; twice where a
        proof changes.
        """
        self.reconnect()
        self.until_quiet(2 * len(self.agents) + 4)
        return [contents(agent.board) for agent in self.agents.values()]
