"""Sums whose bits do not depend on the interpreter."""

from functools import reduce
from operator import add

from hypothesis import given
from hypothesis import strategies as st

from colme.rules.consensus import added


def test_what_rounding_loses_stays_lost() -> None:
    """Python's own `sum` says 1.0 from 3.12 on."""
    assert added([1e16, 1.0, -1e16]) == 0.0


@given(st.lists(st.floats(-1e9, 1e9)))
def test_it_is_addition_from_left_to_right(values: list[float]) -> None:
    assert added(values) == reduce(add, values, 0.0)
