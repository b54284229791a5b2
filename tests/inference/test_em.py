"""One source, two ways to run it."""

from math import inf

import numpy as np
import pytest

from colme.inference.mixture import em
from colme.inference.tuning import TUNING

EM = TUNING.em


def test_more_steps_never_make_it_worse() -> None:
    """Leaps that lose are taken back. Parameters are rounded, which costs a millionth."""
    generator = np.random.default_rng(1)
    v = np.full(100, 0.01)
    x = generator.normal(0.5, 0.2, 100)
    n, start, weights = np.ones(100), np.array([0.4, 0.5, 0.6]), np.full(3, 1 / 3)
    found = [em(x, v, n, start, weights, 0.01, True, steps, -inf, EM)[0] for steps in range(1, 80)]
    assert np.diff(found).min() >= -1e-6
    assert found[-1] > found[0]


def test_a_record_that_counts_twice_is_two_records() -> None:
    generator = np.random.default_rng(2)
    v = np.full(40, 0.01)
    x = generator.choice([0.2, 0.8], 40) + generator.normal(0, 0.1, 40)
    start, weights = np.array([0.0, 1.0]), np.full(2, 0.5)
    twice = em(x, v, np.full(40, 2.0), start, weights, 0.0, False, 30, 1e-6, EM)
    both = em(
        np.tile(x, 2), np.tile(v, 2), np.ones(80), start, weights, 0.0, False, 30, 1e-6, TUNING.em
    )
    assert twice[0] == pytest.approx(both[0], rel=1e-12)
    np.testing.assert_allclose(twice[1], both[1], rtol=1e-12)


@pytest.mark.parametrize(("spread", "found"), [(0.1, 0.01), (0.0, 0.0)])
def test_no_spread_is_left_where_the_records_show_one(spread: float, found: float) -> None:
    """EM alone would stay at tau2 = 0 for ever. To three standard errors of a variance."""
    generator = np.random.default_rng(3)
    x = generator.normal(0.5, np.sqrt(spread**2 + 0.005), 400)
    # Where there is none the records are a little nearer to each other than they say.
    v = np.full(400, 0.005 if spread else 0.006)
    _, _, _, tau2 = em(
        x, v, np.ones(400), np.array([0.5]), np.ones(1), 0.0, True, 120, 1e-4, TUNING.em
    )
    assert tau2 == pytest.approx(found, abs=3 * (0.015 * (2 / 400) ** 0.5 if spread else 1e-9))
