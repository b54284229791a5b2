"""What a node promises its owner is what the noise on the wire was drawn for, from end to end."""

import asyncio
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from colme.node.node import Node
from colme.node.state import Overview
from colme.node.wire.codec import parse_frame, release_in
from colme.privacy import mechanism
from colme.privacy.mechanism import SecureLaplace
from colme.rules.release import EVERY_SAMPLE, Profile
from support.neighbours import Neighbours
from support.partner import Partner, paired
from support.twins import LATTICE, Reckoning, changed, stream

EPSILON = 0.7
BOUNDS = (-3.0, 11.0)
ROUNDS = 14
SAMPLES = changed(stream(ROUNDS, seed=60), lambda _, x: -3 + 14 * x)


@dataclass
class Overlooked:
    """OpenDP as it is, with an eye on what it is asked for and what it draws."""

    scales: list[float] = field(default_factory=list)
    draws: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._measurement = mechanism._noised

    def __call__(self, scale: float) -> Any:
        measurement = self._measurement(scale)

        def draw(exact: int) -> int:
            assert exact == 0
            self.scales.append(scale)
            self.draws.append(measurement(exact))
            return self.draws[-1]

        return draw


def test_the_configured_epsilon_and_bounds_are_those_of_every_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By OpenDP's own privacy map, and by what the neighbour hears: the exact sum and its draws."""
    privacy = {"epsilon": EPSILON, "sigma2": 4.0}
    neighbours = Neighbours(tmp_path, "a", "b")
    config = paired(neighbours, privacy=privacy, agreed={"bounds": BOUNDS})
    opendp = Overlooked()
    monkeypatch.setattr(mechanism, "_noised", opendp)
    partner, node = Partner(config, neighbours, SAMPLES), Node(config)
    told: list[str] = []

    def look() -> None:
        told.append(node.status().privacy)
        told.extend(node.metrics.text().decode().splitlines())

    asyncio.run(partner.live_with(node, SAMPLES, look))
    monkeypatch.undo()

    promised = Profile.bounded(*BOUNDS, epsilon=EPSILON)
    reckoning = Reckoning(promised, EVERY_SAMPLE, squares=False)
    numbers = list(chain(*reckoning.numbers(SAMPLES)))
    assert len(opendp.draws) == len(numbers) > 2
    for scale in set(opendp.scales):
        assert EPSILON * (1 - 1e-15) <= reckoning.dearest([scale]) <= Fraction(EPSILON)
        assert SecureLaplace().promised_epsilon(2 * LATTICE, scale) <= EPSILON

    releases = [
        release_in(data)
        for data in partner.heard[:-1]
        if parse_frame("a", data).WhichOneof("content") == "release"
    ]
    assert releases[-1] is not None
    noisy = sum(numbers) + sum(opendp.draws)
    mean = promised.midpoint + promised.lattice_step * (noisy / releases[-1].count)
    assert releases[-1].mean == mean

    assert told[0].startswith(f"epsilon = {EPSILON:g} for each sample")
    assert f"colme_epsilon {EPSILON}" in told
    overview = Overview.of(config.state, entries=1_000)
    entries = overview.last_entries[::-1]
    assert overview.ledger.epsilon == EPSILON
    assert {entry.epsilon for entry in entries} == {EPSILON}
    assert sum(entry.blocks for entry in entries) == len(numbers)
    assert entries[-1].last == releases[-1].count
