"""A real node whose only neighbour is an agent in the hands of a test, on real connections.

The node goes on when its neighbour does, so that samples come in the round that the test wants.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from colme.node.config import HttpSource, NodeConfig
from colme.node.node import Node
from colme.node.wire.codec import message_in, parse_frame
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.board.identity import InProcess
from colme.protocol.events import Begin, Deadline, Received
from colme.protocol.messages import ConsensusMessage, ReleaseMessage, RoundMessage, of_round
from colme.protocol.rounds.state import Phase
from colme.protocol.settings import Settings
from support.neighbours import Hearer, Neighbours, Other, hearing, welcome
from support.twins import Samples
from support.waiting import PATIENCE, until


def paired(neighbours: Neighbours, **changes: Any) -> NodeConfig:
    """Node a, which knows b, is fed by the program and has rounds as fast as b."""
    agreed = {"rounds": "free", **changes.pop("agreed", {})}
    config = neighbours.in_rounds("a", "b", agreed=agreed, pace={"deadline": PATIENCE}, **changes)
    return config.model_copy(update={"source": HttpSource(kind="http")})


@dataclass
class Partner:
    """Neighbour b, and all that it has heard."""

    config: NodeConfig
    """Of node a."""
    neighbours: Neighbours
    samples: Samples
    """Its own, round by round."""
    heard: list[bytes] = field(default_factory=list)
    """Of one start of a after another: its frames, and its answer to a bad one."""

    def __post_init__(self) -> None:
        theirs = self.config.settings("a", InProcess("a"))
        self._agent = Agent(
            Settings(
                name="b",
                identity=InProcess("b"),
                neighbours=("a",),
                profile=theirs.profile,
                algorithm=theirs.algorithm,
            )
        )
        self._noise = SeededLaplace(40)
        self._starts = 0

    async def live_with(self, node: Node, samples: Samples, look: Callable[[], None]) -> None:
        """For as many rounds as there are samples of a, each taken in while a round is open.

        `look` is called when all of that is over and a waits for b, in the round after the last.
        """
        trust, address = self.neighbours.trust("b", "a"), self.neighbours.address("b")
        self._starts += 1
        hearer = Hearer(self.config)
        at = self._agent.round
        # It is where a is told that b is, or a would go on with the round that it left.
        hearer.answer = lambda: [
            hearer.usual(epoch=self._starts, boot=self._starts, round_=at)[0],
            welcome(round_=at),
        ]
        async with hearing(hearer, trust, address), node:
            await until(lambda: hearer.sessions)
            frames = hearer.sessions[0]
            says = _Says(hearer.others[0], node)
            for mine in samples:
                await self._round(frames, says, mine)
            everything = f'colme_messages_sent_total{{peer="b"}} {says.said + 1:.1f}'
            await until(lambda: everything in node.metrics.text().decode())
            await until(lambda: len(frames) == says.said + 1)
            # Of a round that is over: what it is told then is for b to see as well.
            says.said += 1
            said = len(hearer.others[0].answers)
            await says.other.tell(ReleaseMessage(round=1, release=None), says.said)
            await until(lambda: len(hearer.others[0].answers) > said)
            refusal = hearer.others[0].answers[-1]
            self.heard += [*frames, refusal.SerializeToString()]
            look()

    async def _round(self, frames: list[bytes], says: "_Says", mine: Sequence[float]) -> None:
        agent = self._agent
        while self._is_in_a_round():
            agent.step(Deadline())  # What a did not finish before it was restarted.
        opening = await self._next(frames, says)
        for sample in self.samples[agent.round % len(self.samples)]:
            agent.observe(sample)
        draws = tuple(map(self._noise, agent.draws_due))
        for _, message in agent.step(Begin(opening.round, draws)).send:
            await says.say(of_round(message), mine)
        arrived: RoundMessage | None = opening
        while arrived is not None:
            for _, message in agent.step(Received("a", arrived)).send:
                await says.say(of_round(message), mine)
            arrived = await self._next(frames, says) if self._is_in_a_round() else None

    def _is_in_a_round(self) -> bool:
        return self._agent.phase is not Phase.IDLE

    async def _next(self, frames: list[bytes], says: "_Says") -> RoundMessage:
        await until(lambda: len(frames) > says.read)
        data = frames[says.read]
        says.read += 1
        return of_round(message_in("a", parse_frame("a", data)))


@dataclass
class _Says:
    """How far one session has come."""

    other: Other
    node: Node
    said: int = 0
    read: int = 0

    async def say(self, message: RoundMessage, mine: Sequence[float]) -> None:
        if isinstance(message, ConsensusMessage) and mine:
            # Before it, for it ends a's round: they are of the next one.
            await self.node.take(mine)
        self.said += 1
        await self.other.tell(message, self.said)
