"""What an agent that relays ever sends is computed from releases, and costs epsilon."""

from functools import cache
from typing import Any

import pytest

from colme.network import Network
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.algorithm import Algorithm
from colme.protocol.board.identity import InProcess
from colme.protocol.events import Begin, Received, Returned
from colme.protocol.settings import Settings
from colme.relay import Relay
from colme.rules.release import Profile
from support.boards import NOTHING_HELD, record_of
from support.overheard import Overheard, differ, in_bytes, retold
from support.retired import Tracking
from support.twins import Numbers, Reckoning, Samples, changed, stream, twins

LOW, HIGH = 0.0, 1.0
ROUNDS, SWITCH = 144, 60
EPSILON = 6.0
"""Blocks of one sample at first and of several later."""
MINE = stream(ROUNDS, seed=20)
for late in range(100, ROUNDS, 4):
    MINE[late] += 50 * [0.1, 0.45]
TWINS = dict(twins(MINE))
CASES: dict[str, Algorithm] = {
    "known variance": Relay(release_squares=False),
    "squares": Relay(),
}
every_case = pytest.mark.parametrize("case", CASES)
NAMES = ("a", "b", "c", "d")
PATH = {"a": ("b",), "b": ("a", "c"), "c": ("b", "d"), "d": ("c",)}


@cache
def overheard(case: str) -> Overheard:
    """Agent b, which passes on what a and those beyond c have released."""
    profile = Profile.bounded(LOW, HIGH, epsilon=EPSILON, sigma2=0.05)
    agents = {
        name: Overheard(
            Settings(
                name=name,
                identity=InProcess(name),
                neighbours=PATH[name],
                profile=profile,
                algorithm=CASES[case],
            )
        )
        for name in NAMES
    }
    network = Network(agents.values(), SeededLaplace(21))
    others = {name: stream(ROUNDS, seed) for name, seed in (("a", 22), ("c", 23), ("d", 24))}
    for number, mine in enumerate(MINE):
        for sample in mine:
            agents["b"].observe(sample)
        for name, samples in others.items():
            for sample in samples[number]:
                network.observe(name, sample)
        network.run_round()
        if number % 40 == 39:
            agents["b"].step(Returned("a"))
    return agents["b"]


ASKED = [Received(peer, NOTHING_HELD) for peer in ("a", "c")]
"""A restarted agent asks, and a neighbour answers."""


@every_case
def test_the_agent_has_lived_through_all_that_may_tell(case: str) -> None:
    agent = overheard(case)
    per_block = 2 if CASES[case].release_squares else 1
    blocks = [len(draws) // per_block for draws in agent.draws]
    assert max(blocks[:10]) > 1, "several blocks at a tick"
    assert blocks.count(0) > 10, "and none at some"
    assert agent.clamped > 20
    records = agent.boards.board.records
    assert len(records) == len(NAMES), "and it has passed on everybody's"
    assert agent.boards.origin in {record.origin for record in records}


@every_case
def test_it_draws_once_for_each_number_of_each_block(case: str) -> None:
    agent = overheard(case)
    numbers = Reckoning.of(agent.settings).numbers(MINE)
    assert list(map(len, agent.draws)) == list(map(len, numbers))


@every_case
@pytest.mark.parametrize("restarts", [0, 31])
@pytest.mark.parametrize("twin", TWINS)
def test_all_that_is_ever_sent_is_computed_from_releases(
    case: str, twin: str, restarts: int
) -> None:
    """Where noise makes up for the other samples, every message is the same, byte by byte."""
    agent, other = overheard(case), TWINS[twin]
    draws = Reckoning.of(agent.settings).made_up(agent.draws, MINE, other)
    lives: dict[str, Any] = {"restarts": restarts, "once_restarted": ASKED}
    mine = retold(agent, MINE, agent.draws, **lives)
    assert differ(mine, retold(agent, other, draws, **lives)) == []


@every_case
def test_without_that_noise_messages_differ(case: str) -> None:
    """So the test above can fail."""
    agent = overheard(case)
    other = retold(agent, TWINS["every 7th from 3"], agent.draws)
    assert differ(agent, other) != []


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("squares", [False, True])
def test_after_a_switch_too(twin: str, squares: bool) -> None:
    """A life in rounds, then one that relays: the same records from samples with noise to match."""
    profile = Profile.bounded(LOW, HIGH, epsilon=EPSILON, sigma2=0.05)
    before = Settings(
        name="b",
        identity=InProcess("b"),
        neighbours=(),
        profile=profile,
        algorithm=Tracking(squares=squares),
    )
    after = Settings(
        name="b",
        identity=InProcess("b"),
        neighbours=("a",),
        profile=profile,
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
    made_up = [
        [draw + a - b for draw, a, b in zip(*numbers, strict=True)]
        for numbers in zip(draws, reckoned, Switched.of(before, after, other), strict=True)
    ]
    again, sent_again = life(other, made_up)
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
    agent = overheard("squares")
    record = record_of(agent.boards)
    profile = agent.settings.profile
    assert (record.epsilon, record.bounds) == (profile.epsilon, profile.bounds)
    assert record.sequence == agent.counts.blocks
    assert record.count == agent.counts.released
    assert record.variance is None


def test_one_sample_that_differs_shows_as_little() -> None:
    """By one draw, and by no more than its squares' one: what `test_scales.py` adds up."""
    agent = overheard("squares")
    other = changed(MINE, lambda place, x: 0.9 if place == 200 else x)
    draws = Reckoning.of(agent.settings).made_up(agent.draws, MINE, other)
    assert differ(agent, retold(agent, other, draws)) == []
    assert draws != agent.draws
