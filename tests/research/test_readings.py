"""Reading a study batch by batch: ratios have their own errors, and bars are met by two of them."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from research.readings import (
    BytesSent,
    Coverage,
    Gain,
    Halved,
    Harm,
    Measured,
    OfBeside,
    OfClassIdeal,
    OfKnown,
    Ratio,
    Reading,
)

T = [10, 100, 1_000]
BATCHES = 8
LIMITS: dict[str, Any] = {"bar": 1.1, "goal": 1.0}


def study(**values: Any) -> xr.Dataset:
    """Batch b has b + 1 of everything that is not given; what is, by round and batch."""
    scale = np.arange(1.0, BATCHES + 1)

    def of(name: str) -> Any:
        given = np.asarray(values.get(name, 1.0), dtype=np.float64)
        return given if given.ndim == 2 else given * scale[:, None] * np.ones(len(T))

    by_algorithm = [of("relay"), of("released")]
    cell, degree = ("algorithm", "batch", "t"), ("batch", "t")
    each = np.ones((2, BATCHES, len(T)))
    return xr.Dataset(
        {
            "mse": (cell, np.stack(by_algorithm)),
            "mse_alone": (cell, each * of("alone")),
            "mse_class_ideal": (degree, of("class_ideal")),
            "coverage": (cell, each * values.get("coverage", 0.95)),
            "payload": (cell, each * values.get("payload", 100.0)),
        },
        coords={"algorithm": ["relay", OfKnown.released], "t": T, "degree": 5.0},
    )


def test_what_both_have_in_common_cancels_out() -> None:
    """Batches differ eightfold, yet every one has the same ratio: no error is left."""
    found = Gain(t=100, **LIMITS).read(study(relay=0.5), None)
    assert found.value == pytest.approx(0.5)
    assert found.error == pytest.approx(0, abs=1e-12)


def test_the_error_of_a_ratio_is_the_spread_of_what_is_left() -> None:
    """Against independent replications, a column each: 4,000 studies of eight batches, to 5%."""
    above, below = 1 + 0.1 * np.random.default_rng(0).normal(size=(2, BATCHES, 4_000))
    ratio = Ratio(np.arange(4_000), above, below)
    assert np.sqrt(np.mean(ratio.error**2)) == pytest.approx(np.std(ratio.value), rel=0.05)


def test_harm_is_at_the_worst_round() -> None:
    relay = np.array([1.0, 1.05, 0.2]) * np.arange(1, 9)[:, None]
    found = Harm(**LIMITS).read(study(relay=relay), None)
    assert found.value == pytest.approx(1.05)
    assert found.where == "t = 100"


def test_the_worst_of_rounds_that_are_alike_is_as_large_as_any() -> None:
    """Of 100 rounds with nothing but noise the largest is .1 too large: not the one measured."""
    found, largest = [], []
    for seed in range(400):
        generator = np.random.default_rng(seed)
        above, below = 1 + 0.1 * generator.normal(size=(2, BATCHES, 100))
        ratio = Ratio(np.arange(1, 101), above, below)
        found.append(ratio.worst().value)
        largest.append(ratio.value.max())
    assert np.mean(found) == pytest.approx(1, abs=4 * float(np.std(found)) / 20)
    assert np.mean(largest) > 1.1


def test_halved_is_from_when_on_it_stays_so() -> None:
    scale = np.arange(1, 9)[:, None]
    back = study(relay=np.array([0.4, 0.6, 0.3]) * scale)
    assert Halved(**LIMITS).read(back, None).value == 1_000
    never = study(relay=np.array([0.4, 0.4, 0.6]) * scale)
    assert Halved(**LIMITS).read(never, None).value == np.inf
    apart = np.array([0.9, 1.1] * 4)[:, None]  # 0.49 +- 0.02
    unsure = study(relay=np.array([0.6, 0.49, 0.3]) * apart, alone=np.ones((8, 3)))
    found = Halved(**LIMITS).read(unsure, None)
    assert (found.value, found.value + found.margin) == (100, 1_000)


def test_what_is_compared_is_read_batch_by_batch() -> None:
    data, beside = study(relay=1.2, released=1.5, class_ideal=0.8), study(relay=1.0)
    readings: list[tuple[Reading, float]] = [
        (OfClassIdeal(t=1_000, **LIMITS), 1.5),
        (OfBeside(t=1_000, **LIMITS), 1.2),
        (OfKnown(first=100, **LIMITS), 1.25),
    ]
    for reading, value in readings:
        found = reading.read(data, beside)
        assert found.value == pytest.approx(value)
        assert found.error == pytest.approx(0, abs=1e-12)


def test_traffic_is_an_average_over_rounds_not_over_recorded_ones() -> None:
    """10 rounds of 500 bytes, 90 of 50 and 900 of none, at half an edge's degree of 5."""
    found = BytesSent(bar=110, goal=60).read(study(payload=np.array([500.0, 50.0, 0.0])), None)
    assert found.value == pytest.approx((10 * 500 + 90 * 50) / 1_000 * 2 / 5)


def test_coverage_counts_from_its_first_round_on_and_must_not_be_less() -> None:
    reading = Coverage(first=100, bar=0.9, goal=0.93)
    found = reading.read(study(coverage=np.array([0.2, 0.92, 0.99])), None)
    assert found.value == pytest.approx(0.92)
    assert reading.meets(found, 0.9)
    assert not reading.meets(found, 0.93)


def test_a_bar_is_met_by_the_whole_interval() -> None:
    reading = Harm(bar=1.08, goal=1.02)
    assert reading.meets(Measured(1.0, 0.03, 0.06), 1.08)
    assert not reading.meets(Measured(1.0, 0.05, 0.1), 1.08)
    found = reading.read(
        study(relay=1 + 0.1 * np.random.default_rng(5).normal(size=(8, 3)), alone=np.ones((8, 3))),
        None,
    )
    assert found.margin > 2 * found.error > 0
