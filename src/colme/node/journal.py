"""Writes down an agent's state: first stored, then sent, then acknowledged.

What comes while a commit runs shares the next one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from colme.errors import SampleError, StoreError
from colme.node.clock import Clock
from colme.node.contact import Contacts
from colme.node.metrics import Metrics
from colme.node.state import Commit, Kept, RequestId, Store
from colme.node.wire.codec import encode
from colme.privacy.ledger import Ledger, entry_between
from colme.protocol.agent import Agent
from colme.protocol.board.record import Entry
from colme.protocol.events import EVERYTHING, Effects, Part
from colme.protocol.messages import Message, ReleaseMessage


@dataclass(slots=True)
class _Pending:
    """What one transaction stores, and what is done once it is durable."""

    persist: frozenset[Part] = frozenset()
    """The parts of the agent that have changed since the last transaction began."""
    send: list[tuple[str, Message]] = field(default_factory=list)
    stored: list["asyncio.Future[None]"] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)
    requests: list[RequestId] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not (self.persist or self.send or self.stored)


class Journal:
    """The one place where an agent's state is stored and its messages are let go.

    Entries of other publishers are stored before they are passed on, too: a power cut everywhere
    must not make all forget how far somebody had come, or its state could be put back to an older
    one unnoticed.
    """

    def __init__(
        self,
        store: Store,
        peers: Contacts,
        *,
        clock: Clock,
        post: Callable[[str, Message], None],
        metrics: Metrics,
        marks: Mapping[str, int],
    ) -> None:
        self._store = store
        self._peers = peers
        self._clock = clock
        self._post = post
        self._metrics = metrics
        self._marks = marks
        self._pending = _Pending()
        self._work = asyncio.Event()
        self._under_way: dict[str, tuple[bytes, asyncio.Future[None]]] = {}
        """Requests whose samples are not stored yet, by key: a retry waits for the same commit."""
        self._committing = False
        self._closed: StoreError | None = None

    def open(self, agent: Agent, arrivals: Mapping[str, float]) -> None:
        """From now on it is this agent, which is as it is stored.

        `arrivals`: when each entry of its exchange came, now and later.
        """
        self._agent, self._arrivals = agent, arrivals
        self._ledger = Ledger.of(agent)
        there = self._store.entries
        self._on_disk = {
            origin: one for origin, one in agent.exchange.entries.items() if origin in there
        }
        self.round = agent.round
        """The last round that is stored: nothing of a later one has been sent."""
        self.drop(StoreError("state", "read anew from the disk", "to be asked again"))

    def sent(self, peer: str) -> int:
        """The last round of which a neighbour may have been sent anything."""
        return max(self._store.told.get(peer, 0), self._store.floor)

    def apply(self, effects: Effects) -> None:
        """Send at once if nothing has to be stored or sent before; else once it is."""
        if not effects.persist and not self._committing and self._pending.empty:
            for peer, message in effects.send:
                self._post(peer, message)
            return
        self._pending.persist |= effects.persist
        self._pending.send += effects.send
        self._work.set()

    def store(
        self,
        marks: Mapping[str, int] | None = None,
        parts: frozenset[Part] = frozenset(),
        request: RequestId | None = None,
    ) -> "asyncio.Future[None]":
        """Store these parts of the agent with all that waits; the result is there once done."""
        if self._closed is not None:
            raise StoreError(*self._closed.args)
        stored = asyncio.get_running_loop().create_future()
        stored.add_done_callback(_noted)
        self._pending.stored.append(stored)
        self._pending.marks |= marks or {}
        if request is not None:
            self._pending.requests.append(request)
            self._under_way[request.key] = request.digest, stored
            stored.add_done_callback(lambda _: self._under_way.pop(request.key))
        self.apply(Effects(persist=parts))
        return stored

    def seen(self, request: RequestId) -> "asyncio.Future[None] | None":
        """When the samples of a request that came before are stored; None if it is a new one."""
        digest, stored = self._under_way.get(request.key, (None, None))
        if stored is None and (digest := self._store.requests.get(request.key)) is not None:
            stored = asyncio.get_running_loop().create_future()
            stored.set_result(None)
        if digest not in (None, request.digest):
            expected = "a key of its own for each request, and the same body for a retry"
            raise SampleError("Idempotency-Key", "the key of another body", expected)
        return stored

    async def flush(self) -> None:
        """Return once all that is here is stored, or can't be.

        Also how far neighbours had come, and what has come since the last tick: else a state of
        theirs could be put back to an older one unnoticed.
        """
        is_behind = not all(peer.standing_is_stored for peer in self._peers.values())
        parts = EVERYTHING if self._news() else frozenset[Part]()
        waits = self._committing or is_behind or bool(parts) or not self._pending.empty
        if self._closed is None and waits:
            await asyncio.wait({self.store(parts=parts)})

    def drop(self, error: StoreError) -> None:
        """Nothing of what is waiting will be stored."""
        pending, self._pending = self._pending, _Pending()
        _tell(pending, error)

    async def run(self, recover: Callable[[StoreError], Awaitable[None]]) -> None:
        """Until cancelled; `recover` is awaited if a commit fails."""
        while True:
            await self._work.wait()
            # The end of a round and the begin of the next are one commit if both are here.
            await asyncio.sleep(0)
            self._work.clear()
            pending, self._pending = self._pending, _Pending()
            self._committing = True
            try:
                await self._commit(pending)
            except StoreError as error:
                _tell(pending, error)
                await recover(error)
            except BaseException:
                # Cancelled, or beyond repair: nobody is to wait for what will not be stored.
                self._closed = StoreError("state", "a node that has ended", "one that runs")
                _tell(pending, self._closed)
                self.drop(self._closed)
                raise
            finally:
                self._committing = False

    def _news(self) -> Mapping[str, Entry]:
        """Return the entries that no commit has taken yet, in the order of their publishers."""
        now = self._agent.exchange.entries
        return {
            origin: now[origin]
            for origin in self._agent.exchange.via
            if origin in now and self._on_disk.get(origin) is not now[origin]
        }

    def _entries(self) -> dict[str, Any]:
        """Return what has changed of the entries, which have rows of their own.

        To write all of them for each that is new would be much.
        """
        exchange, now, news = self._agent.exchange, self._agent.exchange.entries, self._news()
        now_at, at, via = self._clock.wall(), self._arrivals, exchange.via
        self._on_disk = dict(now)
        released_more = len(exchange.fingerprints) > len(self._store.fingerprints)
        return {
            "entries": {
                origin: Kept(content=one.to_bytes(), via=via.get(origin), at=at.get(origin, now_at))
                for origin, one in news.items()
            },
            # Those that were stored and are not held any more, were it by an earlier start.
            "dropped": [origin for origin in self._store.entries if origin not in now],
            "fingerprints": dict(exchange.fingerprints) if released_more else {},
        }

    async def _commit(self, pending: _Pending) -> None:
        if pending.persist or pending.stored:
            sent = self._agent.exchange.announced_round
            # A part alone is no state yet where there is none.
            parts = EVERYTHING if self._store.snapshot is None else pending.persist
            # No await from here to the commit: ledger entry, snapshot and bytes are of one moment,
            # or what was noised meanwhile would be stored as released, and not be listed.
            ledger, number = Ledger.of(self._agent), self._agent.round
            news = [peer for peer in self._peers.values() if not peer.standing_is_stored]
            commit = Commit(
                snapshot=self._agent.snapshot(parts, entries=False),
                **(self._entries() if Part.EXCHANGE in parts else {}),
                released=_release_in(pending.send),
                entry=entry_between(self._ledger, ledger, round=number),
                told={name: sent for name, one in self._peers.items() if one.is_audience},
                standings={peer.name: peer.standing for peer in news},
                marks={**self._marks, **pending.marks},
                requests=pending.requests,
            )
            for peer in news:
                peer.standing_is_stored = True  # Unless the commit fails, or more comes meanwhile.
            began = self._clock.monotonic()
            try:
                await self._store.commit(commit)
            except StoreError:
                for peer in news:
                    peer.standing_is_stored = False
                raise
            self._metrics.committed(self._clock.monotonic() - began)
            self._ledger, self.round = ledger, number
        for name, message in pending.send:
            self._post(name, message)
        for stored in pending.stored:
            if not stored.done():
                stored.set_result(None)


def _release_in(sending: Sequence[tuple[str, Message]]) -> bytes | None:
    """Return the release of a round that is about to be sent, as sent."""
    found = [message for _, message in sending if isinstance(message, ReleaseMessage)]
    return encode(found[-1]) if found else None


def _noted(stored: "asyncio.Future[None]") -> None:
    """Whoever feeds a sample without waiting for the disk need not hear of its failure."""
    if not stored.cancelled():
        stored.exception()


def _tell(pending: _Pending, error: StoreError) -> None:
    for stored in pending.stored:
        if not stored.done():
            stored.set_exception(error)
