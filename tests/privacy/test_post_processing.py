"""All that is ever sent is computed from releases, and samples enter those by the lattice only."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from colme.errors import ColmeError
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.events import Begin, Effects, Event
from colme.protocol.messages import Message
from colme.protocol.network import Network
from colme.protocol.rounds.paper import Paper
from colme.protocol.settings import Settings
from colme.protocol.stream import Stream
from colme.rules.decision import Oracle
from colme.rules.release import (
    EVERY_SAMPLE,
    LATTICE_HALF_WIDTH,
    Profile,
)

LOW, HIGH = 0.0, 1.0


class Overheard(Agent):
    """An agent that keeps all it has ever sent."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.sent: list[tuple[str, Message]] = []

    def step(self, event: Event) -> Effects:
        effects = super().step(event)
        self.sent += effects.send
        return effects


@dataclass
class Compensated:
    """Noise for one agent of a network, the first to draw, that hides its samples altogether."""

    source: SeededLaplace
    corrections: Sequence[int]
    drawn: int = 0

    def __call__(self, scale: float) -> int:
        draw = self.source(scale)
        self.drawn += 1
        if self.drawn <= len(self.corrections):
            draw += self.corrections[self.drawn - 1]
        return draw


NAMES = ("a", "b", "c", "d")


def overheard(
    make: Callable[[str, tuple[str, ...]], Settings], sample: float, corrections: Sequence[int]
) -> tuple[dict[str, list[tuple[str, Message]]], dict[str, Any]]:
    """All messages of 40 rounds of four agents, of whom "a" has `sample` as its first one."""
    agents = [Overheard(make(me, tuple(name for name in NAMES if name != me))) for me in NAMES]
    network = Network(agents, Compensated(SeededLaplace(20), corrections))
    generator = np.random.default_rng(21)
    for _ in range(40):
        samples = dict(zip(NAMES, generator.integers(0, 9, len(NAMES)) / 8, strict=True))
        network.run_round({**samples, "a": sample if network.round == 0 else samples["a"]})
    return (
        {agent.settings.name: agent.sent for agent in agents},
        {name: network.estimate(name) for name in NAMES},
    )


def paper(me: str, others: tuple[str, ...]) -> Settings:
    profile = Profile.bounded(LOW, HIGH, epsilon=2)
    algorithm = Paper(rule=Oracle(frozenset(others)))
    return Settings(name=me, neighbours=others, profile=profile, algorithm=algorithm)


def recommended(me: str, others: tuple[str, ...]) -> Settings:
    return Settings.recommended(me, others, Profile.bounded(LOW, HIGH, epsilon=2))


def recommended_with_squares(me: str, others: tuple[str, ...]) -> Settings:
    profile = Profile.bounded(LOW, HIGH, epsilon=2)
    return Settings.recommended(me, others, profile, release_squares=True)


@pytest.mark.parametrize("make", [paper, recommended, recommended_with_squares])
def test_all_that_is_ever_sent_is_computed_from_releases(
    make: Callable[[str, tuple[str, ...]], Settings],
) -> None:
    """Where noise makes up for the other sample, every message of everyone is the same, bit by bit.

    Only the owner's own answer, which is never sent, differs.
    """
    steps = 2 * LATTICE_HALF_WIDTH
    low, high = 0.25, HIGH
    by_sum = round((high - low) * steps)
    by_square = round((high - 0.5) * steps) ** 2 - round((low - 0.5) * steps) ** 2
    corrections = (by_sum, by_square) if make is recommended_with_squares else (by_sum,)
    sent, answers = overheard(make, high, [0] * len(corrections))
    sent_other, answers_other = overheard(make, low, corrections)
    assert sent == sent_other
    assert answers["a"].local != answers_other["a"].local
    assert {**answers, "a": None} == {**answers_other, "a": None}


@pytest.mark.parametrize("make", [paper, recommended])
def test_without_that_noise_messages_differ(
    make: Callable[[str, tuple[str, ...]], Settings],
) -> None:
    """So the test above can fail."""
    assert overheard(make, HIGH, [0])[0] != overheard(make, 0.25, [0])[0]


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
        profile = Profile.bounded(LOW, HIGH, epsilon=1)
        agent = Agent(Settings.recommended("me", (), profile))
        for value in [sample] + [0.25, 0.75] * 200:
            agent.observe(value)
        agent.step(Begin(1, (draw,) + (0,) * (len(agent.draws_due) - 1)))
        switched = Settings.recommended("me", (), profile, release_squares=True)
        try:
            again = Agent.restore(switched, agent.snapshot())
        except ColmeError:
            return None
        again.step(Begin(2, (0,) * len(again.draws_due)))
        return again.release

    assert after_the_switch(0.5, LATTICE_HALF_WIDTH) == after_the_switch(HIGH, 0)


@pytest.mark.parametrize("bounds", [(1.0, 1 + 3 * 2.0**-52), (0.0, 1e-320), (1e9, 1e9 + 1e-3)])
def test_bounds_too_close_for_the_lattice_are_refused(bounds: tuple[float, float]) -> None:
    """Their midpoint would be off centre by steps, and squares could move by more than reckoned."""
    with pytest.raises(ColmeError, match=r"bounds: .* room for"):
        Profile.bounded(*bounds, epsilon=1)
