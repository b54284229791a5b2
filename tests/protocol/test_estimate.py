"""The owner's answer: one shape in Python, over HTTP and on the command line."""

from dataclasses import fields
from math import inf
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from colme.network import Network
from colme.node.owner.status import Answer
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.events import TOGETHER, Estimate
from colme.rules.release import Profile

SHAPE = ["value", "low", "high", "alone"]
REST: dict[str, Any] = {"round": 1, "alone": 0.5, "class_size": 3, "trust": 0.5}
NEAR = st.floats(-2, 3)


def test_the_library_and_a_node_use_the_same_words() -> None:
    assert [one.name for one in fields(Answer)][:4] == SHAPE
    assert [one.name for one in fields(Estimate)][1:5] == SHAPE


@given(NEAR, st.floats(0, 10))
@example(0.5, inf)
def test_an_interval_holds_its_value_and_ends_at_the_bounds(value: float, margin: float) -> None:
    """Noise may carry a shared mean beyond the bounds: then the interval reaches that far."""
    found = Estimate.around(value, margin, (0.0, 1.0), **REST)
    assert found.low <= found.value == value <= found.high
    assert found.low >= min(0.0, value)
    assert found.high <= max(1.0, value)
    if margin <= value <= 1 - margin:
        assert (found.low, found.high) == (value - margin, value + margin)


def test_a_first_sample_tells_no_more_than_the_bounds() -> None:
    network = Network.of_equals(
        {"a": ["b"], "b": ["a"]}, profile=Profile.bounded(0, 1, epsilon=1), noise=SeededLaplace(1)
    )
    network.run_round({"a": 0.25, "b": 0.75})
    one = network.estimates()["a"]
    assert (one.value, one.low, one.high, one.alone) == (0.25, 0.0, 1.0, 0.25)


@pytest.mark.parametrize(("trust", "together"), [(0.0, False), (0.0049, False), (TOGETHER, True)])
def test_together_is_more_than_nothing(trust: float, together: bool) -> None:
    answer = Estimate.around(0.5, 0.1, (0.0, 1.0), **(REST | {"trust": trust}))
    assert answer.collaborative == together
    assert (f"{trust:.2f}" != "0.00") == together
