"""The exchange of boards as a state machine: merge what comes, pass on what is new.

Nobody is waited for, but by a restored agent that has something to release. A tick (`Begin`)
publishes what is due and sends each neighbour what it may lack; messages that are lost or come
twice, or in another order, need no rules of their own. After a neighbour was away, digests find
out who lacks what.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import ClassVar, TypeGuard

from colme.errors import (
    ForkedStateError,
    LocalProtocolError,
    MessageError,
    Reason,
    RemoteProtocolError,
    SnapshotError,
    StaleStateError,
)
from colme.protocol.algorithm import Algorithm, Exchange
from colme.protocol.board.board import CAPACITY, PAGE, Board, Head
from colme.protocol.board.identity import BoardIdentity
from colme.protocol.board.membership import Membership
from colme.protocol.board.messages import LARGEST_BATCH, DigestMessage, RecordsMessage
from colme.protocol.board.peers import Owed
from colme.protocol.board.record import (
    SIGNATURE_SIZE,
    Entry,
    Proof,
    Record,
    Statement,
    entry_from_bytes,
    origin_of_key,
    statements,
)
from colme.protocol.events import (
    EVERYTHING,
    Begin,
    ClockJumped,
    Deadline,
    Due,
    Effects,
    Estimate,
    Event,
    ExchangeStatus,
    Observe,
    Part,
    Policy,
    Received,
    Returned,
    Start,
)
from colme.protocol.messages import LARGEST_ROUND, Message
from colme.protocol.own_data import OwnData

MOST_BOARDS = 4
"""Digests of a whole board that a neighbour may send between two ticks: one is usual, an answer
and a reconnect make three."""


@dataclass(slots=True)
class BoardState:
    """What an agent remembers of the exchange, as plain values: what a snapshot holds.

    It may be lost: neighbours have it too, and digests find out what they lack.
    """

    round: int = 0
    """The last tick."""
    entries: dict[str, str] = field(default_factory=dict)
    """The board: the bytes of each origin's entry, in hex."""
    fingerprints: dict[str, str] = field(default_factory=dict)
    """Fingerprints of my own records in hex, by "incarnation.sequence". An empty one of sequence 0
    says that the list begins with the first release."""
    via: dict[str, str | None] = field(default_factory=dict)
    """The neighbour that brought each publisher first."""
    foreign: str = ""
    """A record of mine that this state did not release, in hex; empty if none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that an answer may rest on: my own data, and everybody's releases, mine among them.

    For the owner alone, and never sent: my own totals are exact.
    """

    round: int
    """The last tick."""
    own_mean: float
    """Exact, and never sent."""
    own_count: int
    own_variance: float
    """Of a sample: the exact one of the samples, with one that was declared; never sent."""
    known: bool
    """Whether one was declared."""
    bounds: tuple[float, float]
    origin: str
    """Mine: that of the record which shares its data with `own_mean`."""
    admitted: Mapping[str, int]
    """The order in which publishers were admitted: it tells originals from copies."""
    records: tuple[Record, ...]
    """Of all origins that are not barred, in order of origin."""


class BoardAlgorithm(Algorithm):
    """What an algorithm that exchanges boards decides beyond that: the answer."""

    __slots__ = ()

    signs: ClassVar[bool] = True

    @abstractmethod
    def answer(self, evidence: Evidence, warm: object) -> tuple[Estimate, object]:
        """The owner's answer, never sent; and what the next one may start from, as `warm`."""


class BoardExchange(Exchange):
    """One agent's part in it."""

    def __init__(
        self,
        algorithm: BoardAlgorithm,
        own: OwnData,
        neighbours: Sequence[str],
        identity: BoardIdentity,
        *,
        capacity: int = CAPACITY,
    ) -> None:
        self._algorithm = algorithm
        self._own = own
        self._identity = identity
        self.origin = origin_of_key(identity.key)
        """Mine, in the eyes of all others."""
        self._tick = 0
        # In name order: every run must repeat the same messages.
        theirs = {name: identity.origin_of(name) for name in sorted(neighbours)}
        self._owed_to = {
            name: Owed(yields=origin is not None and origin < self.origin)
            for name, origin in theirs.items()
        }
        always = {self.origin, *(origin for origin in theirs.values() if origin is not None)}
        self.capacity = capacity
        self.board = Board(always, capacity=capacity)
        self._membership = Membership(pinned=always, neighbours=theirs)
        # What has changed and has not been asked to be stored yet. A step that raises after noise
        # was spent leaves it here for the next one: nothing made of that noise goes out before
        # the noise itself is stored.
        self._unstored: frozenset[Part] = frozenset()
        # A stored state may be an old one: until the neighbours have told what they hold of mine,
        # nothing is released that was not before. One that is away is not waited for forever, but
        # one at least must have answered.
        self._unanswered: set[str] = set()
        self._is_answered = self._waited_long_enough = False
        # A backup that went on released other records under the same numbers as the state it was
        # copied from. Whoever holds one of those proves it, however far this state has come since.
        self._fingerprints: dict[str, str] = {}
        self._foreign: Record | None = None
        self._start: Start | None = None
        self._started_at = self._ticked_at = -inf
        self._wants_tick = False
        # What the last answer has learned of the others: only to be quicker next time.
        self._learned: object = None

    @property
    def state(self) -> BoardState:
        """All that it remembers: the part `exchange` of a snapshot."""
        entries = {entry.origin: entry.to_bytes().hex() for entry in self.board}
        return replace(
            self.rest,
            entries=entries,
            via=dict(self._membership.via),
            fingerprints=dict(self._fingerprints),
        )

    @state.setter
    def state(self, state: BoardState) -> None:
        self.resume(state)

    @property
    def digest(self) -> str:
        """A hash of the board."""
        return self.board.fingerprint

    @property
    def rest(self) -> BoardState:
        """What is left of `state` without the entries and fingerprints."""
        foreign = "" if self._foreign is None else self._foreign.to_bytes().hex()
        return BoardState(round=self._tick, foreign=foreign)

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The board, by publisher."""
        return {entry.origin: entry for entry in self.board}

    @property
    def via(self) -> Mapping[str, str | None]:
        """The neighbour that brought each publisher first; None for the own."""
        return self._membership.via

    @property
    def fingerprints(self) -> Mapping[str, str]:
        """Fingerprints of my own records in hex, by "incarnation.sequence"."""
        return self._fingerprints

    @property
    def status(self) -> ExchangeStatus:
        """How the board is."""
        blocked = tuple(entry.origin for entry in self.board if isinstance(entry, Proof))
        return ExchangeStatus(
            records=len(self.board) - len(blocked),
            blocked=blocked,
            introduced=self._membership.introduced,
        )

    @property
    def is_over(self) -> bool:
        """Whether the last tick of a trial has been."""
        last = self._start.pace.last if self._start is not None else None
        return last is not None and self._tick >= last

    def held_of(self, peer: str) -> Entry | None:
        """Return the newest entry of a neighbour's own that came here, by whichever way."""
        origin = self._identity.origin_of(peer)
        return None if origin is None else self.board.get(origin)

    def resume(self, state: BoardState) -> None:
        """Go on from a stored state; all neighbours are asked what has happened since."""
        entries = [_stored(origin, text) for origin, text in state.entries.items()]
        foreign = _stored(self.origin, state.foreign, "foreign") if state.foreign else None
        self._foreign = foreign if isinstance(foreign, Record) else None
        self._fingerprints = dict(state.fingerprints)
        staying = set(self._membership.resume(state.entries, state.via))
        for entry in entries:
            if entry.origin in staying:
                self.board.merge(entry)
        self._tick = state.round
        for owed in self._owed_to.values():
            owed.start_anew()
        self._unanswered = set(self._owed_to)
        self._is_answered = self._waited_long_enough = False

    def estimate(self) -> Estimate:
        """What my exact mean and everybody's releases say together."""
        estimate, self._learned = self._algorithm.answer(self.evidence, self._learned)
        return estimate

    @property
    def round(self) -> int:
        """The last tick; 0 before the first."""
        return self._tick

    @property
    def announced_round(self) -> int:
        """Always 0: neighbours tell an outdated state by its records, and ticks are not stored."""
        return 0

    @property
    def draws_due(self) -> tuple[float, ...]:
        """For each block that is closed and waits; none while neighbours' answers are waited for.

        Whoever has no neighbours has nobody to ask, nor anybody to tell.
        """
        return () if self.is_asking else self._own.draws_due

    @property
    def is_asking(self) -> bool:
        """Whether neighbours have yet to tell what they hold of mine."""
        return bool(self._unanswered) and not (self._is_answered and self._waited_long_enough)

    @property
    def evidence(self) -> Evidence:
        """All that the answer rests on: for the owner alone."""
        own = self._own
        return Evidence(
            round=self._tick,
            own_mean=own.mean,
            own_count=own.stream.count,
            own_variance=own.believed_variance,
            known=not own.squares,
            bounds=own.profile.bounds,
            origin=self.origin,
            admitted=self._membership.order,
            records=self.board.records,
        )

    @property
    def wake_at(self) -> float | None:
        """The next tick if there is news, and the time when answers are waited for no longer."""
        if self._start is None:
            return None
        pace = self._start.pace
        may_tick = pace.always and (pace.last is None or self._tick < pace.last)
        times = []
        if self._wants_tick or self.draws_due or may_tick:
            times.append(self._ticked_at + pace.interval)
        if self.is_asking and not self._waited_long_enough:
            times.append(self._started_at + pace.deadline)
        return min(times, default=None)

    def due(self, now: float) -> Due | None:
        """A tick, at most one an interval; or the end of waiting for answers."""
        wake_at = self.wake_at
        if self._start is None or wake_at is None or now < wake_at:
            return None
        waits = self.is_asking and not self._waited_long_enough
        if waits and now >= self._started_at + self._start.pace.deadline:
            return Deadline()
        return Begin(self._tick + 1, ())

    def step(self, event: Event, now: float = 0.0) -> Effects:
        """Take one event."""
        match event:
            case Begin(number, noise):
                effects = self._publish_and_send(number, noise)
                self._ticked_at = now
                self._wants_tick = self.has_more
                return effects
            case Received(peer, RecordsMessage(entries)):
                effects = self._take_in(peer, entries)
                if len(effects.refused) == len(entries):
                    return effects
            case Received(peer, DigestMessage() as message):
                effects = self._compare(peer, message)
            case Received(peer, message):
                expected = "one about boards: it runs another algorithm"
                seen, reason = type(message).__name__, Reason.OTHER_CONFIGURATION
                raise RemoteProtocolError(peer, "message", seen, expected, reason)
            case Returned(peer, epoch):
                known = self._peer(peer)
                if epoch:
                    # A hello, which it may say time and again. A digest follows once it is let in.
                    return Effects()
                known.start_anew()
                effects = Effects()
            case Deadline():
                self._waited_long_enough = True
                effects = Effects()
            case Start():
                self._start, self._started_at = event, now
                effects = Effects()
            case Policy():
                for origin in self._membership.adopt(event, self.board):
                    self.board.remove(origin)
                    self._unstored |= {Part.EXCHANGE}
                self._membership.look_at(self.board)
                effects = Effects()
            case ClockJumped():
                return Effects()  # Ticks are so many seconds apart, whatever time it is.
            case Observe():
                raise LocalProtocolError("event", "a sample", "an agent, which takes it in itself")
        self._wants_tick = True
        return effects

    def _publish_and_send(self, number: int, noise: tuple[int, ...]) -> Effects:
        if not self._tick < number <= LARGEST_ROUND:
            raise LocalProtocolError("round", number, f"a round after {self._tick}")
        self.require_newest_state()
        for owed in self._owed_to.values():
            owed.pages = 0
        due = self.draws_due
        stream = self._own.stream
        if due and not stream.blocks and not self._fingerprints:
            self._fingerprints[f"{stream.incarnation}.0"] = ""  # From the first release on.
        # After all checks: a tick that is refused must not spend noise.
        if not self.is_asking:
            self._own.publish(noise)
        elif noise:
            expected = "none before the neighbours have told what they hold of mine"
            raise LocalProtocolError("noise", f"{len(noise)} draws", expected)
        if due:
            self._unstored = EVERYTHING
        # The number alone is not worth storing a whole board for: any later one will do.
        self._tick = number
        self._post_my_record()
        send = [
            (name, message)
            for name, owed in self._owed_to.items()
            for message in self._messages(owed)
        ]
        self._membership.look_at(self.board)
        unstored, self._unstored = self._unstored, frozenset()
        return Effects(persist=unstored, send=tuple(send))

    def require_newest_state(self) -> None:
        """My own records come back to me: one that I do not remember shows that I have forgotten.

        To release again would noise samples a second time.
        """
        if self._foreign is not None:
            seen = f"a record of mine that it did not release, number {self._foreign.order}"
            raise ForkedStateError("state", seen, _ANOTHER_KEY)
        heard = self.board.get(self.origin)
        if heard is None:
            return
        stream = self._own.stream
        mine = (stream.incarnation, stream.blocks)
        remedy = "the state that was stored last, or a new incarnation if it is lost"
        if isinstance(heard, Proof):
            seen = f"two records of mine that differ, both of (incarnation, blocks) {heard.order}"
            raise ForkedStateError("state", seen, _ANOTHER_KEY)
        if heard.order > mine:
            seen = f"{mine} as (incarnation, blocks), where others have {heard.order} of mine"
            raise StaleStateError("state", seen, remedy)
        if heard.order == mine and not self._is_my_release(heard):
            seen = f"another record of mine with (incarnation, blocks) {mine}"
            raise StaleStateError("state", seen, remedy)

    def _is_my_release(self, heard: Statement) -> bool:
        """Whether it has my noise."""
        mine = self._own.weighed()
        return (
            isinstance(heard, Record)
            and mine is not None
            and (heard.count, heard.mean, heard.square) == (mine.count, mine.mean, mine.square)
        )

    def _post_my_record(self) -> None:
        """Put my release on the board, if there is one and it is not there yet."""
        own, posted = self._own, self.board.get(self.origin)
        mine = own.weighed()
        if mine is None:
            return
        # By its place: two records of one place that differ would bar me.
        if posted is not None and posted.order == (mine.incarnation, mine.blocks):
            return
        unsigned = Record(
            key=self._identity.key,
            incarnation=mine.incarnation,
            sequence=mine.blocks,
            count=mine.count,
            past_count=mine.past_count,
            past_draws=mine.past_draws,
            epsilon=own.profile.epsilon,
            bounds=own.profile.bounds,
            mean=mine.mean,
            variance=mine.variance,
            square=mine.square,
            signature=bytes(SIGNATURE_SIZE),
        )
        signed = unsigned.with_signature(self._identity.sign(unsigned.content()))
        self.board.merge(signed)
        self._membership.arrive(self.origin, None)
        self._fingerprints[_number(signed)] = Head.of(signed).fingerprint.hex()
        self._unstored |= {Part.EXCHANGE}
        for owed in self._owed_to.values():
            owed.add([self.origin])

    def _messages(self, owed: Owed) -> list[Message]:
        """What a neighbour gets now. Entries first: then the digest finds less to ask for."""
        messages: list[Message] = []
        owed.begin_tick()
        while origins := owed.take(LARGEST_BATCH):
            held = (self.board.get(origin) for origin in origins)
            if entries := tuple(entry for entry in held if entry is not None):
                messages.append(RecordsMessage(entries))
                for entry in entries:
                    owed.note_sent(entry)
        if owed.digest or owed.answer:
            pages = self.board.pages()
            messages += (DigestMessage(page=page, answer=not owed.digest) for page in pages)
            owed.digest = owed.answer = False
        return messages

    @property
    def has_more(self) -> bool:
        """Whether the next tick may have something to say, though nothing new comes."""
        return any(owed.is_waiting for owed in self._owed_to.values())

    def _peer(self, name: str) -> Owed:
        owed = self._owed_to.get(name)
        if owed is None:
            raise RemoteProtocolError(name, "peer", name, f"one of my {list(self._owed_to)}")
        return owed

    def _take_in(self, name: str, entries: Sequence[Entry]) -> Effects:
        sender = self._peer(name)
        entries, refused = self._admitted(name, entries)
        noted = tuple(
            note
            for entry in entries
            for note in self._membership.notes(name, entry, self.board.get(entry.origin))
        )
        # Signatures take time, so those of news only; and all of them before anything changes.
        news = [entry for entry in entries if self.board.is_news(entry)]
        foreign = [entry for entry in entries if self._is_foreign(entry)]
        for entry in (*news, *foreign):
            self._verify(name, entry)
        for entry in news:
            self._membership.arrive(entry.origin, name)
            # What I hold only because it is a neighbour's, its other neighbours have from itself.
            # A proof they would not have from it.
            if self.board.merge(entry) and (
                self.board.samples(entry.origin) or isinstance(entry, Proof)
            ):
                for owed in self._owed_to.values():
                    owed.add([entry.origin])
        for entry in entries:
            held = self.board.get(entry.origin)
            if held is not None and held.content() == entry.content():
                sender.drop(held)
        for owed in self._owed_to.values():
            if len(owed) > len(self.board):
                owed.keep_within(self.board)
        effects = Effects(
            changed=tuple(entry.origin for entry in news), refused=refused, noted=noted
        )
        if not news and not foreign:
            return effects
        for entry in foreign:
            self._foreign = entry
        self._unstored |= {Part.EXCHANGE}
        if foreign or any(entry.origin == self.origin for entry in news):
            # It may be what stops the next release, so it must not be forgotten again.
            unstored, self._unstored = self._unstored, frozenset()
            return replace(effects, persist=unstored)
        return effects

    def _admitted(
        self, name: str, entries: Sequence[Entry]
    ) -> tuple[Sequence[Entry], tuple[RemoteProtocolError, ...]]:
        """Divide the entries of a message into those that may get on the board, and errors."""
        admitted: list[Entry] = []
        refused: list[RemoteProtocolError] = []
        brings: set[str] = set()
        for entry in entries:
            fresh = {entry.origin} if self._membership.is_new(entry.origin) else set[str]()
            try:
                self._membership.require_admitted(name, entry, brings | fresh)
            except RemoteProtocolError as error:
                refused.append(error)
            else:
                admitted.append(entry)
                brings |= fresh
        return admitted, tuple(refused)

    def _is_foreign(self, entry: Entry) -> TypeGuard[Record]:
        """Whether a record bears my name and a number of mine, and is not what I released then."""
        if entry.origin != self.origin or not isinstance(entry, Record):
            return False
        listed = [_order(number) for number in self._fingerprints]
        # A tick that closes several blocks releases their last number alone, so one that is not
        # listed was not released here either. What came before the list began is not known.
        if not listed or not min(listed) < entry.order <= max(listed):
            return False
        return self._fingerprints.get(_number(entry)) != Head.of(entry).fingerprint.hex()

    def _verify(self, name: str, entry: Entry) -> None:
        for record in statements(entry):
            if not self._identity.verify(record.key, record.content(), record.signature):
                seen = f"a bad one on a record of {record.origin}"
                expected = "that of the record's author"
                raise RemoteProtocolError(name, "signature", seen, expected, Reason.BAD_SIGNATURE)

    def _compare(self, name: str, message: DigestMessage) -> Effects:
        owed = self._peer(name)
        owed.pages += 1
        # A board has so many pages, and no more: each costs a look at all that I hold.
        most = MOST_BOARDS * (max(self.capacity, len(self.board)) // PAGE + 2)
        if owed.pages > most:
            seen, expected = f"page {owed.pages}", f"at most {most} before I have answered"
            raise RemoteProtocolError(name, "digest", seen, expected, Reason.ENDLESS_DIGEST)
        lacking = self.board.lacking(message.page)
        if message.answer:
            # It answers my digest, so all that I have sent since has come, or comes.
            lacking = [one for one in lacking if not owed.is_sent(self.board.get(one))]
        else:
            owed.forget_sent()
        owed.add(lacking)
        if not message.answer:
            # Also where I have all of it: it may wait to be told that I hold nothing newer of its.
            owed.answer = True
        is_newer = self.origin in self.board.wanting(message.page)
        if message.page.tells_of(self.origin) and not is_newer:
            self._unanswered.discard(name)
            self._is_answered = True
        return Effects()


_ANOTHER_KEY = "one state in one place; now a new key, and none of the samples of before"


def _number(record: Record) -> str:
    incarnation, sequence = record.order
    return f"{incarnation}.{sequence}"


def _order(number: str) -> tuple[int, int]:
    incarnation, sequence = number.split(".")
    return int(incarnation), int(sequence)


def _stored(origin: str, text: str, field: str = "entries") -> Entry:
    path = f"{Part.EXCHANGE}.{field}.{origin}"
    try:
        entry = entry_from_bytes(bytes.fromhex(text))
    except MessageError as error:
        raise SnapshotError(f"{path}.{error.field}", error.seen, error.expected) from error
    except ValueError:
        raise SnapshotError(path, text, "bytes in hexadecimal digits") from None
    if entry.origin != origin:
        raise SnapshotError(path, f"an entry of {entry.origin}", "one of this origin")
    return entry
