"""What `colme bench --node` says of memory is what the system says, of nodes that read files."""

import os
from pathlib import Path

from colme.node.config import FileSource
from colme.node.trial import Plan, prepare
from colme.node.trial.memory import Footprint

MANY = 64_000_000
"""Bytes, in pages that the allocator gives back when they are freed."""


def test_a_footprint_is_of_the_pages_in_memory() -> None:
    before = Footprint.of(os.getpid())
    held = bytearray(os.urandom(1)) * MANY
    after = Footprint.of(os.getpid())
    # Whatever else this process does meanwhile is small beside a tenth of it.
    for name in ("resident", "proportional", "own"):
        grown = getattr(after, name) - getattr(before, name)
        assert 0.9 * MANY < grown * 1e6 < 1.1 * MANY
    assert len(held) == MANY
    assert after.own <= after.proportional <= after.resident


def test_a_median_is_taken_of_each_count() -> None:
    many = [Footprint(resident=r, proportional=p, own=1) for r, p in ((9, 2), (7, 4), (8, 3))]
    assert Footprint.median(many) == Footprint(resident=8, proportional=3, own=1)


def test_a_fleet_may_read_its_samples(tmp_path: Path) -> None:
    """Made-up samples would import numpy into every node."""
    for member in prepare(Plan(agents=2, degree=1, from_files=True), tmp_path / "fleet"):
        source = member.config.source
        assert isinstance(source, FileSource)
        assert source.path == member.folder / "samples.txt"
