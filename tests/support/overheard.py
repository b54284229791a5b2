"""Agents of which all is kept that goes in and out, and their lives with other samples."""

import json
from collections.abc import Sequence
from itertools import chain

from colme.node.wire.codec import encode
from colme.protocol.agent import Agent
from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.events import Begin, Effects, Event, Observe, Part
from colme.protocol.messages import Message, of_round
from colme.protocol.rounds.paper import Paper
from colme.protocol.settings import Settings
from support.twins import Numbers, Samples

Step = tuple[Event, tuple[float, ...], frozenset[Part], list[tuple[str, bytes]], float]
"""What an agent is told, the draws due for it, what is to be stored and, in bytes, sent, and the
trust that it exports in rounds."""


def in_bytes(message: Message) -> bytes:
    """What a neighbour is sent."""
    match message:
        case RecordsMessage(entries):
            return b"".join(entry.to_bytes() for entry in entries)
        case DigestMessage():
            return repr(message).encode()
        case _:
            return encode(of_round(message))


class Overheard(Agent):
    """An agent that keeps its steps."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.steps: list[Step] = []

    def step(self, event: Event, now: float = 0.0) -> Effects:
        due = self.draws_due if isinstance(event, Begin) else ()
        effects = super().step(event, now)
        sent = [(peer, in_bytes(message)) for peer, message in effects.send]
        in_rounds = isinstance(self.settings.algorithm, Paper)
        trust = self.rounds.state.trust if in_rounds else 0.0
        self.steps.append((event, due, effects.persist, sent, trust))
        return effects

    @property
    def draws(self) -> Numbers:
        """Those that it was brought, round by round."""
        return [list(event.noise) for event, *_ in self.steps if isinstance(event, Begin)]


def retold(
    told: Overheard,
    samples: Samples,
    draws: Numbers,
    *,
    restarts: int = 0,
    once_restarted: Sequence[Event] = (),
) -> Overheard:
    """The same agent's life with other samples and draws; so many steps apart it is restarted."""
    agent, steps = Overheard(told.settings), []
    values, noise = chain.from_iterable(samples), iter(draws)
    for number, (event, *_) in enumerate(told.steps, start=1):
        match event:
            case Observe():
                event = Observe(next(values))
            case Begin(number_of_round, _):
                event = Begin(number_of_round, tuple(next(noise)))
        agent.step(event)
        if restarts and number % restarts == 0:
            steps += agent.steps
            agent = Overheard.restore(agent.settings, json.loads(json.dumps(agent.snapshot())))
            for one in once_restarted:
                agent.step(one)
    agent.steps = steps + agent.steps
    return agent


def differ(one: Overheard, other: Overheard) -> list[Event]:
    """What they had just been told where they first asked for different things, if ever."""
    for (event, *out), (event_there, *out_there) in zip(one.steps, other.steps, strict=True):
        if out != out_there:
            return [event, event_there]
    return []
