"""All that is ever sent is computed from releases, and samples enter those by the lattice only."""

from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import Any

import pytest

from colme.errors import ColmeError
from colme.network import Network
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.algorithm import Algorithm
from colme.protocol.board.identity import InProcess
from colme.protocol.events import Begin, Deadline, Returned
from colme.protocol.rounds.paper import Paper
from colme.protocol.settings import Settings
from colme.protocol.stream import Stream
from colme.relay import Relay
from colme.rules.release import EVERY_SAMPLE, LATTICE_HALF_WIDTH, Blocks, Profile
from support.overheard import Overheard, differ, retold
from support.refusing import refused
from support.twins import Reckoning, changed, stream, twins

LOW, HIGH = 0.0, 1.0

ROUNDS, ALONE = 132, 12
"""With neighbours, and then without a word of them."""
LEAP = 110
"""After so many rounds many samples come at once, and round numbers go on far ahead."""
EPSILON = 6.0
"""Blocks of one sample at first and of several later; and agents that trust each other by then."""
MINE = stream(ROUNDS + ALONE, seed=20)
for late in range(LEAP, ROUNDS + ALONE, 4):
    MINE[late] += MINE[late - 1] + 50 * [0.1, 0.45]
TWINS = dict(twins(MINE))

CASES: dict[str, Algorithm] = {
    "paper": Paper(),
    "paper in blocks": Paper(schedule=Blocks(EPSILON)),
}
every_case = pytest.mark.parametrize("case", CASES)


@cache
def overheard(case: str) -> Overheard:
    """Agent a among two of its class and one of another, for many rounds, and at last alone."""
    names = ("a", "b", "c", "d")
    profile = Profile.bounded(LOW, HIGH, epsilon=EPSILON)
    agents = [
        Overheard(
            Settings(
                name=me,
                identity=InProcess(me),
                neighbours=tuple(name for name in names if name != me),
                profile=profile,
                algorithm=CASES[case],
            )
        )
        for me in names
    ]
    network = Network(agents, SeededLaplace(21))
    others = {name: stream(ROUNDS, seed) for name, seed in (("b", 22), ("c", 23))}
    others["d"] = changed(stream(ROUNDS, 24), lambda _, x: x + 0.45)
    agent, noise = agents[0], SeededLaplace(25)
    for number, mine in enumerate(MINE):
        network.round += 10**6 if number == LEAP else 0
        for sample in mine:
            agent.observe(sample)
        if number < ROUNDS:
            for name, samples in others.items():
                for sample in samples[number]:
                    network.observe(name, sample)
            network.run_round()
        else:
            agent.step(Begin(agent.round + 1, tuple(map(noise, agent.draws_due))))
            while agent.awaited:
                agent.step(Deadline())
            agent.step(Returned("b"))
    return agent


@every_case
def test_the_agent_has_lived_through_all_that_may_tell(case: str) -> None:
    """So that the tests below look at every path on which a sample could get out."""
    agent = overheard(case)
    ends = list(accumulate(len(one_round) for one_round in MINE))
    blocks = [len(draws) for draws in agent.draws]
    assert max(blocks[:10]) > 1, "several blocks in an early round"
    assert any(b > 1 for b, end in zip(blocks, ends, strict=True) if end > 100), "and in later ones"
    assert blocks.count(0) > 10, "and none in some"
    assert agent.round > 10**6
    assert agent.counts.taken > 1_000
    assert agent.clamped > 20
    assert agent.suspects == {"c", "d"}
    trusts = [trust for event, *_, trust in agent.steps if isinstance(event, Begin)]
    assert set(trusts) == {0.0, 1.0}, "and its owner's answer rests on others too"
    assert trusts.count(1.0) > 20


@every_case
def test_it_draws_once_for_each_number_of_each_block(case: str) -> None:
    """As many as go out, in the round after they are known; not one for anything else."""
    agent = overheard(case)
    numbers = Reckoning.of(agent.settings).numbers(MINE)
    assert list(map(len, agent.draws)) == list(map(len, numbers))


@every_case
@pytest.mark.parametrize("twin", TWINS)
def test_all_that_is_ever_sent_is_computed_from_releases(case: str, twin: str) -> None:
    """Where noise makes up for the other samples, every message is the same, byte by byte.

    So are the scales of the draws that it asks for. Only the owner's answer differs.
    """
    agent, other = overheard(case), TWINS[twin]
    draws = Reckoning.of(agent.settings).made_up(agent.draws, MINE, other)
    again = retold(agent, other, draws)
    assert differ(agent, again) == []
    assert again.estimate.alone != agent.estimate.alone


@every_case
def test_restarts_change_nothing_of_it(case: str) -> None:
    agent, other = overheard(case), TWINS["none clamped, elsewhere"]
    draws = Reckoning.of(agent.settings).made_up(agent.draws, MINE, other)
    assert differ(agent, retold(agent, other, draws, restarts=31)) == []


@every_case
def test_without_that_noise_messages_differ(case: str) -> None:
    """So the tests above can fail."""
    agent = overheard(case)
    assert differ(agent, retold(agent, TWINS["every 7th from 3"], agent.draws)) != []


@pytest.mark.parametrize(
    "bounds",
    [
        (0.0, 1.0),
        (-3.0, 11.0),
        (101_325.0, 101_325.001),
    ],
)
def test_no_sample_leaves_the_lattice(bounds: tuple[float, float]) -> None:
    """The joint loss is at most epsilon for u in [-R, R] and for nothing wider."""
    profile = Profile.bounded(*bounds, epsilon=1)
    totals = []
    for sample in (-1e300, *bounds, 1e300):
        stream = Stream()
        stream.observe(sample, profile, EVERY_SAMPLE)
        totals.append(stream.lattice)
    width = LATTICE_HALF_WIDTH
    assert [total.sum for total in totals] == [-width, -width, width, width]
    assert {total.squares for total in totals} == {width * width}


def test_squares_switched_on_at_a_restart_show_nothing_without_noise() -> None:
    """Squares of blocks noised without them would go out bare: refused, whatever the data."""

    def after_the_switch(sample: float, draw: int) -> Any:
        profile, plain = Profile.bounded(LOW, HIGH, epsilon=1), Relay(release_squares=False)
        agent = Agent(
            Settings(
                name="me", identity=InProcess("me"), neighbours=(), profile=profile, algorithm=plain
            )
        )
        for value in [sample] + [0.25, 0.75] * 200:
            agent.observe(value)
        agent.step(Begin(1, (draw,) + (0,) * (len(agent.draws_due) - 1)))
        try:
            again = Agent.restore(replace(agent.settings, algorithm=Relay()), agent.snapshot())
        except ColmeError:
            return None
        again.step(Begin(2, (0,) * len(again.draws_due)))
        return again.boards.board.get(again.boards.origin)

    assert after_the_switch(0.5, LATTICE_HALF_WIDTH) == after_the_switch(HIGH, 0)


@pytest.mark.parametrize("bounds", [(1.0, 1 + 3 * 2.0**-52), (0.0, 1e-320), (1e9, 1e9 + 1e-3)])
def test_bounds_too_close_for_the_lattice_are_refused(bounds: tuple[float, float]) -> None:
    """Their midpoint would be off centre by steps, and squares could move by more than reckoned."""
    with refused(ColmeError, "bounds"):
        Profile.bounded(*bounds, epsilon=1)
