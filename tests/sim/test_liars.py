"""Agents that lie: who, what, what is believed of it, and that nobody measures them."""

from typing import Any

import numpy as np
import pytest

from colme.errors import ConfigError
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate
from support.refusing import refused
from support.watching import assert_cuts_change_nothing, watched

ALL = ["local", "ideal", "paper", "optimistic"]
BIAS = {"kind": "bias", "by": 0.3, "count": 5}
KINDS: dict[str, dict[str, Any]] = {
    "bias": BIAS,
    "off": {"kind": "off", "count": 5},
    "constant": {"kind": "constant", "value": 0.6, "count": 5},
    "random": {"kind": "random", "count": 5},
    "false-class": {"kind": "false-class", "mean": 0.6, "count": 5},
    "claims": BIAS | {"count_times": 1000, "no_variance": True, "invented": 3},
}


def scenario(liars: dict[str, Any] | None, **changes: Any) -> Scenario:
    fields: dict[str, Any] = {
        "agents": 20,
        "graph": {"degree": 4},
        "epsilon": [1, 8],
        "rounds": 120,
        "runs": 32,
        "seed": 3,
        "algorithms": ALL,
        "liars": liars,
    }
    return Scenario.build(**(fields | changes))


def test_none_of_them_is_as_if_nobody_had_thought_of_it() -> None:
    honest = simulate(scenario(None)).drop_attrs()
    for none in ({"count": 0}, {"share": 0.0}):
        assert simulate(scenario(BIAS | {"count": None} | none)).drop_attrs().identical(honest)


def test_who_lies_is_drawn_anew_for_each_run_and_changes_nothing_else() -> None:
    lying, honest = scenario(BIAS), scenario(None)
    who = np.array([lying.draw_honest(run) for run in range(200)])
    assert (who.sum(axis=1) == 15).all()
    # Each of 20 agents lies in a quarter of 200 runs: 50, with a standard deviation of 6.1.
    assert (np.abs((~who).sum(axis=0) - 50) < 5 * 6.1).all()
    for run in range(3):
        np.testing.assert_array_equal(lying.draw_classes(run), honest.draw_classes(run))
    assert lying.liars is not None
    assert scenario(BIAS | {"count": None, "share": 0.12}).draw_honest(0).sum() == 18
    np.testing.assert_array_equal(
        watched(lying, 2)[2].data, watched(honest, 2)[2].data, "a liar's own samples are as before"
    )


def test_liars_are_not_measured() -> None:
    """Local, Ideal and the class's Ideal of the honest agents, by hand."""
    study, batch, seen = watched(scenario(BIAS), runs=3)
    world, sums = batch.world, batch.sums()
    last = len(study.recorded) - 1
    local, ideal, whole = 0.0, 0.0, 0.0
    for run in range(3):
        honest, truth, means = world.honest[:, run], world.truth[:, run], seen.data[-1, :, run]
        marks = np.where(honest, world.mean_groups[:, run], -1 - np.arange(20))
        for a in np.flatnonzero(honest):
            local += (means[a] - truth[a]) ** 2 / 15
            component = world.graph.components(marks)
            near = means[component == component[a]].mean()
            ideal += (near - truth[a]) ** 2 / 15
            everywhere = means[honest & (truth == truth[a])].mean()
            whole += (everywhere - truth[a]) ** 2 / 15
    assert sums["local_mse"][last] == pytest.approx(local)
    assert sums["class_ideal_mse"][last] == pytest.approx(whole)
    cells = [label for label, _ in study.cells]
    assert sums["mse"][cells.index("local"), last] == pytest.approx(local)
    assert sums["mse"][cells.index("ideal"), last] == pytest.approx(ideal)


def test_edges_of_liars_are_not_counted() -> None:
    _, batch, _ = watched(scenario(BIAS, algorithms=["paper"]), runs=3)
    world = batch.world
    first = np.repeat(np.arange(20), world.graph.degrees)
    both = world.honest[first] & world.honest[world.graph.indices]
    same = world.mean_groups[first, :3] == world.mean_groups[world.graph.indices, :3]
    record = next(iter(batch.engines[0].measured().values()))
    np.testing.assert_array_equal(record["within"][-1], (both & same).sum(axis=0))
    np.testing.assert_array_equal(record["between"][-1], (both & ~same).sum(axis=0))
    assert (record["local"] <= 15).all()
    assert (record["close"] <= 15).all()


@pytest.mark.parametrize("kind", KINDS)
def test_every_lie_gives_the_same_numbers_however_it_is_cut(kind: str) -> None:
    """To the bit: lies depend on seed, run and round alone."""
    assert_cuts_change_nothing(scenario(KINDS[kind]), 1, 7, 60)


def test_random_lies_are_anywhere_within_the_bounds() -> None:
    """A new one every round; mean and variance of a uniform number, to 5 standard errors."""
    _, batch, _ = watched(scenario(KINDS["random"]), runs=3)
    world = batch.world
    assert world.liars is not None
    nothing = np.zeros((20, 3))
    half_range = 0.5 * 3**0.5
    told = np.array([world.liars.tell(t, nothing, nothing, 1.0) for t in range(1, 201)])
    units = (told - world.midpoints) / half_range
    assert np.abs(units).max() < 1
    assert len(np.unique(units)) == units.size
    assert abs(units.mean()) < 5 * (1 / 3 / units.size) ** 0.5
    assert abs((units**2).mean() - 1 / 3) < 5 * (4 / 45 / units.size) ** 0.5
    again = world.liars.tell(7, nothing, nothing, 1.0)
    np.testing.assert_array_equal(again, told[6])


def test_a_lie_far_off_is_found_out() -> None:
    """Then it costs nothing but company; whoever must listen is lost."""
    far = {"kind": "constant", "value": 3.0, "share": 0.2}
    lying = simulate(scenario(far, algorithms=["oracle", "tight"]))
    end = lying.isel(degree=0, t=-1).sel(epsilon=8)
    assert end.mse.sel(algorithm="oracle") > 10 * end.mse_local, "it knows classes, not who lies"
    assert end.mse.sel(algorithm="tight") < 2 * end.mse_local


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"liars": {"kind": "bias", "by": 1}}, "liars.share: saw None"),
        ({"liars": {"by": 1, "share": 0.1, "count": 2}}, "liars.share: saw 0.1"),
        ({"liars": {"kind": "bias", "share": 0.1}}, "liars.by"),
        ({"liars": BIAS | {"count": 20}}, "liars: saw '20 liars', expected fewer than the 20"),
        ({"liars": BIAS | {"value": 1}}, "liars.value: 'bias' has none"),
        ({"liars": {"kind": "flattery"}}, "liars.kind: saw 'flattery'"),
        ({"liars": BIAS | {"count_times": 0.5}}, "liars.count_times"),
        (
            {"liars": BIAS, "algorithms": ["c-colme"]},
            "algorithms: saw 'c-colme', expected no liars",
        ),
    ],
)
def test_what_can_not_be_is_refused_in_words(fields: dict[str, Any], words: str) -> None:
    with refused(ConfigError, words=words):
        scenario(fields["liars"], algorithms=fields.get("algorithms", ALL))


def test_another_lie_is_another_study() -> None:
    """Batches of one are not taken for those of the other; both can be written and read again."""
    one, other = scenario(BIAS), scenario(BIAS | {"by": 0.2})
    assert one.identity_fields() != other.identity_fields()
    for lying in KINDS.values():
        written = scenario(lying)
        assert Scenario.build(**written.model_dump()) == written
