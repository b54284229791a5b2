"""What relay is held against: the paper's setting, and everything that is unkind to it."""

from dataclasses import dataclass
from math import inf

import numpy as np

from relay_measure import Figure, at, coverage, of_ideal, worst_class, worst_round
from relay_world import (
    World,
    all_say,
    biased,
    classes,
    coins,
    different,
    false_class,
    lognormal,
    off,
    overstated,
    skewed,
)

PAPER = [0.2, 0.4, 0.8]
COINS = [0.01, 0.03, 0.3]
RARE = [0.002, 0.005, 0.02, 0.1]
COMMON = 1.17
"""Half the range of bounds that hold all three classes of the paper, around 1/2."""

COVERED = 0.9
"""At least, of 95% intervals."""

PACES = [0.01, 0.03, 0.1, 0.3, 1.0]
EPSILONS = [0.1, 0.3, 1.0, 4.0, 16.0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A world, what is read off it, and what that may be at most."""

    world: World
    figures: tuple[Figure, ...]
    runs: int = 32


def _rows() -> dict[str, Row]:
    rows = {
        "paper, epsilon 1": Row(
            world=World(population=classes(PAPER)),
            figures=(
                at(30, 0.95),
                at(100, 0.6),
                at(300, 0.1),
                worst_round(1.03),
                worst_class(1.25),
                coverage(COVERED),
            ),
        ),
        "paper, epsilon 4": Row(
            world=World(population=classes(PAPER), epsilon=4.0),
            figures=(
                at(30, 0.75),
                at(100, 0.35),
                worst_round(1.03),
                worst_class(1.25),
                coverage(COVERED),
            ),
        ),
        "paper, late": Row(
            world=World(population=classes(PAPER), rounds=30_000),
            figures=(of_ideal(30_000, 1.2),),
        ),
    }
    for gap in (0.05, 0.1, 0.4):
        for epsilon in (1.0, 4.0):
            rows[f"means .4 - g, .4, .4 + 2g, g = {gap:g}, epsilon {epsilon:g}"] = Row(
                world=World(population=classes([0.4 - gap, 0.4, 0.4 + 2 * gap]), epsilon=epsilon),
                figures=(worst_round(1.08), coverage(COVERED)),
            )
    for epsilon in (0.1, 0.3, 0.5, 2.0, 16.0, inf):
        rows[f"paper, epsilon {epsilon:g}"] = Row(
            world=World(population=classes(PAPER), epsilon=epsilon),
            figures=(worst_round(1.03), worst_class(1.25)),
        )
    for epsilon in (1.0, 4.0):
        rows[f"paper, M = 1,000, epsilon {epsilon:g}"] = Row(
            world=World(population=classes(PAPER, agents=1000), epsilon=epsilon),
            figures=(worst_round(1.03), worst_class(1.25)),
        )
    return rows | _different() | _classes() | _variances() | _liars()


def _different() -> dict[str, Row]:
    """Every mean different, and few agents."""
    rows = {}
    for agents, runs in ((200, 32), (30, 64)):
        for spread in (0.02, 0.1):
            for epsilon in (1.0, 4.0):
                rows[f"means differ by {spread}, M = {agents}, epsilon {epsilon:g}"] = Row(
                    world=World(population=different(agents, spread), epsilon=epsilon),
                    figures=(worst_round(1.05), coverage(COVERED)),
                    runs=runs,
                )
    for spread in (0.02, 0.1):
        for epsilon in (1.0, 4.0):
            rows[f"means even, differ by {spread}, M = 200, epsilon {epsilon:g}"] = Row(
                world=World(population=different(200, spread, even=True), epsilon=epsilon),
                figures=(worst_round(1.05), coverage(COVERED)),
            )
    for agents in (6, 8, 12):
        for epsilon in (1.0, 4.0):
            rows[f"means differ by 0.1, M = {agents}, epsilon {epsilon:g}"] = Row(
                world=World(population=different(agents, 0.1), epsilon=epsilon),
                figures=(worst_round(1.15), coverage(COVERED)),
                runs=200,
            )
    for agents, bar in ((2, 1.0), (6, 1.15), (8, 1.15), (12, 1.15), (30, 1.08)):
        for epsilon in (1.0, 4.0):
            rows[f"paper, M = {agents}, epsilon {epsilon:g}"] = Row(
                world=World(population=classes(PAPER, agents=agents), epsilon=epsilon),
                figures=(worst_round(bar), at(10_000), coverage(COVERED)),
                runs=200 if agents < 30 else 64,
            )
    for agents in (8, 30):
        rows[f"an outlier, M = {agents}"] = Row(
            world=World(population=different(agents, 0.02, outlier=1.5), epsilon=4.0),
            figures=(worst_round(), worst_class()),
            runs=200,
        )
    return rows


def _classes() -> dict[str, Row]:
    """Small ones, and many."""
    return {
        "5% in the middle, epsilon 4": Row(
            world=World(population=classes(PAPER, sizes=[95, 10, 95]), epsilon=4.0),
            figures=(worst_round(), worst_class(2.8)),
        ),
        "5% in the middle, epsilon 1": Row(
            world=World(population=classes(PAPER, sizes=[95, 10, 95])),
            figures=(worst_round(), worst_class(3.0)),
        ),
        "5% at the edge, epsilon 4": Row(
            world=World(population=classes(PAPER, sizes=[10, 95, 95]), epsilon=4.0),
            figures=(worst_round(), worst_class(3.0)),
        ),
        "1% in the middle, epsilon 4": Row(
            world=World(population=classes(PAPER, sizes=[99, 2, 99]), epsilon=4.0),
            figures=(worst_round(), worst_class(6.0)),
        ),
        "20 classes, epsilon 1": Row(
            world=World(population=classes(np.linspace(0, 4, 20).tolist())),
            figures=(worst_round(), at(10_000, 0.9)),
            runs=16,
        ),
        "20 classes, 0.1 apart, epsilon 4": Row(
            world=World(population=classes(np.linspace(0, 1.9, 20).tolist()), epsilon=4.0),
            figures=(worst_round(), at(10_000, 0.9)),
            runs=16,
        ),
        "own paces, 100-fold": Row(
            world=World(population=classes(PAPER, paces=PACES), epsilon=4.0),
            figures=(worst_round(1.08), at(10_000)),
        ),
        "own epsilons, .1 to 16": Row(
            world=World(population=classes(PAPER, epsilons=EPSILONS)),
            figures=(worst_round(1.08), at(10_000)),
        ),
    }


def _variances() -> dict[str, Row]:
    """Unknown, unequal, wrong."""
    rows = {
        f"rare events {RARE}, variance unknown, epsilon {epsilon:g}": Row(
            world=World(
                population=coins(RARE),
                epsilon=epsilon,
                half_range=0.5,
                midpoint=0.5,
                declared=None,
                asked=50,
                rare=True,
            ),
            figures=(worst_round(), worst_class(1.3), coverage(COVERED)),
        )
        for epsilon in (1.0, 4.0)
    }
    for words, known in (("known", 1.0), ("unknown", None)):
        for epsilon in (1.0, 4.0):
            rows[f"coins {COINS}, variance {words}, epsilon {epsilon:g}"] = Row(
                world=World(
                    population=coins(COINS),
                    epsilon=epsilon,
                    half_range=0.5,
                    midpoint=0.5,
                    declared=known,
                    asked=50,
                ),
                figures=(worst_round(1.08), worst_class(), coverage(COVERED)),
            )
        rows[f"beta, skewed, variance {words}"] = Row(
            world=World(
                population=skewed(COINS, 4.0),
                epsilon=4.0,
                half_range=0.5,
                midpoint=0.5,
                declared=known,
                asked=50,
            ),
            figures=(worst_round(1.08), worst_class(), coverage(COVERED)),
        )
    for words, agents in (("M = 200", 200), ("M = 27", 27)):
        rows[f"lognormal, clamped, variance unknown, {words}"] = Row(
            world=World(
                population=lognormal(agents, 4.0),
                epsilon=4.0,
                half_range=2.0,
                midpoint=2.0,
                declared=None,
                asked=24,
            ),
            figures=(worst_round(1.08), coverage(COVERED)),
        )
    rows["variances rise with the mean, 9-fold"] = Row(
        world=World(
            population=different(200, 0.1, rising=9.0), epsilon=4.0, half_range=1.5, asked=24
        ),
        figures=(worst_round(1.08), coverage(COVERED)),
    )
    rows["variances 9-fold apart, whatever the mean"] = Row(
        world=World(
            population=different(200, 0.1, scattered=9.0), epsilon=4.0, half_range=1.5, asked=24
        ),
        figures=(worst_round(1.08), coverage(COVERED)),
    )
    rows["every class has its own variance"] = Row(
        world=World(population=classes(PAPER, sigmas=[0.5, 0.3, 0.15])),
        figures=(worst_round(1.08), worst_class()),
    )
    rows["bounds 50 x too wide, variance unknown"] = Row(
        world=World(
            population=classes(PAPER, midpoint=0.5),
            epsilon=16.0,
            half_range=50 * COMMON,
            midpoint=0.5,
            declared=None,
            asked=24,
        ),
        figures=(worst_round(1.05),),
    )
    for words, declared in (("large", 2.0), ("small", 0.5)):
        for epsilon in (1.0, 4.0):
            rows[f"sigma2 declared 2 x too {words}, epsilon {epsilon:g}"] = Row(
                world=World(population=classes(PAPER), epsilon=epsilon, declared=declared),
                figures=(worst_round(1.1), at(10_000)),
            )
    for words, known in (("known", 1.0), ("unknown", None)):
        rows[f"paper, common bounds, variance {words}"] = Row(
            world=World(
                population=classes(PAPER, midpoint=0.5),
                half_range=COMMON,
                midpoint=0.5,
                declared=known,
                asked=50,
            ),
            figures=(worst_round(), at(100), at(300), at(10_000)),
        )
    return rows


def _liars() -> dict[str, Row]:
    lies = {
        "+.2": (biased(0.2), 0.05),
        "2 sd off for ever": (off(2.0), 0.5),
        "all say .6": (all_say(0.6), 0.05),
        "a false class at .3": (false_class(0.3), None),
        "a false class at .6": (false_class(0.6), None),
        "a false class at .6, a fifth of the scatter": (false_class(0.6, 0.2), None),
    }
    rows = {
        f"30% liars: {words}": Row(
            world=World(population=classes(PAPER), liars=0.3, lie=lie),
            figures=(worst_round(1.4), at(10_000, late)),
        )
        for words, (lie, late) in lies.items()
    }
    for value in (0.4, 0.6):
        rows[f"as many invented as honest, all say {value}"] = Row(
            world=World(population=classes(PAPER, agents=400), liars=0.5, lie=all_say(value)),
            figures=(worst_round(1.5), at(10_000)),
        )
    for words, scatter in (
        ("", 1.0),
        (", half the scatter", 0.5),
        (", a fifth of the scatter", 0.2),
    ):
        rows[f"as many invented as honest, a false class at .6{words}"] = Row(
            world=World(
                population=classes(PAPER, agents=400), liars=0.5, lie=false_class(0.6, scatter)
            ),
            figures=(worst_round(1.5), at(10_000)),
        )
    for share, by, late in ((0.05, 0.01, 0.03), (0.3, 0.02, 0.1)):
        rows[f"{share:.0%} claim 1,000 x the count, off by {by}"] = Row(
            world=World(population=classes(PAPER), liars=share, lie=overstated(by, 1000)),
            figures=(worst_round(1.4), at(10_000, late)),
        )
    return rows


ROWS = _rows()
