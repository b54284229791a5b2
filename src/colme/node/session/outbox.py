"""What waits to be said to one neighbour."""

from collections import deque
from dataclasses import dataclass
from math import inf

from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import encode, parts_of
from colme.protocol.messages import Message, RoundMessage

MOST_WAITING = 1000
"""Frames about boards: all that a full board needs, several times. A neighbour that reads more
slowly than that is sent a digest instead, once it reads."""


@dataclass(frozen=True, slots=True)
class _Frame:
    sequence: int
    round: float
    """Infinite where it is about boards."""
    data: bytes


class Outbox:
    """Frames in order, numbered across the sessions of one start.

    What is of a round is of use until the round after it is over: it is kept until then, and said
    again after a broken session, unless it came. What is about boards is of its session alone:
    the next one begins with digests, which find out what is lacking.
    """

    def __init__(self) -> None:
        self._frames: deque[_Frame] = deque()
        self._sequence = self._said = self._round = 0
        self._is_open = False

    def post(self, message: Message) -> bool:
        """Say this as soon as possible; False if there is no room to keep it until then."""
        if isinstance(message, RoundMessage):
            self._add(message, message.round)
            while self._frames[0].round < message.round - 1:
                self._frames.popleft()
        elif self._is_open:
            if len(self._frames) >= MOST_WAITING:
                self.drop()
                return False
            for part in parts_of(message):
                self._add(part, inf)
        return True

    def _add(self, message: Message, number: float) -> None:
        self._sequence += 1
        self._frames.append(_Frame(self._sequence, number, encode(message, self._sequence)))

    def drop(self) -> None:
        """Say nothing of what is still waiting."""
        self._frames.clear()

    def open(self, welcome: pb.Welcome) -> None:
        """Go on after what has been received; what is of a round before its own it would refuse."""
        self._said = min(welcome.received, self._sequence)
        self._round = welcome.standing.round
        self._is_open = True

    def close(self) -> None:
        """The session is over: of what is about boards nobody knows how much has come."""
        self._is_open = False
        self._frames = deque(frame for frame in self._frames if frame.round < inf)

    def next(self) -> bytes | None:
        """The next frame that was not said yet in this session; None while there is none."""
        for frame in self._frames:
            if frame.sequence > self._said and frame.round >= self._round:
                self._said = frame.sequence
                if frame.round == inf:
                    self._frames.popleft()
                return frame.data
        return None
