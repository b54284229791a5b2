"""Why an answer is one's own: the reason told is the one that was in the way."""

from dataclasses import replace

import numpy as np
import pytest

from colme import Network, Profile, SeededLaplace
from colme.inference.obstacles import (
    FewAlike,
    LittleToLearn,
    TooFew,
    Uncertain,
    Unlike,
    obstacle,
)
from colme.inference.tables import Own, posterior
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


def test_too_few_others() -> None:
    assert obstacle(OWN, []) == TooFew(0)
    assert obstacle(OWN, board(4)) == TooFew(4)
    assert obstacle(replace(OWN, bounds=(0.0, 2.0)), board(9)) == TooFew(0)


def test_too_few_alike() -> None:
    records = [*board(4), *board(6, variance=0.2, first=10)]
    assert obstacle(OWN, records) == FewAlike(4, 10)
    assert obstacle(replace(OWN, origin=records[0].origin), records) == FewAlike(3, 9)


def test_samples_that_are_not_as_others() -> None:
    assert obstacle(replace(OWN, variance=0.0, mean=0.0), board(9)) == Unlike(all_the_same=True)
    rare = replace(OWN, variance=0.0005, count=2000)
    assert obstacle(rare, board(9)) in (Unlike(all_the_same=False), FewAlike(0, 9))


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
        assert (obstacle(own, records) == LittleToLearn()) is learned


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

    def after(rounds: int) -> object:
        for _ in range(rounds):
            samples = draws.normal(0.5, 0.1, 12).clip(0, 1)
            network.run_round(dict(zip(names, samples.tolist(), strict=True)))
        evidence = network.agents["00"].boards.evidence
        return obstacle(Relay().own(evidence), evidence.records)

    early = after(40)
    assert isinstance(early, Uncertain)
    assert early.samples is not None
    told, rounds = 40 + early.samples, 40
    while isinstance(after(20), Uncertain):
        rounds += 20
    assert told / 3 < rounds + 20 < 3 * told
