"""The posterior of one's own mean against a plain transcription."""

from dataclasses import replace

import numpy as np
import pytest

from colme.inference.mixture import Models, fit
from colme.inference.posterior import Queries, moments
from support.plain_posterior import PlainModel, fitted, posterior
from support.released import Floats, World, classes, variances, world

AGENTS = 30


def standing(seed: int, count: int, epsilon: float, continuous: bool) -> World:
    generator = np.random.default_rng(seed)
    truth = generator.normal(0.5, 0.1, AGENTS) if continuous else classes(AGENTS, generator)
    return world(truth, count=count, epsilon=epsilon, generator=generator)


def asked(made: World) -> tuple[Floats, Floats, Queries]:
    """Means and variances of the records, and what every owner asks of them."""
    who = made.owners
    queries = Queries(who.index, who.mean, who.variance / who.count, 2 * who.half_range)
    return made.board.x, variances(made.board), queries


def plain(models: Models) -> list[PlainModel]:
    return [
        (model.means.tolist(), model.weights.tolist(), model.tau2, model.free, model.loglik)
        for model in models.models
    ]


def one_by_one(
    x: Floats, v: Floats, models: list[PlainModel], queries: Queries, a: int
) -> tuple[float, float]:
    """The plain posterior of one of them."""
    mine = int(queries.index[a])
    return posterior(
        x.tolist(),
        v.tolist(),
        models,
        me=mine if mine >= 0 else None,
        x_bar=float(queries.x_bar[a]),
        s2=float(queries.s2[a]),
        width=float(queries.width[a]),
    )


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize(("count", "epsilon"), [(30, 1.0), (300, 1.0), (100, 4.0), (3000, 4.0)])
def test_all_at_once_by_subtraction_equals_one_by_one_over_the_others(
    count: int, epsilon: float, continuous: bool
) -> None:
    """Nobody's own record is in its sums. The last agent has none."""
    x, v, queries = asked(standing(1, count, epsilon, continuous))
    x, v = x[:-1], v[:-1]
    queries = replace(queries, index=np.append(np.arange(AGENTS - 1), -1))
    models = fit(x, v)
    found = moments(x, v, models, queries)
    for a in range(AGENTS):
        mean, variance = one_by_one(x, v, plain(models), queries, a)
        sd = float(queries.s2[a]) ** 0.5
        assert found.shift[a] == pytest.approx(mean - queries.x_bar[a], abs=1e-9 * sd)
        assert found.variance[a] == pytest.approx(variance, rel=1e-7)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("count", "epsilon"), [(100, 1.0), (30, 4.0)])
def test_the_whole_agrees_with_a_fit_by_plain_loops(count: int, epsilon: float, seed: int) -> None:
    """To a tenth of a standard deviation: EM ends a little earlier here, and cheaper."""
    x, v, queries = asked(standing(seed, count, epsilon, continuous=False))
    found = moments(x, v, fit(x, v), queries)
    models = fitted(x.tolist(), v.tolist(), largest=4)
    for a in range(0, AGENTS, 6):
        mean, variance = one_by_one(x, v, models, queries, a)
        assert found.shift[a] == pytest.approx(mean - queries.x_bar[a], abs=0.1 * variance**0.5)
        assert found.variance[a] == pytest.approx(variance, rel=0.1)


def test_what_others_say_has_a_weight_from_nothing_to_one_and_classes_have_sizes() -> None:
    early, late = standing(1, 10, 1.0, continuous=False), standing(1, 10_000, 4.0, continuous=False)
    trusts, sizes = [], []
    for made in (early, late):
        x, v, queries = asked(made)
        found = moments(x, v, fit(x, v), queries)
        assert 0 <= found.trust.min() <= found.trust.max() <= 1
        assert 1 <= found.class_size.min() <= found.class_size.max() <= AGENTS
        trusts.append(found.trust)
        sizes.append(found.class_size)
    assert trusts[0].mean() < 0.5 < 0.8 < trusts[1].mean()
    actual = (late.truth[:, None] == late.truth).sum(axis=1)
    assert np.abs(sizes[1] - actual).mean() < 1
