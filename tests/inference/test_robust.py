"""Variances that were not declared, and records that agree better than their noise lets them."""

import numpy as np
import pytest

from colme.inference.robust import average, made_up, own_error, released_variances
from colme.rules.release import laplace_scale
from colme.rules.weighing import WeighedBlocks, blend, blocks
from support.released import HALF_RANGE


def released(
    samples: np.ndarray, epsilon: float, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Weighed means and squares of the rows, about 0, in blocks with noise, as an agent does it."""
    agents, count = samples.shape
    schedule = WeighedBlocks(epsilon)
    scale = laplace_scale(HALF_RANGE, epsilon)
    sums, squares, weight, square_weight, start = np.zeros(agents), np.zeros(agents), 0, 0, 0
    for size, draws in blocks(schedule, 0, 0):
        if start + size > count:
            break
        block = samples[:, start : start + size]
        weights = schedule.weights(size, draws)
        noise = generator.laplace(0, scale, agents)
        square_noise = generator.laplace(0, 2 * HALF_RANGE * scale, agents)
        sums += weights.sum * (block.sum(axis=1) + noise)
        squares += weights.squares * ((block**2).sum(axis=1) + square_noise)
        weight += weights.sum * size
        square_weight += weights.squares * size
        start += size
    return sums / weight, squares / square_weight


def test_of_two_samples_the_variance_is_the_unbiased_one() -> None:
    """0 and 1, without noise; its error is that of Gaussian samples, 2 sigma^4 / n."""
    half, none = np.array([0.5]), np.zeros(1)
    raw, error = released_variances(half, half, np.stack([half, none, half, none]), np.ones(1))
    assert raw[0] == 0.5
    assert error[0] == 2 * 0.5**2 / 2


@pytest.mark.parametrize(("epsilon", "count"), [(1.0, 64), (4.0, 100)])
def test_raw_variances_are_right_on_average_and_have_the_errors_they_say(
    epsilon: float, count: int
) -> None:
    """Gaussian data within wide bounds, 20,000 agents: to three standard errors of either."""
    agents, sigma2 = 20_000, 0.03
    generator = np.random.default_rng(1)
    samples = np.clip(generator.normal(0.2, sigma2**0.5, (agents, count)), -HALF_RANGE, HALF_RANGE)
    mean, square = released(samples, epsilon, generator)
    made, same = blend(WeighedBlocks(epsilon), count), np.ones(agents)
    raw, error = released_variances(square, mean, np.outer(made.shares, same), HALF_RANGE * same)
    actual = samples.var()
    assert raw.mean() == pytest.approx(actual, abs=3 * raw.std() / agents**0.5)
    # Laplace draws have a kurtosis of 6: the variance of a variance is up to 5 times its square.
    assert error.mean() == pytest.approx(raw.var(), rel=3 * (5 / agents) ** 0.5)


def test_equal_variances_end_at_their_average_and_unequal_ones_apart() -> None:
    generator = np.random.default_rng(1)
    error = np.full(200, 0.01**2)
    noisy = generator.normal(0, 0.01, 200)
    equal, unequal = 0.25 + noisy, generator.choice([0.1, 0.4], 200) + noisy
    together = average(equal, error)
    assert together.certain
    assert together.shrunk(equal, error).std() < 0.01 / 2
    apart = average(unequal, error)
    assert apart.between == pytest.approx(0.15**2, rel=0.1)
    np.testing.assert_allclose(apart.shrunk(unequal, error), unequal, atol=0.001)


def test_a_declared_variance_is_taken_as_it_is() -> None:
    raw, error = np.array([0.001, 0.3, 0.3, 0.3]), np.array([0.0, 0.01, 0.01, 0.0])
    shrunk = average(raw, error).shrunk(raw, error)
    assert shrunk[0] == 0.001
    assert shrunk[3] == 0.3


def test_an_average_within_one_and_a_half_of_its_errors_says_nothing() -> None:
    """Of 100, each with an error of 1: it has a tenth of that itself."""
    error = np.ones(100)
    assert average(np.full(100, 0.16), error).certain
    assert not average(np.full(100, 0.14), error).certain
    assert not average(np.full(100, -1.0), error).certain


def test_a_few_liars_hardly_move_the_average() -> None:
    generator = np.random.default_rng(1)
    raw = generator.normal(0.01, 0.001, 100)
    raw[:4] = 100.0
    assert average(raw, np.full(100, 0.001**2)).mean == pytest.approx(0.01, rel=0.05)


def test_samples_that_were_all_the_same_have_a_variance_all_the_same() -> None:
    raw, error = np.full(50, 0.1), np.full(50, 0.01**2)
    board = average(raw, error)
    own = np.zeros(1)
    unsure = own_error(own, np.array([100.0]), np.array([False]), board.mean)
    assert board.shrunk(own, unsure)[0] >= 0.02 * board.mean
    assert own_error(own, np.array([100.0]), np.array([True]), board.mean)[0] == 0


@pytest.mark.parametrize("agents", [6, 20, 200, 4096])
def test_what_was_drawn_is_believed(agents: int) -> None:
    """Even where all data are the same, so that means differ by their noise alone."""
    for seed in range(50):
        generator = np.random.default_rng([agents, seed])
        sd = np.exp(generator.uniform(-2, 2, agents))
        x = generator.laplace(0.3, sd / 2**0.5)
        assert not made_up(x, sd**2).any()


@pytest.mark.parametrize("liars", [12, 100])
def test_who_agree_to_the_last_digit_are_found(liars: int) -> None:
    generator = np.random.default_rng(1)
    x = np.append(np.full(liars, 0.6), generator.laplace(0.5, 0.1, 100))
    found = made_up(x, np.full(x.size, 0.02))
    assert found[:liars].all()
    # Honest ones are not, but by chance: as many as a window of a tenth of the noise may hold.
    assert np.count_nonzero(found[liars:]) < 10 + 100 * 0.1


def test_without_noise_means_may_be_equal() -> None:
    """As those of coins are."""
    assert not made_up(np.full(50, 0.1), np.zeros(50)).any()
    some = np.where(np.arange(50) < 20, 0.01, 0.0)
    assert not made_up(np.full(50, 0.1), some)[20:].any()


def test_neither_zero_nor_the_unit_matters() -> None:
    x = np.append(np.full(20, 0.6), np.random.default_rng(1).laplace(0.5, 0.1, 100))
    noise = np.full(120, 0.02)
    np.testing.assert_array_equal(made_up(x, noise), made_up(1e6 * x - 5, 1e12 * noise))
