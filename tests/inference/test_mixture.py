"""What is learned of everybody's means."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from colme.inference import mixture
from colme.inference.mixture import Cells, Model, Models, cells, converged, fit, partition
from colme.inference.tuning import TUNING
from support.plain_posterior import fitted, scores

Floats = NDArray[np.float64]
FEW = TUNING.unbinned


def board(means: Sequence[float], sd: float, agents: int, seed: int = 1) -> tuple[Floats, Floats]:
    """Records of agents with these means, their variances not quite equal."""
    generator = np.random.default_rng(seed)
    v = sd * sd * generator.uniform(0.8, 1.25, agents)
    return generator.choice(np.array(means), agents) + generator.normal(0, np.sqrt(v)), v


def best(models: Models) -> Model:
    return models.models[int(models.scores.argmax())]


def test_three_classes_are_found() -> None:
    x, v = board([0.2, 0.4, 0.8], 0.02, 200)
    found = best(fit(x, v))
    assert not found.free
    # About 66 records each: three standard errors.
    np.testing.assert_allclose(np.sort(found.means), [0.2, 0.4, 0.8], atol=3 * 0.02 / 7)


def test_twenty_classes_are_found() -> None:
    means = np.linspace(0.2, 0.8, 20)
    x, v = board(means.tolist(), 0.002, 200)
    models = fit(x, v)
    found = best(models)
    assert found.means.size == 20
    assert 10 not in [model.means.size for model in models.models], "else it went one by one"
    np.testing.assert_allclose(np.sort(found.means), means, atol=4 * 0.002 / 2)


def test_a_continuum_has_a_spread_instead_of_classes() -> None:
    generator = np.random.default_rng(1)
    x = generator.normal(0.5, 0.1, 200) + generator.normal(0, 0.02, 200)
    found = best(fit(x, np.full(200, 0.02**2)))
    assert found.free
    assert found.means.size == 1
    # The standard error of a variance is its sqrt(2 / M).
    assert found.tau2 == pytest.approx(0.01, abs=3 * (0.01 + 0.02**2) * (2 / 200) ** 0.5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sd", [0.15, 0.05])
def test_the_best_model_is_as_good_as_trying_every_split_to_the_end(sd: float, seed: int) -> None:
    x, v = board([0.2, 0.4, 0.8], sd, 30, seed)
    plain = fitted(x.tolist(), v.tolist(), largest=4)
    assert fit(x, v).scores.max() >= max(scores(plain, v.tolist())) - 0.02


def test_probabilities_add_up_and_follow_what_a_component_costs() -> None:
    """A part of ln M for a place and a weight each, and how many places there are."""
    x, v = board([0.2, 0.4, 0.8], 0.05, 100)
    models = fit(x, v)
    assert models.probabilities.sum() == pytest.approx(1)
    one, other = models.models[1], models.models[2]
    ratio = models.probabilities[2] / models.probabilities[1]
    places = 1 + models.overall.tau2 * (1 / v).mean()
    assert np.log(ratio) == pytest.approx(
        other.loglik - one.loglik - 2 * TUNING.parameter_cost * np.log(100) - np.log(places)
    )


@pytest.mark.parametrize("agents", [1, 2, 3, 6])
def test_few_records_are_no_trouble(agents: int) -> None:
    assert np.isfinite(fit(*board([0.2, 0.8], 0.05, agents)).scores).all()


@pytest.mark.parametrize("agents", [7, 2 * FEW])
def test_records_that_are_all_the_same_are_one_class(agents: int) -> None:
    found = best(fit(np.full(agents, 0.3), np.full(agents, 0.01)))
    assert found.means.size == 1
    assert found.means[0] == pytest.approx(0.3)


@pytest.mark.parametrize("agents", [50, 2 * FEW])
def test_variances_a_million_times_apart_and_far_off_means(agents: int) -> None:
    generator = np.random.default_rng(1)
    v = np.exp(generator.uniform(np.log(1e-6), 0, agents))
    x = generator.choice([0.2, 0.8], agents) + generator.normal(0, np.sqrt(v))
    x[0] = 1e6
    models = fit(x, v)
    assert np.isfinite(models.scores).all()
    for mean in (0.2, 0.8):
        assert np.abs(best(models).means - mean).min() < 0.01


def test_a_warm_start_ends_where_a_cold_one_does() -> None:
    generator = np.random.default_rng(1)
    truth = generator.choice([0.2, 0.4, 0.8], 200)
    errors = generator.normal(0, 1, 200)
    warm = fit(truth + 0.055 * errors, np.full(200, 0.055**2))
    x = truth + 0.05 * (0.9 * errors + 0.19**0.5 * generator.normal(0, 1, 200))
    v = np.full(200, 0.05**2)
    one, other = fit(x, v), fit(x, v, warm)
    assert other.precision == warm.precision, "else it was a cold one"
    assert other.scores.max() == pytest.approx(one.scores.max(), abs=0.02)
    np.testing.assert_allclose(
        np.sort(best(one).means), np.sort(best(other).means), atol=0.01 * 0.05
    )


def test_records_that_tell_much_more_are_fitted_from_scratch() -> None:
    x, v = board([0.2, 0.25], 0.1, 100)
    warm = fit(x, v)
    assert fit(x, v / 2.1, warm).precision == pytest.approx(2.1 * warm.precision)


def test_a_class_that_shows_later_is_found_from_a_warm_start() -> None:
    """K grows where the largest model kept is the best one."""
    x, v = board([0.2, 0.8], 0.05, 200)
    warm = fit(x, v)
    assert best(warm).means.size == 2
    x[:40] += 0.3
    found = fit(x, v, warm)
    assert found.precision == warm.precision
    assert best(found).means.size == 4


def test_a_spread_that_shows_later_is_found_from_a_warm_start() -> None:
    """tau2 = 0 is left where the likelihood rises from there."""
    x, v = board([0.5], 0.05, 200)
    models = fit(x, v)
    none = tuple(replace(model, tau2=1e-12 if model.free else 0.0) for model in models.models)
    warm = replace(models, models=none)
    spread = np.random.default_rng(2).normal(0, 0.05, 200)
    found = fit(x + spread, v, warm)
    assert found.precision == warm.precision, "else it was a cold one"
    assert found.overall.tau2 == pytest.approx(0.05**2, abs=3 * 2 * 0.05**2 * (2 / 200) ** 0.5)


def test_few_records_are_not_taken_for_classes() -> None:
    few, enough = board([0.2, 0.8], 0.01, 14), board([0.2, 0.8], 0.01, 15)
    assert {model.free for model in fit(*few).models} == {True}
    assert {model.free for model in fit(*enough).models} == {False, True}
    assert {model.free for model in fit(*enough, warm=fit(*few)).models} == {False, True}


def test_cells_hold_every_record_and_change_the_fit_little() -> None:
    """Half a percent more variance, in the worst case."""
    x, v = board([0.2, 0.4, 0.8], 0.05, 4 * FEW)
    drawn = cells(x, v)
    assert drawn.n.sum() == x.size
    assert drawn.n.size < x.size / 4
    assert (drawn.n / drawn.v).sum() == pytest.approx((1 / v).sum())
    every = Cells(x, v, np.ones(x.size))
    for model in fit(x, v).models:
        if model.means.size <= 3:
            exact = converged(every, model)
            np.testing.assert_allclose(model.means, exact.means, atol=0.02 * 0.05)
            assert model.tau2 == pytest.approx(exact.tau2, rel=0.02, abs=0.02 * 0.05**2)


def test_a_partition_finds_classes_far_apart() -> None:
    means = [0.1, 0.3, 0.35, 0.8]
    x, v = board(means, 0.001, 100)
    found, weights = partition(Cells(x, v, np.ones(100)))
    np.testing.assert_allclose(found, means, atol=4 * 0.001 / 4)
    assert weights.sum() == pytest.approx(1)


def test_compiled_and_plain_learn_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """All decisions of growth the same, and all numbers to 1e-9 of a standard deviation."""
    pytest.importorskip("numba")
    for seed, sd in enumerate([0.3, 0.1, 0.05, 0.01] * 3):
        # Of the last ones, several records share a cell.
        agents = 60 + 20 * seed if seed < 10 else 2 * FEW
        x, v = board([0.2, 0.4, 0.8], sd, agents, seed)
        compiled = fit(x, v)
        with monkeypatch.context() as patch:
            patch.setattr(mixture, "compiled", lambda function: function)
            plain = fit(x, v)
        assert len(plain.models) == len(compiled.models)
        for probability, one, other in zip(
            plain.probabilities, plain.models, compiled.models, strict=True
        ):
            assert one.loglik == pytest.approx(other.loglik, abs=1e-7)
            if probability > 1e-4:
                np.testing.assert_allclose(one.means, other.means, rtol=0, atol=1e-9 * sd)
