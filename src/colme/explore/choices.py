"""What the sliders say, as one validated object: a scenario to simulate, a network to play with."""

from dataclasses import dataclass
from math import isqrt
from typing import Literal

import tomli_w
from pydantic import Field

from colme import __version__
from colme.config import Table
from colme.experiment.streams import RandomStream, generator
from colme.sim.scenario import Scenario

MOST_IN_A_NETWORK = 60
"""Real agents that are shown: more could not be told apart."""
RUNS = 16
"""Of the curves. So few stand each on a graph of its own, and the first is there at once."""
RECORDED = 25
"""Rounds in which the curves are measured, evenly spaced on a log scale."""
MIDDLE = 0.5
"""Of the class means."""
SLACK = 1e-9
"""Of the bounds, so that rounding puts no sample outside."""

FamilyName = Literal[
    "random-regular", "erdos-renyi", "small-world", "scale-free", "grid", "complete"
]


class Choices(Table):
    """All that a page depends on: the same choices show the same."""

    epsilon: float = Field(1.0, ge=0.05)
    """Of every sample (pure, event level, replace-one, counts public); inf for no privacy."""
    agents: int = Field(48, ge=9, le=200)
    """How many; of the network at most `MOST_IN_A_NETWORK`."""
    degree: int = Field(4, ge=1, le=40)
    """Neighbours of each, or on average."""
    family: FamilyName = "random-regular"
    """Who is whose neighbour."""
    classes: int = Field(3, ge=1, le=5)
    """How many kinds of agents there are."""
    gap: float = Field(0.2, ge=0, le=10)
    """Between the means of two neighbouring classes."""
    largest: float = Field(0.34, gt=0, le=1)
    """The share of the largest class; the others share the rest."""
    sigma: float = Field(0.2, gt=0, le=10)
    """The standard deviation of samples within a class."""
    bounds: float = Field(1.2, ge=1, le=10)
    """How wide the public bounds are, as a multiple of the range of all data."""
    algorithm: Literal["relay", "paper"] = "relay"
    """Of the network; the curves have all of them."""
    rounds: int = Field(500, ge=20, le=5000)
    """Samples of each agent, up to where the curves go."""
    seed: int = Field(1, ge=0, le=2**31)
    """Of graph, classes, data and noise."""

    @property
    def means(self) -> list[float]:
        """Of the classes."""
        first = MIDDLE - self.gap * (self.classes - 1) / 2
        return [first + self.gap * number for number in range(self.classes)]

    @property
    def common_bounds(self) -> tuple[float, float]:
        """Public, and the same for all."""
        reach = self.gap * (self.classes - 1) / 2 + self.sigma * 3**0.5
        half = reach * self.bounds * (1 + SLACK)
        return MIDDLE - half, MIDDLE + half

    @property
    def members(self) -> list[int]:
        """The class of each agent, in an order that says nothing of who is whose neighbour."""
        first = max(round(self.largest * self.agents), -(-self.agents // self.classes))
        others = [1 + number % (self.classes - 1) for number in range(self.agents - first)]
        lots = generator(self.seed, RandomStream.EXPLORER_CLASSES)
        return [int(one) for one in lots.permutation([0] * first + others)]

    def scenario(self) -> Scenario:
        """As the simulator takes it."""
        degree = {} if self.family in ("grid", "complete") else {"degree": self.degree}
        return Scenario(
            agents=self.agents,
            graph={"family": self.family, **degree},
            means=self.means,
            classes=self.members,
            data={"distribution": "uniform", "sigma": self.sigma},
            bounds=self.common_bounds,
            epsilon=self.epsilon,
            rounds=self.rounds,
            recorded=RECORDED,
            eventful=False,
            runs=RUNS,
            seed=self.seed,
            # As the library has them: relay knows no variance beforehand.
            algorithms=[{"algorithm": "relay", "variance": "released"}, "paper"],
        )


def as_toml(choices: Choices) -> str:
    """Return a file that `colme simulate` takes: all fields that are not at their default."""
    given = choices.scenario().model_dump(exclude_unset=True)
    return (
        f"# Written by colme explore {__version__}: colme simulate scenario.toml --out result\n"
        "# epsilon: pure epsilon-DP for each sample (event level, replace-one, counts public)\n"
        f"{tomli_w.dumps(given)}"
    )


@dataclass(frozen=True, slots=True)
class Fitted:
    """Choices of which there is a graph, and what had to be moved for it."""

    choices: Choices
    notes: tuple[str, ...]


def fitted(asked: Choices) -> Fitted:
    """The nearest choices of which there is a graph: sliders do not know of each other."""
    notes = []
    agents, degree = asked.agents, asked.degree
    if asked.family == "grid":
        agents = max(3, round(agents**0.5)) ** 2
        if agents > 200:
            agents = isqrt(200) ** 2
    elif asked.family == "complete":
        agents = min(agents, MOST_IN_A_NETWORK)
    else:
        degree = min(degree, agents - 1)
        if asked.family in ("small-world", "scale-free"):
            degree = max(2, degree - degree % 2)
        elif asked.family == "random-regular" and agents * degree % 2:
            degree += -1 if degree > 1 else 1
    if agents != asked.agents:
        why = "a square" if asked.family == "grid" else "at most so many, all neighbours"
        notes.append(f"{agents} agents: {why}")
    if degree != asked.degree:
        notes.append(f"degree {degree}: there is no {asked.family} graph of {asked.degree} here")
    return Fitted(asked.model_copy(update={"agents": agents, "degree": degree}), tuple(notes))


def for_network(choices: Choices) -> Choices:
    """The same with as many agents as can be shown."""
    if choices.agents <= MOST_IN_A_NETWORK:
        return choices
    fewer = choices.model_copy(update={"agents": MOST_IN_A_NETWORK})
    shown = fitted(fewer).choices
    # The square nearest to sixty is larger than that.
    return shown if shown.agents <= MOST_IN_A_NETWORK else shown.model_copy(update={"agents": 49})
