"""Random streams: no two coincide, and their numbers stand in one file."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import colme
from colme.experiment.streams import RandomStream, generator

BY_HAND = re.compile(r"(default_rng|SeedSequence)\(\s*[\[(]")
"""A generator seeded with several numbers."""


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_no_two_streams_coincide_whatever_their_indices(seed: int) -> None:
    """numpy pads seeds with zeros, so indices of 0 must not make two of them one."""
    indices = [(), (0,), (1,), (0, 0), (1, 0), (0, 1)]
    first = {
        stream: {generator(seed, stream, *index).integers(2**63) for index in indices}
        for stream in RandomStream
    }
    for one, other in combinations(first.values(), 2):
        assert not one & other
    assert not any(np.random.default_rng(seed).integers(2**63) in one for one in first.values())


def test_streams_are_numbered_in_one_file() -> None:
    """A node's made-up samples are no experiment's."""
    root = Path(colme.__file__).parent
    others = {"node/samples/feeds.py"}
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if BY_HAND.search(path.read_text())
    }
    assert found - others == {"experiment/streams.py"}
