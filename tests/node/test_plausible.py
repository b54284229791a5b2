"""Absurd numbers are refused, and no honest neighbour's ever are."""

from collections.abc import Callable
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from colme.network import Network
from colme.node.rounds.plausible import require_plausible
from colme.node.wire import Reason, Refused
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.events import Effects
from colme.protocol.messages import ConsensusMessage, of_round
from colme.protocol.rounds.paper import Paper
from colme.protocol.settings import Settings
from colme.rules.decision import Bernstein, PowerTheta
from colme.rules.pooling import LARGEST_EXCESS, SMALLEST_VARIANCE, excess
from colme.rules.release import Profile
from support.tracked import tracking

AGENTS = 8
ROUNDS = 200
BOUNDS = (0.0, 1.0)


def tracked(name: str, neighbours: tuple[str, ...], profile: Profile) -> Settings:
    return tracking(name, neighbours, profile, release_squares=True)


def paper(name: str, neighbours: tuple[str, ...], profile: Profile) -> Settings:
    algorithm = Paper(rule=Bernstein(PowerTheta(3, 1 / 5)))
    return Settings(name=name, neighbours=neighbours, profile=profile, algorithm=algorithm)


MakeSettings = Callable[[str, tuple[str, ...], Profile], Settings]
PROFILE = Profile.bounded(*BOUNDS, epsilon=1)
TRACKED = tracked("me", ("b",), PROFILE)
PAPER = paper("me", ("b",), replace(PROFILE, sigma2=0.01))


ABSURD: dict[str, tuple[Settings, ConsensusMessage, str]] = {
    "a mean of 1e60": (TRACKED, ConsensusMessage(round=1, value=1e60, weight=1), "value"),
    "a mean of 1e60, paper": (PAPER, ConsensusMessage(round=1, value=1e60), "value"),
    "next to no weight": (
        TRACKED,
        ConsensusMessage(round=1, value=1e3, weight=1e-300),
        "value",
    ),
    "a negative weight": (TRACKED, ConsensusMessage(round=1, value=-0.5, weight=-1), "value"),
    "no weight": (TRACKED, ConsensusMessage(round=1, value=0.5, weight=0), "value"),
    "a large excess": (
        TRACKED,
        ConsensusMessage(round=1, value=0.5, weight=1, excess=1e13),
        "excess",
    ),
    "less than no excess": (
        TRACKED,
        ConsensusMessage(round=1, value=0.5, weight=1, excess=-1.001),
        "excess",
    ),
}


@pytest.mark.parametrize(("settings", "message", "field"), ABSURD.values(), ids=list(ABSURD))
def test_an_absurd_shared_mean_is_refused(
    settings: Settings, message: ConsensusMessage, field: str
) -> None:
    with pytest.raises(Refused) as caught:
        require_plausible("b", message, settings)
    assert (caught.value.reason, caught.value.peer) == (Reason.INVALID_VALUE, "b")
    assert caught.value.field.startswith(field)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (TRACKED, ConsensusMessage(round=1, value=0.0, weight=0.0)),
        (TRACKED, ConsensusMessage(round=1, value=7e6, weight=1e7, excess=LARGEST_EXCESS)),
        (TRACKED, ConsensusMessage(round=1, value=0.7e-9, weight=1e-9)),
        (PAPER, ConsensusMessage(round=1, value=0.0, weight=0.0)),
        (PAPER, ConsensusMessage(round=1, value=0.7, weight=0.0)),
        (PAPER, ConsensusMessage(round=1, value=0.7)),
    ],
)
def test_what_may_well_be_is_taken(settings: Settings, message: ConsensusMessage) -> None:
    """The paper's value is the mean itself: its weight says nothing."""
    require_plausible("b", message, settings)


class Suspicious(Network):
    """Every message is looked at by its receiver, as a node would."""

    looked_at = 0

    def _post(self, sender: str, effects: Effects) -> None:
        for receiver, message in effects.send:
            require_plausible(sender, of_round(message), self.agents[receiver].settings)
            self.looked_at += 1
        super()._post(sender, effects)


def neighbours_of(a: int) -> tuple[str, ...]:
    """A ring with chords."""
    return tuple(f"{(a + d) % AGENTS}" for d in (1, 2, AGENTS - 2, AGENTS - 1))


@pytest.mark.parametrize("make", [tracked, paper])
@pytest.mark.parametrize(
    ("epsilons", "bounds"),
    [
        ((0.5,), BOUNDS),
        ((4.0,), BOUNDS),
        ((inf,), BOUNDS),
        ((0.01, 4.0, inf), (1e6, 1e6 + 1)),
    ],
    ids=["0.5", "4", "inf", "mixed, far from 0"],
)
def test_honest_agents_are_never_refused(
    make: MakeSettings, epsilons: tuple[float, ...], bounds: tuple[float, float]
) -> None:
    """Two classes, one of which has data that do not vary; and one agent begins late."""
    sigma2 = 0.01 if make is paper else None
    profiles = [
        Profile.bounded(*bounds, epsilon=epsilons[a % len(epsilons)], sigma2=sigma2)
        for a in range(AGENTS)
    ]
    network = Suspicious(
        (Agent(make(f"{a}", neighbours_of(a), profiles[a])) for a in range(AGENTS)),
        SeededLaplace(5),
    )
    generator = np.random.default_rng(7)
    for number in range(ROUNDS):
        draws = generator.uniform(0.1, 0.3, AGENTS)
        values = [draws[a] if a % 2 else 1.0 for a in range(AGENTS)]
        begun = AGENTS if number > ROUNDS // 2 else AGENTS - 1
        network.run_round({f"{a}": bounds[0] + values[a] for a in range(begun)})
    assert network.looked_at > AGENTS * 4 * 2 * ROUNDS


@pytest.mark.parametrize("deviation", [0.0, 1e-9, 1.0, 1e3, 1e100])
@pytest.mark.parametrize("variance", [SMALLEST_VARIANCE, 1e-12, 0.1])
def test_an_excess_is_never_larger_than_what_is_accepted(deviation: float, variance: float) -> None:
    for own, mean in ((deviation, 0.0), (0.0, deviation)):
        assert -1 <= excess(own, mean, variance) <= LARGEST_EXCESS
