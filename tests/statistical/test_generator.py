"""The kernel's random numbers: their distributions, their independence, their streams.

Everything is drawn as studies draw it, in float32 and 32 lanes, with fixed seeds. A chunk that
holds round 1 alone leaves the bare draws in the stream: the mean of one is that one.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from colme.sim.kernel.arrays import LANES, LINES, STEPS, UNIFORM, Origin, aligned
from colme.sim.kernel.generator import draw, generator_state, new_stream
from colme.sim.kernel.simd import form_of
from colme.sim.scenario import Scenario
from colme.sim.simulation import Prepared

FORM = form_of(np.float32, LANES)
AGENTS = 500
ROUNDS = 60
SIGNIFICANCE = 1e-3
NO_TABLE = np.zeros((1, 1), np.float32)

Draws = NDArray[np.float64]  # [rounds, agents, lanes]


def standard(shape: int, table: NDArray[np.float32]) -> Origin:
    """Everyone at location 0 with spread 1."""
    zero = np.zeros((AGENTS, LANES))
    return Origin(
        shape=shape,
        location=aligned(zero, np.float32),
        spread=aligned(zero + 1, np.float32),
        classes=aligned(zero, np.int32),
        table=table,
    )


def drawn(population: Origin, rounds: int, seed: int = 7) -> tuple[Draws, Draws]:
    """Samples and unit noise."""
    stream = new_stream(FORM, AGENTS, seed, range(LANES))
    assert len(stream.data) > 1, "round 1 must not overwrite the zeros that it continues"
    samples, units = np.zeros((2, rounds, AGENTS, LANES))
    for t in range(rounds):
        draw(FORM, 1, 1, population, stream)
        samples[t], units[t] = stream.data[0], stream.noise[0]
    return samples, units


@pytest.fixture(scope="module")
def uniform_and_laplace() -> tuple[Draws, Draws]:
    """960,000 of each."""
    return drawn(standard(UNIFORM, NO_TABLE), ROUNDS)


def test_uniform(uniform_and_laplace: tuple[Draws, Draws]) -> None:
    """signed_unit: "Uniform on (-1, 1)" (Kolmogorov-Smirnov), and never an end of the interval."""
    uniform, _ = uniform_and_laplace
    assert stats.kstest(uniform.ravel(), stats.uniform(-1, 2).cdf).pvalue > SIGNIFICANCE
    assert np.abs(uniform).max() < 1


def test_laplace(uniform_and_laplace: tuple[Draws, Draws]) -> None:
    """unit_laplace: density exp(-|x|) / 2, each half and both, and its variance of 2.

    E x^4 = 24, so that x^2 has variance 24 - 2^2 = 20: five standard errors of its mean.
    """
    _, laplace = uniform_and_laplace
    assert stats.kstest(laplace.ravel(), stats.laplace().cdf).pvalue > SIGNIFICANCE
    for half in (laplace[laplace > 0], -laplace[laplace < 0]):
        assert stats.kstest(half, stats.expon().cdf).pvalue > SIGNIFICANCE
    assert abs(np.mean(laplace**2) - 2) < 5 * np.sqrt(20 / laplace.size)


@pytest.mark.parametrize("x", [0.01, 1, 5, 8, 10, 12])
def test_laplace_tails(uniform_and_laplace: tuple[Draws, Draws], x: float) -> None:
    """P(|x| > x) = exp(-x), to four standard errors and one draw: 43 draws beyond 10, 6 beyond 12.

    unit_laplace: "it reaches 22", so that nothing lies beyond.
    """
    _, laplace = uniform_and_laplace
    share = np.exp(-x)
    expected = laplace.size * share
    beyond = (np.abs(laplace) > x).sum()
    assert abs(beyond - expected) < 4 * np.sqrt(expected * (1 - share)) + 1
    assert np.abs(laplace).max() < 32 * np.log(2)


def correlation(one: Draws, other: Draws) -> float:
    """In standard errors: of two independent variables it is 0 +- 1."""
    return float(np.corrcoef(one.ravel(), other.ravel())[0, 1] * np.sqrt(one.size))


def test_draws_are_independent(uniform_and_laplace: tuple[Draws, Draws]) -> None:
    """Between the kinds, neighbouring rounds, agents and lanes, below five standard errors.

    Signs, sizes and squares too: dependence need not show in the values themselves.
    """
    uniform, laplace = uniform_and_laplace
    kinds = {"uniform": [uniform, uniform**2], "laplace": [np.sign(laplace), np.abs(laplace)]}
    pairs = [(u, v) for u in kinds["uniform"] for v in kinds["laplace"]]
    pairs += [(np.sign(laplace), np.abs(laplace)), (uniform[:, 1:], laplace[:, :-1])]
    for v in kinds["uniform"] + kinds["laplace"]:
        pairs += [(v[1:], v[:-1]), (v[:, 1:], v[:, :-1]), (v[:, :, 1:], v[:, :, :-1])]
    assert max(abs(correlation(one, other)) for one, other in pairs) < 5


@pytest.mark.parametrize("kind", [0, 1], ids=["uniform", "laplace"])
def test_runs_are_independent(uniform_and_laplace: tuple[Draws, Draws], kind: int) -> None:
    """All 496 pairs of lanes: below five standard errors, which one in 3,500 such tests exceeds."""
    values = uniform_and_laplace[kind].reshape(-1, LANES)
    matrix = np.asarray(np.corrcoef(values, rowvar=False))
    between = matrix[np.triu_indices(LANES, 1)]
    assert np.abs(between).max() < 5 / np.sqrt(len(values))


@pytest.mark.parametrize("shape", [STEPS, LINES])
def test_table_of_quantiles(shape: int) -> None:
    """from_table: a table of exponential quantiles gives exponential draws.

    Up to the table's resolution: cumulative probabilities are off by half a step of 1 / 4096
    (STEPS), and what the table leaves out, 1e-4 of the tail, is spread over the rest (LINES).
    1.95 is the Kolmogorov-Smirnov quantile for a significance of 0.001.
    """
    entries = 4096
    if shape == STEPS:
        places, resolution = (np.arange(entries) + 0.5) / entries, 0.5 / entries
    else:
        places, resolution = np.linspace(0, 1 - 1e-4, entries), 1e-4
    table = stats.expon.ppf(places).astype(np.float32)[None, :]
    values, _ = drawn(standard(shape, table), 20)
    off = stats.kstest(values.ravel(), stats.expon().cdf).statistic
    assert off < 1.95 / np.sqrt(values.size) + resolution
    assert table[0, 0] <= values.min() <= values.max() <= table[0, -1]
    if shape == STEPS:
        assert np.isin(values, table).all()
        assert len(np.unique(values)) == entries


def test_runs_have_their_own_streams() -> None:
    """generator_state: "depend on nothing but seed and run", and all of them differ."""
    states = [tuple(generator_state(seed, run)) for seed in range(3) for run in range(1000)]
    assert len(set(states)) == len(states)
    assert generator_state(2, 999) == list(states[-1])
    samples, units = drawn(standard(UNIFORM, NO_TABLE), 1)
    again, _ = drawn(standard(UNIFORM, NO_TABLE), 1)
    np.testing.assert_array_equal(samples, again)
    for values in (samples, units, drawn(standard(UNIFORM, NO_TABLE), 1, seed=8)[0]):
        assert len(np.unique(values[0, :8].T, axis=0)) == LANES
    other, _ = drawn(standard(UNIFORM, NO_TABLE), 1, seed=8)
    assert (samples != other).mean() > 0.99


DATA: list[dict[str, Any]] = [
    {"distribution": "uniform", "sigma": 0.3},
    {"distribution": "bernoulli"},
    {"distribution": "beta", "concentration": 0.7},
    {"distribution": "beta", "concentration": 5.0},
    {"distribution": "truncated-normal", "sigma": 0.5, "half_range": 0.6},
    {"distribution": "empirical", "values": [1.0, 2.5, 2.5, 7.0, -3.0]},
]


@pytest.mark.parametrize("data", DATA, ids=lambda data: str(data["distribution"]))
def test_data_has_the_mean_and_the_variance_of_its_shape(data: dict[str, Any]) -> None:
    """Study.origin's draws: each class's mean and `Shape.sigma2`, within 5 standard errors.

    About 160,000 samples a class. The variance's error is that of the mean of squared deviations,
    from their own spread; float32 rounds a sample by 1e-7 of its size, far below either.
    """
    scenario = Scenario.build(agents=AGENTS, graph={"degree": 4}, means=[0.2, 0.4, 0.9], data=data)
    classes = np.stack([scenario.draw_classes(run) for run in range(LANES)], axis=1)
    values, _ = drawn(Prepared(scenario, 4).origin(classes, FORM), 30)
    for number, (mean, shape) in enumerate(zip(scenario.class_means, scenario.shapes, strict=True)):
        deviations = values[:, classes == number] - (mean - scenario.centre)
        n = deviations.size
        squares = deviations**2
        assert abs(deviations.mean()) < 5 * np.sqrt(shape.sigma2 / n)
        assert abs(squares.mean() - shape.sigma2) < 5 * squares.std() / np.sqrt(n)
        low, high = shape.support
        assert low - 1e-6 <= deviations.min() <= deviations.max() <= high + 1e-6
