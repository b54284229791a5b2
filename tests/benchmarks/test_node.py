"""`python -m benchmarks node`: memory as the system counts it, of nodes that read files."""

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks import node
from benchmarks.__main__ import run
from benchmarks.node import Footprint, NodeSpeed
from colme.node.config import FileSource
from colme.node.fleet import Plan, prepare

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


def test_the_json_has_what_was_measured_and_both_ratios(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the keys that `colme bench --node --json` had."""
    taken = Footprint(resident=90.0, proportional=50.0, own=40.0)
    measured = NodeSpeed(
        message_us=300.0,
        echo_us=600.0,
        commits_per_second=1_500.0,
        bare_commits_per_second=2_000.0,
        rounds_per_second=30.0,
        cores_used=1.9,
        cores=2,
        idle=taken,
        answered=taken,
    )
    monkeypatch.setattr(node, "measure", lambda *_, **__: measured)
    with pytest.raises(SystemExit):
        run(["node", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert (answer.pop("message_ratio"), answer.pop("commit_ratio")) == (0.5, 0.75)
    assert answer == asdict(measured)
