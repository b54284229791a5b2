"""Where relay might do harm, and what it must be worth: every cell a scenario, a bar and a goal."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from colme.rules.weighing import WeighedBlocks
from colme.sim.figures import PAPER
from colme.sim.scenario import Scenario
from research.readings import (
    RELAY,
    BytesSent,
    Coverage,
    Gain,
    Halved,
    Harm,
    OfBeside,
    OfClassIdeal,
    OfKnown,
    Reading,
)

RUNS, QUICK_RUNS = 32, 8
MORE_RUNS = 128
"""Of the paper's setting itself; of graphs, whose rounds are few; where a bar is near."""
MOST_RUNS = 256
"""Where the worst is near its bar, early, and few agents make most of it: 1,000 rounds then do."""
MANY_RUNS = 512
"""Where there are eight agents, or rounds are few and so are those who make the difference."""

ASKED = 24
"""Agents of each run, or all where there are fewer."""
FEW_ASKED = 8
"""Of a thousand, whose boards take five times as long."""

ROUNDS = 10_000
MARKS = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000)
"""Rounds that are always recorded."""
HALVED_BY = (40, 60, 100, 150)
"""Rounds by which an error is to be half of Local's: recorded, too."""
LOG_SPACED = 40
RELEASES = 24
"""Of a schedule, whose surroundings are recorded: evenly spaced on a log scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A scenario, what is read off it, and the scenario that it is compared with, if any."""

    name: str
    scenario: Scenario
    readings: tuple[Reading, ...]
    beside: Scenario | None = None
    sample: bool = False
    """Whether it is one of the few that a quick look takes."""


def rows(*, seed: int = 1, quick: bool = False) -> Iterator[Row]:
    """All of them, or a sample with few runs."""
    for row in _rows(seed):
        if not quick:
            yield row
        elif row.sample:
            runs = {"runs": QUICK_RUNS}
            yield Row(
                name=row.name,
                scenario=row.scenario.model_copy(update=runs),
                readings=row.readings,
                beside=row.beside and row.beside.model_copy(update=runs),
                sample=True,
            )


def _rows(seed: int) -> Iterator[Row]:
    yield from _paper(seed)
    yield from _graphs(seed)
    yield from _unkind(seed)
    yield from _few(seed)
    yield from _small_classes(seed)
    yield from _liars(seed)
    yield from _variance(seed)


def _paper(seed: int) -> Iterator[Row]:
    gains = (
        Gain(t=30, bar=0.95, goal=0.8),
        Gain(t=100, bar=0.6, goal=0.5),
        Gain(t=300, bar=0.1, goal=0.055),
        Halved(bar=150, goal=100),
        OfClassIdeal(t=30_000, bar=1.2, goal=1.05),
        Harm(bar=1.08, goal=1.02),
        _coverage(1.0),
        BytesSent(bar=110, goal=60),
    )
    for degree in (20, 5):
        yield Row(
            name=f"paper's classes, epsilon 1, r = {degree}",
            scenario=_scenario(seed, graph={"degree": degree}, rounds=30_000, runs=MORE_RUNS),
            readings=gains,
        )
        yield Row(
            name=f"paper's classes, epsilon 4, r = {degree}",
            scenario=_scenario(seed, graph={"degree": degree}, epsilon=4.0, runs=MORE_RUNS),
            readings=(Halved(bar=60, goal=40), Harm(bar=1.08, goal=1.02), _coverage(4.0)),
            sample=degree == 5,
        )
    for epsilon in (0.3, inf):
        yield Row(
            name=f"paper's classes, epsilon {epsilon:g}, r = 5",
            scenario=_scenario(seed, epsilon=epsilon),
            readings=(Harm(bar=1.08, goal=1.02), _coverage(epsilon)),
        )


def _graphs(seed: int) -> Iterator[Row]:
    """The same agents, data and noise on the complete graph beside each."""
    hubs = [(a, (a + 1) % 5) for a in range(5)]
    hubs += [(hub, 5 + 39 * hub + leaf) for hub in range(5) for leaf in range(39)]
    graphs: dict[str, dict[str, Any]] = {
        "star": {"family": "edges", "edges": [(0, a) for a in range(1, 200)]},
        "ring": {"family": "edges", "edges": [(a, (a + 1) % 200) for a in range(200)]},
        "path of 60": {"family": "edges", "edges": [(a, a + 1) for a in range(59)]},
        "five hubs with 39 leaves": {"family": "edges", "edges": hubs},
        "scale-free, degree 2": {"family": "scale-free", "degree": 2},
    }
    for name, graph in graphs.items():
        agents = 60 if name == "path of 60" else 200
        fields: dict[str, Any] = {"rounds": MARKS[-1], "recorded": list(MARKS), "agents": agents}
        # The same agents are asked on both: who takes another class's mean makes most of the error,
        # and those who hold the same board are others on each.
        fields |= {"asked": list(range(0, agents, agents // ASKED))}
        # Where records are on their way for long the two differ, by a few agents in a few runs.
        fields |= {"runs": MANY_RUNS if name in ("ring", "path of 60") else MORE_RUNS}
        yield Row(
            name=name,
            scenario=_scenario(seed, graph=graph, **fields),
            readings=tuple(OfBeside(t=t, bar=1.1, goal=1.02) for t in (1_000, 30_000)),
            beside=_scenario(seed, graph={"family": "complete"}, **fields),
        )


def _unkind(seed: int) -> Iterator[Row]:
    """What must cost nobody anything, on average over the agents."""
    different = {"centre": 0.5, "spread": 0.1}
    worlds: dict[str, dict[str, Any]] = {
        **{
            f"means {0.4 - g:g}, 0.4, {0.4 + 2 * g:g}": {"means": [0.4 - g, 0.4, 0.4 + 2 * g]}
            for g in (0.05, 0.1, 0.4)
        },
        "every mean different, uniform": {"means": {"distribution": "uniform", **different}},
        "every mean different, normal": {"means": {"distribution": "normal", **different}},
        "Bernoulli 0.01, 0.03, 0.3": {
            "means": [0.01, 0.03, 0.3],
            "data": {"distribution": "bernoulli"},
            "runs": MORE_RUNS,
        },
        "beta, skewed, 0.01, 0.03, 0.3": {
            "means": [0.01, 0.03, 0.3],
            "data": {"distribution": "beta", "concentration": 4},
        },
        "variances 9-fold apart, independent of the mean": {
            "means": [0.2, 0.2, 0.4, 0.4, 0.8, 0.8],
            "data": {"distribution": "uniform", "sigma": [0.5, 1 / 6] * 3},
        },
        "variances 9-fold apart, rising with the mean": {
            "data": {"distribution": "uniform", "sigma": [1 / 6, 0.5 / 3**0.5, 0.5]},
        },
        "sigma2 declared twice too large": {
            "declared": 2.0,
            "runs": MOST_RUNS,
            "rounds": 1_000,
        },
        "M = 30": {"agents": 30, "runs": MORE_RUNS},
        "M = 1,000": {"agents": 1_000, "asked": FEW_ASKED},
    }
    for name, fields in worlds.items():
        for epsilon in (1.0, 4.0):
            yield Row(
                name=f"{name}, epsilon {epsilon:g}",
                scenario=_scenario(seed, epsilon=epsilon, **fields),
                readings=(Harm(bar=1.08, goal=1.02), _coverage(epsilon)),
                sample=name.startswith(("every mean different, n", "M = 30")) and epsilon == 4,
            )


def _few(seed: int) -> Iterator[Row]:
    worlds: dict[str, dict[str, Any]] = {
        "classes": {},
        "normal means": {"means": {"distribution": "normal", "centre": 0.5, "spread": 0.1}},
    }
    for name, fields in worlds.items():
        for epsilon in (1.0, 4.0):
            yield Row(
                name=f"M = 8, {name}, epsilon {epsilon:g}",
                scenario=_scenario(
                    seed,
                    agents=8,
                    graph={"family": "complete"},
                    epsilon=epsilon,
                    runs=MANY_RUNS,
                    **fields,
                ),
                readings=(Harm(bar=1.15, goal=1.05),),
                sample=name == "classes" and epsilon == 4,
            )


def _small_classes(seed: int) -> Iterator[Row]:
    """Only the members of the small class are asked."""
    for size, share, limits in ((10, "5%", Harm(bar=3, goal=2.3)), (2, "1%", Harm(bar=6, goal=4))):
        for place, means in (("beside", [0.2, 0.4, 0.8]), ("between", [0.4, 0.2, 0.8])):
            rest = 200 - size
            classes = [0] * size + [1] * (rest // 2) + [2] * (rest - rest // 2)
            for epsilon in (1.0, 4.0):
                yield Row(
                    name=f"a class of {share} {place} the others, epsilon {epsilon:g}",
                    scenario=_scenario(
                        seed,
                        means=means,
                        classes=classes,
                        epsilon=epsilon,
                        asked=list(range(size)),
                        runs=MORE_RUNS,
                    ),
                    readings=(limits,),
                )


def _liars(seed: int) -> Iterator[Row]:
    lies: dict[str, tuple[dict[str, Any], float, float]] = {
        "biased by 0.2": ({"kind": "bias", "by": 0.2}, 0.05, 0.03),
        "two standard deviations off": ({"kind": "off", "deviations": 2.0}, 0.5, 0.3),
        "all say 0.6": ({"kind": "constant", "value": 0.6}, 0.05, 0.03),
        "1,000 times the count, off by 0.02": (
            {"kind": "off", "deviations": 0.0, "by": 0.02, "count_times": 1_000},
            0.1,
            0.04,
        ),
    }
    for name, (lie, bar, goal) in lies.items():
        yield Row(
            name=f"30% liars, {name}",
            scenario=_scenario(seed, liars={**lie, "share": 0.3}),
            readings=(Gain(t=ROUNDS, bar=bar, goal=goal), Harm(bar=1.4, goal=1.15)),
            sample=name == "all say 0.6",
        )
    invented = {"kind": "constant", "value": 0.6, "count": 1, "invented": 199}
    yield Row(
        name="as many invented agents as honest ones, all say 0.6",
        scenario=_scenario(seed, liars=invented),
        readings=(Harm(bar=1.5, goal=1.25),),
    )


def _variance(seed: int) -> Iterator[Row]:
    """All are asked, both ways: late, an error is that of the few who take another class's mean."""
    for epsilon in (1.0, 4.0):
        yield Row(
            name=f"variance released, epsilon {epsilon:g}",
            scenario=_scenario(
                seed,
                epsilon=epsilon,
                rounds=MARKS[-1],
                recorded=list(MARKS),
                asked=list(range(PAPER.agents)),
                more=[{"name": OfKnown.released, "algorithm": "relay", "variance": "released"}],
            ),
            readings=(OfKnown(first=100, bar=1.15, goal=1.05),),
        )


def _scenario(
    seed: int,
    *,
    epsilon: float = 1.0,
    graph: dict[str, Any] | None = None,
    rounds: int = ROUNDS,
    runs: int = RUNS,
    asked: int | list[int] = ASKED,
    more: list[dict[str, Any]] | None = None,
    **fields: Any,
) -> Scenario:
    """The paper's, but for what is said."""
    algorithms = [{"name": RELAY, "algorithm": "relay"}, *(more or [])]
    return PAPER.changed(
        graph=graph or {"degree": 5},
        epsilon=epsilon,
        rounds=rounds,
        runs=runs,
        seed=seed,
        algorithms=[one | {"measured": asked} for one in algorithms],
        eventful=False,
        **{"recorded": _recorded(epsilon, rounds)} | fields,
    )


def _recorded(epsilon: float, rounds: int) -> list[int]:
    """Log-spaced rounds; before and after some releases, and when all have them."""
    found = np.rint(np.geomspace(1, rounds, LOG_SPACED)).astype(np.int64).tolist()
    found += MARKS + HALVED_BY
    schedule, ends = WeighedBlocks(epsilon), [0]
    while ends[-1] < rounds:
        ends.append(schedule.next_end(ends[-1]))
    wanted = np.searchsorted(ends, np.geomspace(1, rounds, RELEASES))
    for end in {ends[place] for place in wanted}:
        found += [end - 1, end + 1, end + DIAMETER]
    return sorted({t for t in found if 1 <= t <= rounds})


DIAMETER = 5
"""Of the paper's graph of degree 5, or less."""

RELEASED = 10
"""Samples that everybody has released, from which on coverage counts."""


def _coverage(epsilon: float) -> Coverage:
    schedule, end = WeighedBlocks(epsilon), 0
    while end < RELEASED:
        end = schedule.next_end(end)
    return Coverage(first=end + DIAMETER, bar=0.9, goal=0.93)
