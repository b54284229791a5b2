"""From an algorithm in rounds to relay: one first block, and no sample noised twice."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from colme.errors import ConfigError, SnapshotError
from colme.privacy.ledger import Ledger
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.algorithm import Algorithm
from colme.protocol.board.identity import InProcess
from colme.protocol.events import Begin, Deadline
from colme.protocol.rounds.paper import Paper
from colme.protocol.rounds.state import Phase
from colme.protocol.settings import Settings
from colme.protocol.stream import Stream
from colme.protocol.upgrades import as_one_block
from colme.relay import Relay
from colme.rules.release import EVEN, Blocks, Profile, Weights
from colme.rules.weighing import WeighedBlocks, blend
from support.boards import record_of
from support.old_states import SNAPSHOTS, settings_of, story_of
from support.refusing import refused
from support.retired import Tracking

PROFILE = Profile.bounded(0, 1, epsilon=1.0, sigma2=0.05)
BEFORE: dict[str, Algorithm] = {
    "paper": Paper(),
    "tracking": Tracking(),
    "tracking with squares": Tracking(squares=True),
}
every_before = pytest.mark.parametrize("case", BEFORE)


def settings(algorithm: Algorithm) -> Settings:
    return Settings(
        name="me", identity=InProcess("me"), neighbours=("b",), profile=PROFILE, algorithm=algorithm
    )


def lived(case: str, samples: int, *, waiting: int = 0) -> Agent:
    """An agent in rounds after so many samples, the last of which no round has seen."""
    agent, noise = Agent(settings(BEFORE[case])), SeededLaplace(3)
    for number in range(samples):
        agent.observe(0.3 + number % 7 / 20)
        if number < samples - waiting:
            agent.step(Begin(agent.round + 1, tuple(map(noise, agent.draws_due))))
            while agent.phase is not Phase.IDLE:
                agent.step(Deadline())
    return agent


def after(case: str, **options: Any) -> Settings:
    return settings(Relay(release_squares=BEFORE[case].release_squares, **options))


def switched(agent: Agent, case: str) -> Agent:
    return Agent.switched(agent.snapshot(), after=after(case))


@every_before
def test_what_was_released_is_one_block_with_the_noise_of_all(case: str) -> None:
    """The same mean as before, the same draws, and the variance that so many draws make."""
    old = lived(case, 100)
    new = switched(old, case)
    assert new.draws_due == ()
    new.step(Begin(1, ()))
    record = record_of(new.boards)
    assert old.release is not None
    assert record.mean == pytest.approx(old.release.mean, abs=1e-15)
    assert (record.count, record.sequence) == (old.counts.released, old.counts.blocks)
    assert (record.past_count, record.past_draws) == (record.count, record.sequence)
    made = blend(record.schedule, record.count, record.past_count, record.past_draws)
    claimed = made.data * PROFILE.sigma2 + made.noise * PROFILE.half_range**2
    assert claimed == pytest.approx(PROFILE.released_variance(record.count, old.counts.blocks))


@every_before
def test_no_sample_is_noised_twice_and_none_is_forgotten(case: str) -> None:
    """Draws are asked for as many blocks as end after the switch, and the ledger goes on."""
    old = lived(case, 100)
    new = switched(old, case)
    assert Ledger.of(new) == Ledger.of(old)
    per_block = 2 if BEFORE[case].release_squares else 1
    end = WeighedBlocks(1.0).next_end(old.counts.released)
    asked = 0
    for _ in range(old.counts.taken, end):
        new.observe(0.5)
        asked += len(new.draws_due)
    assert asked == per_block
    new.step(Begin(1, (11,) * per_block))
    assert new.counts.released == end
    assert new.counts.blocks == old.counts.blocks + 1
    exact = Agent.restore(new.settings, new.snapshot())
    assert exact.snapshot() == new.snapshot()


@every_before
def test_blocks_that_wait_get_their_noise_once_and_until_then_nothing_is_shown(case: str) -> None:
    old = lived(case, 120, waiting=60)
    waiting = len(old.draws_due)
    assert waiting > 0
    new = switched(old, case)
    assert new.draws_due == old.draws_due
    assert new.boards.board.get(new.boards.origin) is None
    draws = tuple(range(1, waiting + 1))
    new.step(Begin(1, draws))
    old.step(Begin(old.round + 1, draws))
    assert old.release is not None
    record = record_of(new.boards)
    assert record.mean == pytest.approx(old.release.mean, abs=1e-15)
    assert (record.count, record.past_draws) == (old.counts.released, old.counts.blocks)
    assert new.draws_due == ()


def test_before_its_first_block_ends_there_is_nothing_to_carry_over() -> None:
    old = lived("tracking", 5)
    new = Agent.switched(old.snapshot(), after=settings(Relay()))
    first = new.settings.schedule.next_end(0)
    for _ in range(first - 5):
        new.observe(0.5)
    assert len(new.draws_due) == 2
    new.step(Begin(1, (1, 2)))
    assert (record_of(new.boards).past_count, record_of(new.boards).count) == (0, first)


@pytest.mark.parametrize("early", [0, 128, 255])
@pytest.mark.parametrize("taken", range(1, 17))
def test_a_block_that_is_open_already_ends_where_it_would_have(taken: int, early: int) -> None:
    """Whatever the new schedule had given it: each sample is in one block, with one draw."""
    stream, before, after = Stream(), Blocks(1.0), WeighedBlocks(1.0, early)
    for _ in range(taken):
        stream.observe(0.25, PROFILE, before)
    stream.publish((0,) * stream.blocks_due, before, squares=False)
    one = as_one_block(stream, after)
    assert one.block_end > taken
    drawn = one.blocks
    for _ in range(taken, 100):
        one.observe(0.25, PROFILE, after)
        drawn += one.blocks_due
        one.publish((0,) * one.blocks_due, after, squares=False)
        if one.past_draws <= one.blocks != 0:
            made = blend(after, one.released_count, one.past_count, one.past_draws)
            assert made.count == one.released_count
            # Of constant data without noise every mean is the same, if weights are.
            assert one.released_mean(PROFILE, made.weight) == 0.25
    assert one.released_count > 40
    assert drawn == one.blocks


@dataclass(frozen=True)
class LongBlocks:
    """Longer than those of relay: what is open at a switch belongs to the past."""

    def next_end(self, count: int) -> int:
        return count + 200 if count else 10

    def weights(self, samples: int, draws: int) -> Weights:
        return EVEN


def test_while_a_part_of_the_past_is_open_nothing_is_shown() -> None:
    """Half of the first block has its noise, the other half would go out bare."""
    old = Agent(settings(Paper(schedule=LongBlocks())))
    for _ in range(100):
        old.observe(0.25)
    old.step(Begin(1, (5,)))
    new = Agent.switched(old.snapshot(), after=after("paper"))
    new.step(Begin(1, ()))
    assert new.boards.board.get(new.boards.origin) is None
    for _ in range(110):
        new.observe(0.25)
    new.step(Begin(2, (-5,)))
    assert (record_of(new.boards).count, record_of(new.boards).past_draws) == (210, 2)
    assert record_of(new.boards).mean == 0.25


def test_a_new_mean_weighs_what_is_past_by_its_noise() -> None:
    """Blocks of one sample are loud: what comes after the switch soon weighs more."""
    old = lived("paper", 100)
    new = switched(old, "paper")
    weights = WeighedBlocks(1.0).weights(100, 100).sum, WeighedBlocks(1.0).weights(80, 1).sum
    for _ in range(80):
        new.observe(0.9)
    new.step(Begin(1, (0,)))
    assert old.release is not None
    expected = (100 * weights[0] * old.release.mean + 80 * weights[1] * 0.9) / (
        100 * weights[0] + 80 * weights[1]
    )
    assert record_of(new.boards).mean == pytest.approx(expected, abs=1e-6)
    assert weights[1] > 10 * weights[0]


KNOWN = settings(Relay(release_squares=False))
REFUSED = {
    "epsilon": replace(KNOWN, profile=replace(PROFILE, epsilon=2)),
    "bounds": replace(KNOWN, profile=Profile.bounded(0, 2, epsilon=1)),
    "name": replace(KNOWN, name="you"),
    "release_squares": settings(Relay()),
}


@pytest.mark.parametrize("field", REFUSED)
def test_a_switch_to_another_promise_is_refused(field: str) -> None:
    old = lived("tracking", 100)
    with refused(SnapshotError, field):
        Agent.switched(old.snapshot(), after=REFUSED[field])


def test_a_state_that_relays_is_not_switched_again() -> None:
    """Its blocks are weighed already: to weigh them once more would tell another mean."""
    new = switched(lived("tracking", 100), "tracking")
    with refused(SnapshotError, "algorithm"):
        Agent.switched(new.snapshot(), after=new.settings)


def test_nothing_but_an_algorithm_that_relays_is_switched_to() -> None:
    old = lived("paper", 100)
    with refused(ConfigError, "after.algorithm"):
        Agent.switched(old.snapshot(), after=settings(Paper()))


def test_only_a_word_switches() -> None:
    """A state in rounds is not opened as one that relays, nor the other way round."""
    old = lived("tracking", 100)
    with refused(SnapshotError, "algorithm", seen="tracking"):
        Agent.restore(after("tracking"), old.snapshot())
    new = switched(old, "tracking")
    with refused(SnapshotError, "algorithm", seen="relay"):
        Agent.restore(old.settings, new.snapshot())


@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: path.stem)
def test_an_old_state_stays_what_it_is_until_it_is_switched(path: Path) -> None:
    """Each stored state of rounds, of any version: its ledger goes on as it was."""
    relaying, data = settings_of(path), story_of(path)["snapshot"]
    with refused(SnapshotError, "algorithm"):
        Agent.restore(relaying, data)
    new, stream = (
        Agent.switched(data, after=relaying),
        data.get("stream") or data["state"]["stream"],
    )
    assert Ledger.of(new) == Ledger(
        epsilon=4,
        samples=stream["released_count"],
        blocks=stream["blocks"],
        waiting=stream["count"] - stream["released_count"],
    )
    each = 2 if relaying.algorithm.release_squares else 1
    assert len(new.draws_due) == each * stream["blocks_due"]
