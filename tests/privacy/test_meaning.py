"""What a pure epsilon says about one sample, and what it does not: docs/privacy.md, exactly."""

from math import exp, log

import numpy as np

from colme.privacy.mechanism import SeededLaplace
from colme.rules.release import LATTICE_HALF_WIDTH, Profile

PROFILE = Profile.bounded(0, 1, epsilon=1)
RARE = 1e-9
"""How often a sample is at the other bound than its class: samples of a class are alike."""


def evidence(samples: int, seed: int = 3) -> np.ndarray:
    """Of each sample, all at the upper bound, what its release says: log odds, upper to lower."""
    noise, top = SeededLaplace(seed), LATTICE_HALF_WIDTH
    seen = np.array([top + noise(PROFILE.lattice_scale) for _ in range(samples)], dtype=float)
    return (abs(seen + top) - abs(seen - top)) / PROFILE.lattice_scale


def class_evidence(of_each: np.ndarray) -> float:
    """Log odds that the class is the upper one, from samples that are rarely of the other."""
    likely, odds = 1 - RARE, np.exp(of_each)
    return float(np.log((likely * odds + RARE) / (RARE * odds + likely)).sum())


def test_who_knows_all_other_samples_learns_at_most_epsilon() -> None:
    """The odds between two values of a sample are then its own release's, which is within it."""
    assert abs(evidence(5_000)).max() <= PROFILE.epsilon
    assert abs(evidence(5_000)).max() > 0.99 * PROFILE.epsilon


def test_who_does_not_know_them_may_learn_any_amount_from_them() -> None:
    """ "Can move by any factor": the others tell the class, and the class the sample."""
    first, *others = evidence(400)
    from_others = class_evidence(np.array(others))
    # P(class is the upper | others), then of the sample, beside even odds before.
    upper = 1 / (1 + exp(-from_others))
    odds = (upper * (1 - RARE) + (1 - upper) * RARE) / (upper * RARE + (1 - upper) * (1 - RARE))
    moved = log(odds) + float(first)
    assert moved > 15 * PROFILE.epsilon


def test_it_would_have_learned_the_same_had_the_sample_been_another() -> None:
    """What the others say does not depend on it; its own release is all that could differ."""
    of_each = evidence(400)
    replaced = of_each.copy()
    replaced[0] = -PROFILE.epsilon  # The most that a release can say for the lower bound.
    difference = class_evidence(of_each) - class_evidence(replaced)
    assert 0 < difference <= 2 * PROFILE.epsilon
