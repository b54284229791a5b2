"""One open page: it may go at any time; its curves are the simulator's, and bands hold them."""

import asyncio
import threading
from typing import Any

import numpy as np
import pytest
from scipy import stats

from colme.experiment.statistics import factor_band
from colme.explore.choices import Choices
from colme.explore.session import Session, Stopped, draw_growing
from colme.explore.society import Society
from colme.sim.simulation import simulate


async def test_a_page_that_goes_waits_for_no_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is interrupted has to end, however long a round takes."""
    begun, may_end = threading.Event(), threading.Event()

    def long_round(_society: Society) -> None:
        begun.set()
        may_end.wait()

    monkeypatch.setattr(Society, "run_round", long_round)

    session = Session()
    await session.take({"do": "choose", "choices": {"agents": 9, "rounds": 20}})
    await session.take({"do": "play", "rate": 4})
    await asyncio.to_thread(begun.wait)
    playing = session._playing
    session.close()
    assert playing is not None
    await asyncio.gather(playing, return_exceptions=True)
    assert playing.cancelled()
    assert not may_end.is_set()
    may_end.set()


SMALL = Choices(agents=12, rounds=40).scenario().changed(runs=4, recorded=6)


def growing() -> list[dict[str, Any]]:
    """Return all curves that are shown."""
    found: list[dict[str, Any]] = []
    draw_growing(SMALL, threading.Event(), found.append)
    return found


def test_in_the_end_they_are_the_simulators() -> None:
    *_, last = growing()
    result = simulate(SMALL)
    assert (last["runs"], last["of"]) == (4, 4)
    errors = {curve["name"]: curve for curve in last["errors"]}
    assert errors["relay"]["at"] == result.t.values.tolist()
    for name in ("relay", "paper"):
        cell = result.sel(algorithm=name).squeeze()
        np.testing.assert_allclose(errors[name]["value"], cell.mse, rtol=1e-12)
        # Runs are batches here, so its standard error is theirs.
        margin = stats.t.ppf(0.975, 3) * cell.mse_se
        found = errors[name]["low"], errors[name]["high"]
        np.testing.assert_allclose(found, factor_band(cell.mse, margin), rtol=1e-9)
    whole = result.squeeze()
    np.testing.assert_allclose(errors["local"]["value"], whole.mse_local, rtol=1e-12)
    np.testing.assert_allclose(errors["ideal"]["value"], whole.mse_ideal, rtol=1e-12)
    np.testing.assert_allclose(errors["class-ideal"]["value"], whole.mse_class_ideal, rtol=1e-12)
    harms = {curve["name"]: curve for curve in last["harms"]}
    ratio = (whole.mse / whole.mse_local).sel(algorithm="relay")
    np.testing.assert_allclose(harms["relay"]["value"], ratio, rtol=1e-12)
    assert "local" not in harms


def test_they_come_run_by_run_and_have_bands_once_there_are_enough() -> None:
    found = growing()
    assert [curves["runs"] for curves in found] == [1, 2, 3, 4]
    assert ["low" in curves["errors"][0] for curves in found] == [False, False, True, True]


def test_a_band_holds_its_curve_and_never_leaves_a_log_axis() -> None:
    """Where the interval is small beside the value it is the interval itself."""
    value, margin = np.array([1.0, 1.0, 1.0]), np.array([1e-4, 0.5, 3.0])
    low, high = factor_band(value, margin)
    assert (low > 0).all()
    assert (low < value).all()
    assert (high > value).all()
    np.testing.assert_allclose([low[0], high[0]], [1 - 1e-4, 1 + 1e-4], atol=1e-8)


def test_nothing_is_computed_that_nobody_wants_any_more() -> None:
    stop = threading.Event()
    found: list[dict[str, Any]] = []

    def show(curves: dict[str, Any]) -> None:
        found.append(curves)
        stop.set()

    with pytest.raises(Stopped):
        draw_growing(SMALL, stop, show)
    assert len(found) == 1
