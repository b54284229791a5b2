"""Drives one agent's board: what comes is checked and merged, what is news is stored and passed on.

It ticks when there is news, at most once an interval. Nobody waits.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import median_low
from time import time
from typing import Any

from colme.errors import MessageError, RemoteProtocolError, StaleStateError
from colme.network import NoiseSource
from colme.node.contact import Contact, Contacts
from colme.node.driving import AgentDriver, Journal
from colme.node.metrics import Metrics
from colme.node.state import Kept, Store, newest_instead
from colme.node.wire.codec import Reason, Refused, Standing
from colme.protocol.agent import Agent
from colme.protocol.board.board import PAGE
from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.board.record import Entry, Proof, Record, origin_of_key, statements
from colme.protocol.events import Part, Received, Returned
from colme.protocol.messages import Message, RoundMessage
from colme.protocol.settings import Settings

NOISE_DEVIATIONS = 40.0
"""Standard deviations of one sample's noise beyond the bounds: no released mean is ever there, as
noise of several blocks is less (chance: below 1e-20)."""


class Speakers:
    """Who may speak on a board: those vouched for along pinned edges, or those on a roster.

    An origin counts against the neighbour that brought it first. So whoever invents agents can
    invent no more than the bound of one edge, and is known by what it vouched for.
    """

    def __init__(
        self,
        *,
        behind: int,
        roster: Collection[str] | None,
        known: Collection[str],
    ) -> None:
        self._behind = behind
        self._roster = None if roster is None else frozenset(roster)
        self._known = frozenset(known)
        """Mine, and my neighbours' own: their certificates vouch for them."""

    def needs_a_voucher(self, origin: str) -> bool:
        """Whether it counts against whoever brings it."""
        return origin not in self._known

    def require_allowed(self, peer: Contact, entry: Entry, brings: Collection[str]) -> None:
        """Raise Refused for what must not get on the board.

        `brings`: the origins of its message that are new here, up to this one.
        """
        origin = entry.origin
        if not self.needs_a_voucher(origin):
            return
        if self._roster is not None and origin not in self._roster:
            expected = "an origin on my roster"
            raise Refused(Reason.UNKNOWN_ORIGIN, peer.name, "origin", origin, expected)
        vouched = len(peer.vouched_for) + len(brings)
        if self._roster is None and origin in brings and vouched > self._behind:
            seen = f"{origin}, one more than {self._behind}"
            expected = f"at most {self._behind} origins that came through it (origins.behind)"
            raise Refused(Reason.TOO_MANY_ORIGINS, peer.name, "origin", seen, expected)


def require_honest_mean(peer: Contact, entry: Entry) -> None:
    """Raise Refused for a mean that no honest author releases, by what it says of itself."""
    if not isinstance(entry, Record):
        return
    profile = entry.profile
    far = profile.half_range + NOISE_DEVIATIONS * profile.sigma2_dp**0.5
    if not abs(entry.mean - profile.midpoint) <= far:
        expected = f"within {far:g} of {profile.midpoint:g}, as its epsilon and bounds allow"
        raise Refused(Reason.INVALID_VALUE, peer.name, "mean", entry.mean, expected)


class BoardsJournal(Journal):
    """First stored, then sent; of the board only what has changed is written.

    Whatever is passed on is stored first: a power cut everywhere must not make all forget how
    far somebody had come, or its state could be put back to an older one unnoticed.
    """

    def __init__(
        self,
        store: Store,
        peers: Contacts,
        *,
        kept: Callable[[Entry], Kept],
        post: Callable[[str, Message], None],
        metrics: Metrics,
        marks: Mapping[str, int],
    ) -> None:
        super().__init__(store, peers, post=post, metrics=metrics, marks=marks)
        self._kept = kept
        self._on_disk: dict[str, Entry] = {}

    def open(self, agent: Agent) -> None:
        """From now on it is this agent, which is as it is stored."""
        super().open(agent)
        there = self._store.entries
        self._on_disk = {one.origin: one for one in agent.boards.board if one.origin in there}

    def _written(
        self, parts: frozenset[Part], send: Sequence[tuple[str, Message]]
    ) -> dict[str, Any]:
        snapshot = self._agent.snapshot(parts - {Part.EXCHANGE})
        if Part.EXCHANGE not in parts:
            return {"snapshot": snapshot}
        boards = self._agent.boards
        # Its entries are rows of their own: to write them all for each that is new would be much.
        snapshot[Part.EXCHANGE] = {"round": boards.round}
        now = {one.origin: one for one in boards.board}
        news = {origin: one for origin, one in now.items() if self._on_disk.get(origin) is not one}
        # Those that were stored and are not held any more, were it by an earlier start.
        dropped = [origin for origin in self._store.entries if origin not in now]
        self._on_disk = now
        mine = news.get(boards.origin)
        return {
            "snapshot": snapshot,
            "entries": {origin: self._kept(one) for origin, one in news.items()},
            "dropped": dropped,
            "released": None if mine is None else mine.to_bytes(),
        }


MOST_BOARDS = 4
"""Digests of a whole board that a neighbour may send between two ticks: one is usual, an answer
and a reconnect make three."""
FEW = 6
"""Records that say nothing of what is usual."""
UNUSUAL = 1000
"""Times the usual count: nobody has so many more samples."""


class BoardsDriver(AgentDriver):
    """What is due, heard or asked for makes it tick; where there is nothing to say, nothing is."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        peers: Contacts,
        *,
        noise: NoiseSource,
        supply: Callable[[int], Sequence[float]] | None,
        post: Callable[[str, Message], None],
        interval: float,
        last_tick: int | None,
        speakers: Speakers,
        state_lost: bool,
        metrics: Metrics,
        fail: Callable[[BaseException], None],
        marks: Mapping[str, int] | None = None,
    ) -> None:
        self._identity = settings.signs_as
        self._origin = origin_of_key(self._identity.key)
        self._interval = interval
        self._last_tick = last_tick
        self._is_trial = supply is not None
        self._speakers = speakers
        self._is_lost = state_lost
        self._lost_incarnation = -1
        self._timer: asyncio.TimerHandle | None = None
        self._ticked_at = -interval
        self._restores = self._news = 0
        self._usual_count: int | None = None
        self._arrivals: dict[str, tuple[str | None, float]] = {}
        self._brought_by: dict[str, str] = {}
        """Who has brought what is held of an origin, as far as it came since the start."""
        super().__init__(
            settings,
            store,
            peers,
            noise=noise,
            supply=lambda tick: self._supplied(supply, tick),
            journal=BoardsJournal(
                store, peers, kept=self._kept, post=post, metrics=metrics, marks=marks or {}
            ),
            metrics=metrics,
            fail=fail,
        )

    @property
    def version(self) -> object:
        """Another one whenever an answer may be another."""
        counts = self.agent.counts
        return self._restores, counts.taken, counts.blocks, self._news

    @property
    def arrivals(self) -> Mapping[str, float]:
        """When what is held of each origin came here, in seconds since 1970."""
        return {origin: at for origin, (_, at) in self._arrivals.items()}

    def start(self, heard: int) -> None:
        """Begin to release and to pass on."""
        if not self._stopped:
            self._running = True
            self._tick_soon()

    def observe(
        self, samples: Sequence[float], marks: Mapping[str, int] | None = None
    ) -> "asyncio.Future[None]":
        """Take samples in; a block that they close is released at the next tick."""
        stored = super().observe(samples, marks)
        if self.agent.draws_due:
            self._tick_soon()
        return stored

    def receive(self, peer: str, message: Message) -> None:
        """Take what may be taken of a neighbour's message, and raise Refused for the rest."""
        if isinstance(message, RoundMessage):
            seen, expected = type(message).__name__, "one about boards"
            raise Refused(Reason.OTHER_CONFIGURATION, peer, "message", seen, expected)
        if self._disk is not None:
            return
        sender = self._peers[peer]
        if isinstance(message, DigestMessage):
            self._require_end(sender)
            self._take(sender, message)
            return
        refusals = self._take_entries(sender, message.entries)
        for refusal in refusals[1:]:
            self._metrics.message_refused(peer, refusal.reason)
        if refusals:
            raise refusals[0]

    def returned(self, peer: str, standing: Standing) -> None:
        """A neighbour said hello: what it lacks its digest will tell."""

    def unsaid(self, peer: str) -> None:
        """It reads too slowly for all that there is to say: a digest finds out what it lacks."""
        self.agent.step(Returned(peer))
        self._tick_soon()

    async def welcomed(self, peer: str) -> None:
        """A neighbour let me in: a digest finds out who lacks what."""
        self._require_disk()
        self.agent.step(Returned(peer))
        self._tick_soon()

    async def begin_anew(self) -> None:
        """In an incarnation above all that neighbours know of, and above those that they do not.

        Seconds since 1970 are above any that began so before.
        """
        number = max(self._lost_incarnation + 1, int(time()))
        await self._store.begin_incarnation(number)
        self._is_lost = False
        self._restore()

    def held_of(self, peer: str) -> Entry | None:
        """The newest of a neighbour's own that has come here, by whichever way."""
        origin = self._identity.origin_of(peer)
        return None if origin is None else self.agent.boards.board.get(origin)

    def compare(self, peer: str, yours: Entry) -> None:
        """What a neighbour holds of mine, before anything is said to it."""
        self._require_disk()
        if yours.origin != self._origin:
            raise MessageError("yours", f"an entry of {yours.origin}", f"one of {self._origin}")
        if self._is_lost:
            for said in statements(yours):
                if not self._identity.verify(said.key, said.content(), said.signature):
                    raise MessageError("yours", "a bad signature", "my own")
            self._lost_incarnation = max(self._lost_incarnation, yours.order[0])
            return
        try:
            self._take(self._peers[peer], RecordsMessage((yours,)))
        except Refused as error:
            raise MessageError("yours", error.seen, error.expected) from error
        self._require_newest_state()

    def _require_newest_state(self) -> None:
        try:
            self.agent.boards.require_newest_state()
        except StaleStateError as error:
            remedy = newest_instead(self._store.folder)
            raise StaleStateError(error.field, error.seen, remedy) from None

    def _require_end(self, sender: Contact) -> None:
        """A board has so many pages, and no more: each costs a look at all that I hold."""
        sender.pages += 1
        boards = self.agent.boards
        most = MOST_BOARDS * (max(boards.capacity, len(boards.board)) // PAGE + 2)
        if sender.pages > most:
            expected = f"at most {most} before I have answered"
            seen = f"page {sender.pages}"
            raise Refused(Reason.ENDLESS_DIGEST, sender.name, "digest", seen, expected)

    def _take_entries(self, sender: Contact, entries: Sequence[Entry]) -> list[Refused]:
        board = self.agent.boards.board
        allowed: list[Entry] = []
        refusals: list[Refused] = []
        brings: set[str] = set()
        for entry in entries:
            fresh = {entry.origin} if self._is_brought(entry.origin) else set[str]()
            try:
                require_honest_mean(sender, entry)
                self._speakers.require_allowed(sender, entry, brings | fresh)
            except Refused as error:
                refusals.append(error)
            else:
                allowed.append(entry)
                brings |= fresh
        news = [entry for entry in allowed if board.is_news(entry)]
        self._take_note(sender, allowed)
        if allowed:
            self._take(sender, RecordsMessage(tuple(allowed)))
        now = time()
        for entry in news:
            via, _ = self._arrivals.get(entry.origin, (sender.name, now))
            self._arrive(entry.origin, via, now)
            self._brought_by[entry.origin] = sender.name
        self._news += len(news)
        if any(entry.origin == self._origin for entry in news):
            self._supervise(self._require_newest_state)
        return refusals

    def _is_brought(self, origin: str) -> bool:
        """Whether it would be new here, by somebody's word."""
        return origin not in self._arrivals and self._speakers.needs_a_voucher(origin)

    def _arrive(self, origin: str, via: str | None, at: float) -> None:
        self._arrivals[origin] = (via, at)
        if via is not None and self._speakers.needs_a_voucher(origin):
            self._peers[via].vouched_for.add(origin)

    def _take_note(self, sender: Contact, entries: Sequence[Entry]) -> None:
        """Of what is harmless, yet may tell of somebody who is not."""
        for entry in entries:
            held = self.agent.boards.board.get(entry.origin)
            # Others may have been quicker than an honest neighbour; it never falls behind itself.
            is_its_own = self._brought_by.get(entry.origin) == sender.name
            is_older = held is not None and entry.order < held.order
            if is_its_own and is_older and not isinstance(entry, Proof):
                self._note(sender, Reason.OLD_RECORD, f"{entry.order} of {entry.origin}")
            usual = self._usual_count
            if isinstance(entry, Record) and usual is not None and entry.count > UNUSUAL * usual:
                # It is taken for no more than a few times the median where it counts.
                self._note(sender, Reason.LARGE_COUNT, f"{entry.count} of {entry.origin}")

    def _note(self, sender: Contact, reason: Reason, what: str) -> None:
        self._metrics.message_refused(sender.name, reason)
        self._log.info("noted of a neighbour", peer=sender.name, reason=reason, why=what)

    def _take(self, sender: Contact, message: RecordsMessage | DigestMessage) -> None:
        try:
            effects = self.agent.step(Received(sender.name, message))
        except RemoteProtocolError as error:
            bad = error.field == "signature"
            reason = Reason.BAD_SIGNATURE if bad else Reason.INVALID_VALUE
            raise Refused(reason, sender.name, error.field, error.seen, error.expected) from error
        self._journal.apply(effects)
        self._tick_soon()

    def _tick_soon(self) -> None:
        """Now, if the last one is an interval ago; one that waits already takes all with it."""
        if not self._running or self._timer is not None or self._disk is not None:
            return
        wait = self._ticked_at + self._interval - self._loop.time()
        self._timer = self._loop.call_later(max(0.0, wait), self._supervise, self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._disk is not None:
            return
        self._ticked_at = self._loop.time()
        self.began = self.began or time()
        for peer in self._peers.values():
            peer.pages = 0
        # Before noise is drawn, and in words; the agent would refuse to release, too.
        self._require_newest_state()
        number = self.agent.round + 1
        self._publish(number)
        self._look_around()
        if self.agent.boards.has_more:
            self._tick_soon()
        if self._is_trial:
            if self._last_tick is not None and number >= self._last_tick:
                self.ended = self.ended or time()
            else:
                self._tick_soon()

    def _look_around(self) -> None:
        board = self.agent.boards.board
        counts = [entry.count for entry in board if isinstance(entry, Record)]
        self._usual_count = median_low(counts) if len(counts) >= FEW else None
        barred = sum(isinstance(entry, Proof) for entry in board)
        self._metrics.board_is(records=len(counts), barred=barred)
        for origin in self._arrivals.keys() - {entry.origin for entry in board}:
            self._forget(origin)

    def _forget(self, origin: str) -> None:
        """It has no room on the board any more, so nobody has to vouch for it."""
        via, _ = self._arrivals.pop(origin)
        self._brought_by.pop(origin, None)
        if via is not None:
            self._peers[via].vouched_for.discard(origin)

    def _supplied(
        self, supply: Callable[[int], Sequence[float]] | None, tick: int
    ) -> Sequence[float]:
        over = self._last_tick is not None and tick > self._last_tick
        return () if supply is None or over else supply(tick)

    def _kept(self, entry: Entry) -> Kept:
        via, at = self._arrivals.get(entry.origin, (None, time()))
        return Kept(content=entry.to_bytes(), via=via, at=at)

    def _snapshot(self) -> dict[str, Any] | None:
        """With the board as it is stored, but for what only neighbours of before vouched for."""
        stored = super()._snapshot()
        self._restores += 1
        self._arrivals = {}
        for peer in self._peers.values():
            peer.vouched_for.clear()
        if stored is None:
            return None
        trusted = {
            origin: kept
            for origin, kept in self._store.entries.items()
            if kept.via is None or kept.via in self._peers
        }
        for origin, kept in trusted.items():
            self._arrive(origin, kept.via, kept.at)
        entries = {origin: kept.content.hex() for origin, kept in trusted.items()}
        return stored | {Part.EXCHANGE.value: stored[Part.EXCHANGE] | {"entries": entries}}

    def _go_on(self) -> None:
        self._tick_soon()

    def _forget_timers(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
