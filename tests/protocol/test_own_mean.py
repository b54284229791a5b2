"""The exact mean of an agent's samples, as its owner gets it."""

import pytest

from colme.algorithms import named
from colme.protocol.agent import Agent
from colme.protocol.board.identity import InProcess
from colme.protocol.settings import Settings
from colme.rules.release import Profile


@pytest.mark.parametrize("algorithm", ["relay", "paper"])
@pytest.mark.parametrize(
    ("bounds", "samples"),
    [((0, 99.9), [99.9] * 3), ((0.1, 1), [0.1] * 10), ((-99.9, 0), [-200.0] * 3)],
)
def test_a_mean_of_samples_at_a_bound_is_that_bound(
    algorithm: str, bounds: tuple[float, float], samples: list[float]
) -> None:
    """Three times 99.9, added and divided, is one ulp more than 99.9: no answer may be beyond."""
    profile = Profile.bounded(*bounds, epsilon=1)
    agent = Agent(
        Settings(
            name="me",
            identity=InProcess("me"),
            neighbours=("b",),
            profile=profile,
            algorithm=named(algorithm),
        )
    )
    for sample in samples:
        agent.observe(sample)
    found = agent.estimate
    edge = min(max(samples[0], bounds[0]), bounds[1])
    assert found.alone == found.value == edge
    assert bounds[0] <= found.low <= found.value <= found.high <= bounds[1]
