"""Why an answer is one's own: the reason told is the one that was in the way."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from colme import Network, Profile, SeededLaplace
from colme.inference.answers import Own, posterior
from colme.inference.obstacles import LITTLE_TO_LEARN, obstacle
from colme.protocol.board.record import Record
from colme.relay import Relay
from support.boards import written

OWN = Own(mean=0.5, count=100, variance=0.01, known=False, bounds=(0.0, 1.0), origin=None)


def board(others: int, *, variance: float = 0.01, first: int = 0) -> list[Record]:
    means = np.random.default_rng(first).normal(0.5, 0.01, others)
    return [
        written(f"{first + n}", mean=float(means[n]), count=500, variance=variance)
        for n in range(others)
    ]


def why(own: Own, records: Sequence[Record], first_release: int = 8) -> str:
    return obstacle(own, records, first_release=first_release)


def test_too_few_others() -> None:
    nobody = "nobody else has released something under these bounds so far, and 5 are needed"
    assert why(OWN, []) == f"{nobody}; with this epsilon a node does after 8 samples or so"
    assert why(OWN, [], 1) == f"{nobody}; with this epsilon a node does after its first sample"
    assert why(OWN, board(1)).startswith("1 other has released something")
    assert why(OWN, board(4)).startswith("4 others have released something")
    assert why(replace(OWN, bounds=(0.0, 2.0)), board(9)).startswith(nobody)


def test_too_few_alike() -> None:
    records = [*board(4), *board(6, variance=0.2, first=10)]
    assert why(OWN, records) == "samples vary as much as these at 4 of 10 others, and 5 are needed"
    mine = replace(OWN, origin=records[0].origin)
    assert why(mine, records) == "samples vary as much as these at 3 of 9 others, and 5 are needed"


def test_samples_that_are_not_as_others() -> None:
    same = why(replace(OWN, variance=0.0, mean=0.0), board(9))
    assert same == "all samples are the same so far, and others' are not"
    rare = why(replace(OWN, variance=0.0005, count=2000), board(9))
    assert "vary otherwise than others' do" in rare or "at 0 of 9 others" in rare


@pytest.mark.parametrize("seed", range(4))
def test_there_is_one_exactly_where_nothing_was_learned(seed: int) -> None:
    draws = np.random.default_rng(seed)
    for _ in range(25):
        variances = draws.choice([0.0, 0.001, 0.01, 0.02, 0.1], size=2)
        records = [
            written(
                f"{n}",
                mean=float(draws.normal(0.5, 0.1)),
                count=int(draws.integers(10, 500)),
                variance=float(draws.choice(variances)),
            )
            for n in range(draws.integers(0, 14))
        ]
        own = replace(
            OWN,
            variance=float(draws.choice([0.0, 0.0002, 0.01, 0.02, 0.1])),
            count=int(draws.integers(1, 300)),
            known=bool(draws.integers(2)),
            origin=records[0].origin if records and draws.integers(2) else None,
        )
        learned = posterior(own, records).models is not None
        assert (why(own, records) == LITTLE_TO_LEARN) is learned


@pytest.mark.parametrize("seed", [0, 1])
def test_about_as_many_samples_are_missing_as_it_says(seed: int) -> None:
    """Within a factor of three: whether the noise is above or below zero is chance."""
    names = [f"{n:02d}" for n in range(12)]
    network = Network.of_equals(
        {name: [one for one in names if one != name] for name in names},
        profile=Profile.bounded(0, 1, epsilon=1),
        noise=SeededLaplace(seed),
    )
    draws = np.random.default_rng(seed)

    def after(rounds: int) -> str:
        for _ in range(rounds):
            samples = draws.normal(0.5, 0.1, 12).clip(0, 1)
            network.run_round(dict(zip(names, samples.tolist(), strict=True)))
        evidence = network.agents["00"].boards.evidence
        return why(Relay().own(evidence), evidence.records)

    early = after(40)
    missing = re.search(r"noise hides .* about ([\d,]+) more at every node", early)
    assert missing is not None
    told, rounds = 40 + int(missing[1].replace(",", "")), 40
    while "noise hides" in after(20):
        rounds += 20
    assert told / 3 < rounds + 20 < 3 * told
