"""Samples at a bound, in a real node: the answer is there, and within the bounds."""

from pathlib import Path

import pytest

from colme.node.node import Node
from support.neighbours import Neighbours


@pytest.mark.parametrize("algorithm", ["relay", "paper"])
async def test_samples_at_a_bound_are_answered(tmp_path: Path, algorithm: str) -> None:
    agreed = {"bounds": [0, 99.9], "algorithm": algorithm}
    config = Neighbours(tmp_path, "me").config("me", agreed=agreed, privacy={"sigma2": 1.0})
    async with Node(config) as node:
        await node.take([99.9] * 3)
        answer = await node.estimate()
    assert answer.value == answer.alone == 99.9
    assert 0 <= answer.low <= answer.high <= 99.9
