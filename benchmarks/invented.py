"""A neighbour of a real node invents as many agents as `origins.behind` lets it bring.

What honest nodes answer then.
"""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, stdev
from tempfile import TemporaryDirectory
from typing import Annotated

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import numpy as np
import typer

from colme.node.node import Node
from colme.node.wire.codec import encode, parts_of
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.board.messages import RecordsMessage
from colme.protocol.board.record import Record
from colme.protocol.events import Begin
from colme.protocol.settings import Settings
from colme.relay import Relay
from colme.rules.release import Profile
from colme.signing import Ed25519
from support.boarded import board_of, somebody
from support.neighbours import Neighbours, calling

# As in the paper: three classes, here with bounds that hold all of them.
MEANS, SIGMA, BOUNDS, EPSILON = (0.2, 0.4, 0.8), 0.5, (-0.67, 1.67), 1.0
FALSE_MEAN = 0.6
COUNTS = (60, 300)
HONEST = 24
PROFILE = Profile.bounded(*BOUNDS, epsilon=EPSILON, sigma2=SIGMA**2)


def drawn(generator: np.random.Generator, mean_: float, count: int) -> list[float]:
    """Uniform samples."""
    reach = SIGMA * 3**0.5
    return list(map(float, generator.uniform(mean_ - reach, mean_ + reach, count)))


def signed(record: Record, told: float, key: Ed25519) -> Record:
    """The same record with another mean, by its author."""
    other = replace(record, mean=told)
    return replace(other, signature=key.sign(other.content()))


class Invented:
    """Agents that nobody has: honest ones of a class that there is none of, but for the scatter."""

    def __init__(self, number: int, scatter: float, seed: int) -> None:
        self._generator = np.random.default_rng([seed, number])
        self._noise = SeededLaplace(seed * 10_007 + number)
        self._scatter = scatter
        self._key = somebody(100_000 * (seed + 1) + number)
        self._agent = Agent(
            Settings(
                name="invented",
                neighbours=(),
                profile=PROFILE,
                algorithm=Relay(release_squares=False),
                identity=self._key,
            )
        )

    def record(self, count: int) -> Record:
        """Its newest after so many samples."""
        agent = self._agent
        for sample in drawn(self._generator, FALSE_MEAN, count - agent.counts.taken):
            agent.observe(sample)
            if agent.draws_due:
                draws = tuple(map(self._noise, agent.draws_due))
                agent.step(Begin(agent.round + 1, draws))
        record = agent.boards.board.get(agent.boards.origin)
        assert isinstance(record, Record)
        told = FALSE_MEAN + self._scatter * (record.mean - FALSE_MEAN)
        return signed(record, told, self._key)


@dataclass(frozen=True, kw_only=True)
class Case:
    """Who invents how many, and how the honest ones stand."""

    behind: int = 1000
    scatter: float | None = None
    """Of what is invented, as a share of what honest ones have; None where nobody lies."""
    around_a_hub: bool = False
    """Whom the liar knows, and alone knows the others; else everybody has four neighbours."""

    def neighbours(self, number: int) -> list[int]:
        """Of a node, among the honest ones."""
        if self.around_a_hub:
            return [0] if number else list(range(1, HONEST))
        return [(number + step) % HONEST for step in (-5, -1, 1, 5)]


async def attacked(
    folder: Path, seed: int, case: Case
) -> dict[int, tuple[float, float, float, float]]:
    """After so many samples each: errors with the others and alone, records of either kind."""
    generator = np.random.default_rng(seed)
    names = [f"n{number:02d}" for number in range(HONEST)]
    around = Neighbours(folder, "liar", *names)
    invented = [
        Invented(number, case.scatter, seed)
        for number in range(case.behind)
        if case.scatter is not None
    ]
    truths = [MEANS[number % len(MEANS)] for number in range(HONEST)]
    found = {}
    async with AsyncExitStack() as stack:
        nodes = []
        for number, name in enumerate(names):
            others = [names[other] for other in case.neighbours(number)]
            config = around.config(
                name,
                *others,
                *(["liar"] if number == 0 else []),
                agreed={"bounds": BOUNDS},
                privacy={"epsilon": EPSILON, "sigma2": SIGMA**2},
                pace={"interval": 0.1, "deadline": 0.1},
                origins={"behind": case.behind},
            )
            nodes.append(await stack.enter_async_context(Node(config)))
        trust = around.trust("liar", names[0])
        liar = await stack.enter_async_context(calling(trust, names[0], nodes[0].config))
        await liar.hello()
        # It reads what it is answered, or it would not be sent any more.
        heard = asyncio.create_task(liar.listen())
        stack.callback(heard.cancel)
        honest = {node._parts.driver.agent.boards.origin for node in nodes}
        taken, frame = 0, 0
        for count in COUNTS:
            # The liar is first, so that its agents have room wherever there is some.
            news = [one.record(count) for one in invented]
            for start in range(0, len(news), 80):
                for part in parts_of(RecordsMessage(tuple(news[start : start + 80]))):
                    frame += 1
                    await liar.say(encode(part, frame))
            await at_rest(nodes)
            for node, truth in zip(nodes, truths, strict=True):
                await node.take(drawn(generator, truth, count - taken))
            taken = count
            await at_rest(nodes)
            answers = [await node.estimate() for node in nodes]
            held = [{entry.origin for entry in board_of(node)} for node in nodes]
            found[count] = (
                mean((one.value - truth) ** 2 for one, truth in zip(answers, truths, strict=True)),
                mean((one.alone - truth) ** 2 for one, truth in zip(answers, truths, strict=True)),
                mean(len(one & honest) for one in held),
                mean(len(one - honest) for one in held),
            )
    return found


async def at_rest(nodes: Sequence[Node]) -> None:
    """Until no board has changed for a second, however unlike they are."""
    before: list[str] = []
    while before != (before := [board_of(node).fingerprint for node in nodes]):
        await asyncio.sleep(1)


def main(
    starts: Annotated[int, typer.Option(help="Networks of each case.", min=2)] = 6,
    only: Annotated[str, typer.Option(help="Cases that have this in their name.")] = "",
) -> None:
    """Measure the error of honest nodes while a neighbour of one invents agents."""
    cases = {"nobody lies": Case()} | {
        f"{behind} invented, {words}": Case(behind=behind, scatter=scatter)
        for behind in (HONEST, 1000)
        for words, scatter in (("as honest ones", 1.0), ("a fifth of the scatter", 0.2))
    }
    cases["around a hub, nobody lies"] = Case(around_a_hub=True)
    cases[f"around a hub, {HONEST} invented, as honest ones"] = Case(
        behind=HONEST, scatter=1.0, around_a_hub=True
    )
    for words, case in cases.items():
        if only not in words:
            continue
        runs = []
        for seed in range(starts):
            with TemporaryDirectory() as folder:
                runs.append(asyncio.run(attacked(Path(folder), seed, case)))
        for count in COUNTS:
            together, alone, honest, others = zip(*(one[count] for one in runs), strict=True)
            ratios = [a / b for a, b in zip(together, alone, strict=True)]
            ratio = mean(together) / mean(alone)
            print(
                f"{words}, after {count} samples: {ratio:.2f} of alone "
                f"(starts differ by {stdev(ratios):.2f}); on a board {mean(honest):.1f} of "
                f"{HONEST} honest, {mean(others):.1f} invented",
                flush=True,
            )
