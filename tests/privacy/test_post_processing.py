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
from colme.protocol.events import Begin, Deadline, Received, Returned
from colme.protocol.rounds.paper import Paper
from colme.protocol.settings import Settings
from colme.protocol.stream import Stream
from colme.relay import Relay
from colme.rules.release import EVERY_SAMPLE, LATTICE_HALF_WIDTH, Blocks, Profile
from support.boards import NOTHING_HELD, record_of
from support.overheard import Overheard, differ, in_bytes, retold
from support.refusing import refused
from support.retired import Tracking
from support.twins import Numbers, Reckoning, Samples, changed, stream, twins

LOW, HIGH = 0.0, 1.0

ROUNDS, ALONE = 132, 12
"""With neighbours, and then without a word of them."""
LEAP = 110
"""After so many rounds many samples come at once, and round numbers go on far ahead."""
SWITCH = 60
EPSILON = 6.0
"""Blocks of one sample at first and of several later; and agents that trust each other by then."""
PROFILE = Profile.bounded(LOW, HIGH, epsilon=EPSILON, sigma2=0.05)
MINE = stream(ROUNDS + ALONE, seed=20)
for late in range(LEAP, ROUNDS + ALONE, 4):
    MINE[late] += MINE[late - 1] + 50 * [0.1, 0.45]
TWINS = dict(twins(MINE))
OTHERS = {
    "a": stream(ROUNDS, 22),
    "c": stream(ROUNDS, 23),
    "d": changed(stream(ROUNDS, 24), lambda _, x: x + 0.45),
}
"""Two of the class of agent b, and one of another."""
NAMES = ("a", "b", "c", "d")
ALL = {me: tuple(name for name in NAMES if name != me) for me in NAMES}
PATH = {"a": ("b",), "b": ("a", "c"), "c": ("b", "d"), "d": ("c",)}

CASES: dict[str, Algorithm] = {
    "paper": Paper(),
    "paper in blocks": Paper(schedule=Blocks(EPSILON)),
    "relay": Relay(),
    "relay, known variance": Relay(release_squares=False),
}
every_case = pytest.mark.parametrize("case", CASES)
every_twin = pytest.mark.parametrize("twin", TWINS)
ASKED = [Received(peer, NOTHING_HELD) for peer in ("a", "c")]
"""An agent with a board asks after a restart, and a neighbour answers."""


@cache
def overheard(case: str) -> Overheard:
    """Agent b, for many rounds, and at last alone. With a board, it passes on all releases."""
    algorithm = CASES[case]
    agents = {
        me: Overheard(
            Settings(
                name=me,
                identity=InProcess(me),
                neighbours=neighbours,
                profile=PROFILE,
                algorithm=algorithm,
            )
        )
        for me, neighbours in (PATH if algorithm.signs else ALL).items()
    }
    network = Network(agents.values(), SeededLaplace(21))
    agent, noise = agents["b"], SeededLaplace(25)
    for number, mine in enumerate(MINE):
        network.round += 10**6 if number == LEAP else 0
        for sample in mine:
            agent.observe(sample)
        if number < ROUNDS:
            for name, samples in OTHERS.items():
                for sample in samples[number]:
                    network.observe(name, sample)
            network.run_round()
        else:
            agent.step(Begin(agent.round + 1, tuple(map(noise, agent.draws_due))))
            while not algorithm.signs and agent.awaited:
                agent.step(Deadline())
        if number % 40 == 39 or number >= ROUNDS:
            agent.step(Returned("a"))
    return agent


def made_up(agent: Overheard, other: Samples) -> Numbers:
    """The draws that let another stream pass for mine."""
    return Reckoning.of(agent.settings).made_up(agent.draws, MINE, other)


@every_case
def test_the_agent_has_lived_through_all_that_may_tell(case: str) -> None:
    """So that the tests below look at every path on which a sample could get out."""
    agent = overheard(case)
    ends = list(accumulate(len(one_round) for one_round in MINE))
    blocks = [len(draws) // (1 + CASES[case].release_squares) for draws in agent.draws]
    assert max(blocks[:10]) > 1, "several blocks in an early round"
    assert any(b > 1 for b, end in zip(blocks, ends, strict=True) if end > 100), "and in later ones"
    assert blocks.count(0) > 10, "and none in some"
    assert agent.round > 10**6
    assert agent.counts.taken > 1_000
    assert agent.clamped > 20
    if CASES[case].signs:
        origins = {record.origin for record in agent.boards.board.records}
        assert len(origins) == len(NAMES), "and it has passed on everybody's"
        assert agent.boards.origin in origins
    else:
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
@every_twin
def test_all_that_is_ever_sent_is_computed_from_releases(case: str, twin: str) -> None:
    """Where noise makes up for the other samples, every message is the same, byte by byte.

    So are the scales of the draws that it asks for. Only the owner's answer differs.
    """
    agent, other = overheard(case), TWINS[twin]
    again = retold(agent, other, made_up(agent, other))
    assert differ(agent, again) == []
    assert again.estimate.alone != agent.estimate.alone


@every_case
@every_twin
def test_restarts_change_nothing_of_it(case: str, twin: str) -> None:
    agent, other = overheard(case), TWINS[twin]
    signs = CASES[case].signs
    lives: dict[str, Any] = {"restarts": 31, "once_restarted": ASKED if signs else ()}
    mine = retold(agent, MINE, agent.draws, **lives)
    assert differ(mine, retold(agent, other, made_up(agent, other), **lives)) == []
    # Nobody is asked in rounds: there, who is restarted says what it would have said.
    assert signs or differ(agent, mine) == []


@every_case
def test_without_that_noise_messages_differ(case: str) -> None:
    """So the tests above can fail."""
    agent = overheard(case)
    assert differ(agent, retold(agent, TWINS["every 7th from 3"], agent.draws)) != []


@every_twin
@pytest.mark.parametrize("squares", [False, True])
def test_after_a_switch_too(twin: str, squares: bool) -> None:
    """A life in rounds, then one that relays: the same records from samples with noise to match."""
    before = Settings(name="b", neighbours=(), profile=PROFILE, algorithm=Tracking(squares=squares))
    after = Settings(
        name="b",
        identity=InProcess("b"),
        neighbours=("a",),
        profile=PROFILE,
        algorithm=Relay(release_squares=squares),
    )

    def life(samples: Samples, draws: Numbers | None) -> tuple[Numbers, list[object]]:
        agent, noise, used, sent = Agent(before), SeededLaplace(7), [], []
        for number, one_round in enumerate(samples):
            if number == SWITCH:
                agent = Agent.switched(agent.snapshot(), after=after)
            for sample in one_round:
                agent.observe(sample)
            scales = agent.draws_due
            now = draws[number] if draws is not None else [noise(scale) for scale in scales]
            assert len(now) == len(scales)
            used.append(now)
            effects = agent.step(Begin(agent.round + 1, tuple(now)))
            sent.append((scales, [in_bytes(message) for _, message in effects.send]))
        return used, list(sent)

    draws, sent = life(MINE, None)
    reckoned = Switched.of(before, after, MINE)
    other = TWINS[twin]
    moved = [
        [draw + a - b for draw, a, b in zip(*numbers, strict=True)]
        for numbers in zip(draws, reckoned, Switched.of(before, after, other), strict=True)
    ]
    again, sent_again = life(other, moved)
    assert sent == sent_again
    assert sum(map(len, again)) > 40


class Switched:
    """What goes out where blocks end by one schedule first, then by another."""

    @staticmethod
    def of(before: Settings, after: Settings, samples: Samples) -> Numbers:
        reckoning = Reckoning.of(before)
        schedules = [one.schedule for one in (before, after)]
        block: list[int] = []
        count, closed, end = 0, 0, schedules[0].next_end(0)
        out: Numbers = []
        for number, one_round in enumerate(samples):
            if number == SWITCH:
                end = schedules[1].next_end(closed)
            out.append([])
            for sample in one_round:
                block.append(reckoning.point(sample))
                count += 1
                if count == end:
                    out[-1] += reckoning.moments(block)
                    block, closed = [], count
                    end = schedules[number >= SWITCH].next_end(count)
        return out


def test_a_record_says_only_what_is_public() -> None:
    """Its numbers follow from counts, settings and the noisy sums."""
    agent = overheard("relay")
    record = record_of(agent.boards)
    profile = agent.settings.profile
    assert (record.epsilon, record.bounds) == (profile.epsilon, profile.bounds)
    assert record.sequence == agent.counts.blocks
    assert record.count == agent.counts.released
    assert record.variance is None


def test_one_sample_that_differs_shows_as_little() -> None:
    """By one draw, and by no more than its squares' one: what `test_scales.py` adds up."""
    agent = overheard("relay")
    other = changed(MINE, lambda place, x: 0.9 if place == 200 else x)
    draws = made_up(agent, other)
    assert differ(agent, retold(agent, other, draws)) == []
    assert draws != agent.draws


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
