"""Eq. (2), the alpha schedules and the last branch of Algorithm 1."""

from fractions import Fraction
from itertools import accumulate, combinations
from math import fsum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colme.rules.consensus import (
    consensus,
    edge_weight,
    looks_no_larger_than_two,
    mixed,
    next_age,
    stepped_alpha,
    theorem_alpha,
)

REPEATABLE = settings(derandomize=True, database=None, deadline=None)
Decisions = list[set[int]]
# Rows have at most 8 entries of at most 1 in magnitude.
ROUNDING = 8 * 2**-52


@st.composite
def symmetric_decisions(draw: st.DrawFn) -> Decisions:
    """C_a of every agent a, with b in C_a if and only if a in C_b."""
    n = draw(st.integers(1, 8))
    classes = [{a} for a in range(n)]
    for a, b in combinations(range(n), 2):
        if draw(st.booleans()):
            classes[a].add(b)
            classes[b].add(a)
    return classes


def mix_all(classes: Decisions, values: list[float]) -> list[float]:
    return [
        mixed(
            values[a],
            [(edge_weight(len(mine), len(classes[b])), values[b]) for b in sorted(mine - {a})],
        )
        for a, mine in enumerate(classes)
    ]


def printed_matrix(classes: Decisions) -> list[list[Fraction]]:
    """Eq. (2), in fractions."""
    size = [len(mine) for mine in classes]
    agents = range(len(classes))
    rows = [
        [
            Fraction(b in classes[a], max(size[a], size[b]) + 1) if a != b else Fraction(0)
            for b in agents
        ]
        for a in agents
    ]
    for a in agents:
        rows[a][a] = 1 - sum(rows[a], Fraction(0))
    return rows


def components(classes: Decisions) -> Decisions:
    """Whom each agent reaches through accepted neighbours: the estimate of G_a."""
    reached = classes
    for _ in classes:
        reached = [set[int]().union(*(reached[b] for b in mine)) for mine in reached]
    return reached


@REPEATABLE
@given(symmetric_decisions())
def test_mixing_applies_the_matrix_of_equation_2(classes: Decisions) -> None:
    """Eq. (2): 1 / (max(|C_a|, |C_b|) + 1) for b in C_a, what is left for a, and 0 otherwise."""
    units = np.eye(len(classes))
    columns = [mix_all(classes, unit.tolist()) for unit in units]
    printed = np.array(printed_matrix(classes), dtype=float)
    np.testing.assert_allclose(np.transpose(columns), printed, rtol=0, atol=ROUNDING)


@REPEATABLE
@given(symmetric_decisions())
def test_the_mixing_matrix_is_doubly_stochastic(classes: Decisions) -> None:
    """Sec. III-B: W is doubly stochastic if b in C_a if and only if a in C_b."""
    w = np.transpose([mix_all(classes, unit.tolist()) for unit in np.eye(len(classes))])
    np.testing.assert_allclose(w, w.T, rtol=0, atol=0)
    np.testing.assert_allclose(w.sum(axis=0), 1, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(w.sum(axis=1), 1, rtol=0, atol=ROUNDING)
    assert np.all(w >= 0)
    # |C_a| - 1 weights of at most 1 / (|C_a| + 1) leave at least 2 / (|C_a| + 1).
    assert all(w[a, a] >= 2 / (len(mine) + 1) - ROUNDING for a, mine in enumerate(classes))


@REPEATABLE
@given(symmetric_decisions(), st.lists(st.floats(-1, 1), min_size=8, max_size=8))
def test_mixing_preserves_the_sum_of_a_class(classes: Decisions, values: list[float]) -> None:
    """Theorem 1, proof sketch: W projects on the mean of each component, whose sum it keeps."""
    mixture = mix_all(classes, values)
    for component in components(classes):
        before, after = (fsum(x[b] for b in component) for x in (values, mixture))
        assert after == pytest.approx(before, rel=0, abs=8 * ROUNDING)


@REPEATABLE
@given(symmetric_decisions(), st.floats(-1e6, 1e6))
def test_mixing_leaves_a_class_of_equals_exactly_as_it_is(classes: Decisions, value: float) -> None:
    """Eq. (2): the rows sum to 1."""
    assert mix_all(classes, [value] * len(classes)) == [value] * len(classes)


@pytest.mark.parametrize(("size_a", "size_b"), [(2, 2), (2, 5), (5, 2), (20, 3)])
def test_an_edge_has_the_same_weight_from_both_ends(size_a: int, size_b: int) -> None:
    """Eq. (2): W_ab = 1 / (max(|C_a|, |C_b|) + 1)."""
    assert (
        edge_weight(size_a, size_b) == 1 / (max(size_a, size_b) + 1) == edge_weight(size_b, size_a)
    )


def test_the_consensus_weighs_own_mean_and_mix() -> None:
    """Algorithm 1, line 15: (1 - alpha_t) X-tilde-bar + alpha_t sum of W_ab mu-tilde-hat_b."""
    assert consensus(0.75, 8.0, 4.0) == 0.25 * 8.0 + 0.75 * 4.0
    assert consensus(0.0, 8.0, 4.0) == 8.0


def test_alpha_of_theorem_1() -> None:
    """Theorem 1: alpha_t = t / (t + 1)."""
    for t in (1, 2, 9, 10, 999):
        assert theorem_alpha(t) == pytest.approx(float(Fraction(t, t + 1)), rel=1e-15)


@pytest.mark.parametrize(
    ("t", "expected"),
    [(1, 1 / 2), (9, 1 / 2), (10, 2 / 3), (19, 2 / 3), (20, 3 / 4), (1000, 101 / 102)],
)
def test_alpha_of_the_experiments(t: int, expected: float) -> None:
    """Sec. V: alpha_t = (floor(t / 10) + 1) / (floor(t / 10) + 2)."""
    assert stepped_alpha(t) == pytest.approx(expected, rel=1e-15)


def test_a_topology_change_resets_the_time_of_alpha_to_1() -> None:
    """Sec. V: when C_a^(t) != C_a^(t-1), the time t is reset to 1 when calculating alpha_t."""
    changes = [True, False, False, True, True, False, False]
    ages = list(accumulate(changes, next_age, initial=0))[1:]
    assert ages == [1, 2, 3, 1, 1, 2, 3]
    assert [theorem_alpha(age) for age in ages[2:5]] == [3 / 4, 1 / 2, 1 / 2]
    assert stepped_alpha(next_age(500, changed=True)) == stepped_alpha(1) == 1 / 2


@REPEATABLE
@given(symmetric_decisions())
def test_an_agent_reverts_to_its_own_mean_in_a_component_of_at_most_two(
    classes: Decisions,
) -> None:
    """Algorithm 1, the last branch: |C_b| <= 2 for all b in C_a: "if estimated |G_a| <= 2"."""
    for mine, component in zip(classes, components(classes), strict=True):
        reverts = looks_no_larger_than_two(len(classes[b]) for b in mine)
        assert reverts == (len(component) <= 2)


@pytest.mark.parametrize(
    ("sizes", "reverts"),
    [([1], True), ([2, 2], True), ([2, 3], False), ([3, 2, 2], False), ([3, 3, 3], False)],
)
def test_one_size_above_two_is_enough_to_collaborate(sizes: list[int], reverts: bool) -> None:
    """Algorithm 1, the last branch: a path of three has sizes 2 and 3 at its ends."""
    assert looks_no_larger_than_two(sizes) is reverts
