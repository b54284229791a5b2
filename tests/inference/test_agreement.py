"""Records that agree better than their noise lets them."""

import numpy as np
import pytest

from colme.inference.agreement import made_up


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
