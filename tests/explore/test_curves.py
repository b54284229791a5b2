"""Curves as they are computed: those of the simulator, with bands that hold what they should."""

import threading

import numpy as np
import pytest
from scipy import stats

from colme.explore.choices import Choices
from colme.explore.curves import growing
from colme.sim.study import Stopped, simulate

SMALL = Choices(agents=12, rounds=40).scenario().changed(runs=4, recorded=6)


def test_in_the_end_they_are_the_simulators() -> None:
    *_, last = growing(SMALL, threading.Event())
    result = simulate(SMALL)
    assert (last.runs, last.of) == (4, 4)
    assert last.rounds.tolist() == result.t.values.tolist()
    errors = {curve.name: curve for curve in last.errors}
    for name in ("relay", "tracking", "paper"):
        cell = result.sel(algorithm=name).squeeze()
        np.testing.assert_allclose(errors[name].value, cell.mse, rtol=1e-12)
        # Runs are batches here, so its standard error is theirs.
        margin = stats.t.ppf(0.975, 3) * cell.mse_se
        found = errors[name].margin
        assert found is not None
        np.testing.assert_allclose(found, margin, rtol=1e-9)
    whole = result.squeeze()
    np.testing.assert_allclose(errors["local"].value, whole.mse_local, rtol=1e-12)
    np.testing.assert_allclose(errors["ideal"].value, whole.mse_ideal, rtol=1e-12)
    np.testing.assert_allclose(errors["class-ideal"].value, whole.mse_class_ideal, rtol=1e-12)
    harms = {curve.name: curve for curve in last.harms}
    ratio = (whole.mse / whole.mse_local).sel(algorithm="relay")
    np.testing.assert_allclose(harms["relay"].value, ratio, rtol=1e-12)
    assert "local" not in harms


def test_they_come_run_by_run_and_have_bands_from_the_second_on() -> None:
    found = list(growing(SMALL, threading.Event()))
    assert [curves.runs for curves in found] == [1, 2, 3, 4]
    assert found[0].errors[0].margin is None
    assert found[1].errors[0].margin is not None


def test_nothing_is_computed_that_nobody_wants_any_more() -> None:
    stop = threading.Event()
    curves = growing(SMALL, stop)
    next(curves)
    stop.set()
    with pytest.raises(Stopped):
        next(curves)
