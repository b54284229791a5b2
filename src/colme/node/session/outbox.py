"""What waits to be said to one neighbour: in rounds, or about boards."""

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass

from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import encode, parts_of
from colme.protocol.messages import Message, RoundMessage, of_round

MOST_WAITING = 1000
"""Frames about boards: all that a full board needs, several times. A neighbour that reads more
slowly than that is sent a digest instead, once it reads."""


class Outbox(ABC):
    """Frames in order, numbered across the sessions of one start."""

    def __init__(self) -> None:
        self._sequence = 0

    def _numbered(self, message: Message) -> tuple[int, bytes]:
        self._sequence += 1
        return self._sequence, encode(message, self._sequence)

    @abstractmethod
    def post(self, message: Message) -> bool:
        """Say this as soon as possible; False if there is no room to keep it until then."""

    @abstractmethod
    def drop(self) -> None:
        """Say nothing of what is still waiting."""

    @abstractmethod
    def open(self, welcome: pb.Welcome) -> None:
        """A session begins with this answer to my hello."""

    @abstractmethod
    def close(self) -> None:
        """The session is over."""

    @abstractmethod
    def next(self) -> bytes | None:
        """The next frame of this session; None while there is none."""


@dataclass(frozen=True, slots=True)
class _Frame:
    sequence: int
    round: int
    data: bytes


class RoundsOutbox(Outbox):
    """What is posted is sent once, in order, across broken lines, unless its round is over."""

    def __init__(self) -> None:
        super().__init__()
        self._frames: deque[_Frame] = deque()
        self._said = self._round = 0

    def post(self, message: Message) -> bool:
        """Keep it for as long as its round is of use."""
        said: RoundMessage = of_round(message)
        sequence, data = self._numbered(said)
        self._frames.append(_Frame(sequence, said.round, data))
        while self._frames[0].round < said.round - 1:
            self._frames.popleft()
        return True

    def drop(self) -> None:
        """Forget all."""
        self._frames.clear()

    def open(self, welcome: pb.Welcome) -> None:
        """Go on after what has been received; what is of a round before its own it would refuse."""
        self._said, self._round = welcome.received, welcome.standing.round

    def close(self) -> None:
        """The next session goes on."""

    def next(self) -> bytes | None:
        """Of those that were not said yet."""
        for frame in self._frames:
            if frame.sequence > self._said and frame.round >= self._round:
                self._said = frame.sequence
                return frame.data
        return None


class BoardsOutbox(Outbox):
    """What is posted is of this session: after another began, digests find out what is lacking."""

    def __init__(self) -> None:
        super().__init__()
        self._frames: deque[bytes] = deque()
        self._is_open = False

    def post(self, message: Message) -> bool:
        """Keep it, in as many frames as it takes, if there is a session that has room."""
        assert not isinstance(message, RoundMessage)
        if not self._is_open:
            return True  # The next session begins with a digest.
        if len(self._frames) >= MOST_WAITING:
            self.drop()
            return False
        self._frames += (self._numbered(part)[1] for part in parts_of(message))
        return True

    def drop(self) -> None:
        """Forget all."""
        self._frames.clear()

    def open(self, welcome: pb.Welcome) -> None:
        """Begin anew."""
        self._is_open = True

    def close(self) -> None:
        """Nobody knows what of it has come."""
        self._is_open = False
        self.drop()

    def next(self) -> bytes | None:
        """The first."""
        return self._frames.popleft() if self._frames else None
