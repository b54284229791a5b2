"""The exchange of boards as a state machine: merge what comes, pass on what is new.

Nobody is waited for, but by a restored agent that has something to release. A tick (`Begin`)
publishes what is due and sends each neighbour what it may lack; messages that are lost or come
twice, or in another order, need no rules of their own. After a neighbour was away, digests find
out who lacks what.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from colme.errors import (
    LocalProtocolError,
    MessageError,
    RemoteProtocolError,
    SnapshotError,
    StaleStateError,
)
from colme.protocol.algorithm import Algorithm, Exchange
from colme.protocol.board.board import CAPACITY, Board
from colme.protocol.board.identity import BoardIdentity
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
    Deadline,
    Effects,
    Estimate,
    Event,
    Observe,
    Part,
    Received,
    Returned,
)
from colme.protocol.messages import LARGEST_ROUND, Message
from colme.protocol.own_data import OwnData


@dataclass(slots=True)
class BoardState:
    """What an agent remembers of the exchange, as plain values: what a snapshot holds.

    It may be lost: neighbours have it too, and digests find out what they lack.
    """

    round: int = 0
    """The last tick."""
    entries: dict[str, str] = field(default_factory=dict)
    """The board: the bytes of each origin's entry, in hex."""


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
        # What has changed and has not been asked to be stored yet. A step that raises after noise
        # was spent leaves it here for the next one: nothing made of that noise goes out before
        # the noise itself is stored.
        self._unstored: frozenset[Part] = frozenset()
        # A stored state may be an old one: until a neighbour has told what it holds of mine,
        # nothing is released that was not before.
        self._asking = False
        # What the last answer has learned of the others: only to be quicker next time.
        self._learned: object = None

    @property
    def state(self) -> BoardState:
        """All that it remembers: the part `exchange` of a snapshot."""
        entries = {entry.origin: entry.to_bytes().hex() for entry in self.board}
        return BoardState(round=self._tick, entries=entries)

    @state.setter
    def state(self, state: BoardState) -> None:
        self.resume(state)

    def resume(self, state: BoardState) -> None:
        """Go on from a stored state; all neighbours are asked what has happened since."""
        entries = [_stored(origin, text) for origin, text in state.entries.items()]
        for entry in entries:
            self.board.merge(entry)
        self._tick = state.round
        for owed in self._owed_to.values():
            owed.start_anew()
        self._asking = bool(self._owed_to)

    def estimate(self) -> Estimate:
        """What my exact mean and everybody's releases say together."""
        estimate, self._learned = self._algorithm.answer(self.evidence, self._learned)
        return estimate

    @property
    def round(self) -> int:
        """The last tick; 0 before the first."""
        return self._tick

    @property
    def draws_due(self) -> tuple[float, ...]:
        """For each block that is closed and waits; none while a neighbour's answer is waited for.

        Whoever has no neighbours has nobody to ask, nor anybody to tell.
        """
        return () if self._asking else self._own.draws_due

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
            records=self.board.records,
        )

    def step(self, event: Event) -> Effects:
        """Take one event."""
        match event:
            case Begin(number, noise):
                return self._publish_and_send(number, noise)
            case Received(peer, RecordsMessage(entries)):
                return self._take_in(peer, entries)
            case Received(peer, DigestMessage() as message):
                return self._compare(peer, message)
            case Received(peer, message):
                expected = "one about boards: it runs another algorithm"
                raise RemoteProtocolError(peer, "message", type(message).__name__, expected)
            case Returned(peer):
                self._peer(peer).start_anew()
                return Effects()
            case Deadline():
                raise LocalProtocolError("event", event, "no deadline: nobody is waited for")
            case Observe():
                raise LocalProtocolError("event", "a sample", "an agent, which takes it in itself")

    def _publish_and_send(self, number: int, noise: tuple[int, ...]) -> Effects:
        if not self._tick < number <= LARGEST_ROUND:
            raise LocalProtocolError("round", number, f"a round after {self._tick}")
        self.require_newest_state()
        due = self.draws_due
        # After all checks: a tick that is refused must not spend noise.
        if not self._asking:
            self._own.publish(noise)
        elif noise:
            expected = "none before a neighbour has told what it holds of mine"
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
        unstored, self._unstored = self._unstored, frozenset()
        return Effects(persist=unstored, send=tuple(send))

    def require_newest_state(self) -> None:
        """My own records come back to me: one that I do not remember shows that I have forgotten.

        To release again would noise samples a second time.
        """
        heard = self.board.get(self.origin)
        if heard is None:
            return
        stream = self._own.stream
        mine = (stream.incarnation, stream.blocks)
        remedy = "the state that was stored last, or a new incarnation if it is lost"
        if isinstance(heard, Proof):
            seen = f"two records of mine that differ, both of (incarnation, blocks) {heard.order}"
            expected = "one state in one place; now a new key, and none of the samples of before"
            raise StaleStateError("state", seen, expected)
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
        self.board.merge(unsigned.with_signature(self._identity.sign(unsigned.content())))
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
        # Signatures take time, so those of news only; and all of them before anything changes.
        news = [entry for entry in entries if self.board.is_news(entry)]
        for entry in news:
            self._verify(name, entry)
        for entry in news:
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
        if not news:
            return Effects()
        self._unstored |= {Part.EXCHANGE}
        if any(entry.origin == self.origin for entry in news):
            # It may be what stops the next release, so it must not be forgotten again.
            unstored, self._unstored = self._unstored, frozenset()
            return Effects(persist=unstored)
        return Effects()

    def _verify(self, name: str, entry: Entry) -> None:
        for record in statements(entry):
            if not self._identity.verify(record.key, record.content(), record.signature):
                seen = f"a bad one on a record of {record.origin}"
                raise RemoteProtocolError(name, "signature", seen, "that of the record's author")

    def _compare(self, name: str, message: DigestMessage) -> Effects:
        owed = self._peer(name)
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
            self._asking = False
        return Effects()


def _stored(origin: str, text: str) -> Entry:
    path = f"{Part.EXCHANGE}.entries.{origin}"
    try:
        entry = entry_from_bytes(bytes.fromhex(text))
    except MessageError as error:
        raise SnapshotError(f"{path}.{error.field}", error.seen, error.expected) from error
    except ValueError:
        raise SnapshotError(path, text, "bytes in hexadecimal digits") from None
    if entry.origin != origin:
        raise SnapshotError(path, f"an entry of {entry.origin}", "one of this origin")
    return entry
