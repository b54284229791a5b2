"""One statistic: means and ratios over batches, Student's intervals, and what is clear."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import colme
from colme.experiment.statistics import BatchMean

SOURCES = [Path(colme.__file__).parent, Path(__file__).parents[2] / "research"]

numbers = st.lists(st.floats(0.1, 10), min_size=3, max_size=20)


@settings(deadline=None)
@given(numbers)
def test_over_runs_it_is_the_mean_and_its_standard_error(values: list[float]) -> None:
    mean = BatchMean(values, np.ones(len(values)))
    assert float(mean.value) == pytest.approx(np.mean(values))
    expected = np.std(values, ddof=1) / len(values) ** 0.5
    assert float(mean.error) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(numbers, st.floats(0.1, 10))
def test_a_ratio_to_a_multiple_of_itself_is_certain(values: list[float], factor: float) -> None:
    ratio = BatchMean(values, factor * np.array(values))
    assert float(ratio.value) == pytest.approx(1 / factor)
    assert float(ratio.error) == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("batches", [2, 3, 8, 30])
def test_a_95_percent_interval_holds_the_truth_in_95_percent(batches: int) -> None:
    """40,000 means of normal draws: a share of .95 has a standard error of .0011; four of them.

    Two standard errors on each side held 91% with 8 batches, and 70% with 2.
    """
    draws = np.random.default_rng(5).normal(size=(batches, 40_000))
    mean = BatchMean(draws, np.ones(batches))
    assert np.mean(np.abs(mean.value) <= mean.margin) == pytest.approx(0.95, abs=0.0044)


def test_one_batch_tells_nothing_of_its_error() -> None:
    mean = BatchMean([[3.0, 4.0]], [1.0])
    assert mean.value.tolist() == [3, 4]
    assert np.isnan(mean.error).all()
    assert mean.clear(than=100).tolist() == [0, 0]


def test_columns_of_a_batch_are_added_up_and_missing_ones_left_out() -> None:
    above = np.array([[1.0, 3.0, np.nan, 5.0], [2.0, np.nan, np.nan, 4.0]])
    mean = BatchMean.of_groups(above, np.ones(above.shape), np.array([0, 0, 1, 2]))
    assert mean.value.tolist() == [3.0, 3.0]
    assert mean.batches.tolist() == [2, 2]
    alone = BatchMean([4.0, 5.0], [2.0, 1.0])
    assert mean.error[0] == pytest.approx(float(alone.error))


def test_clear_is_an_interval_on_one_side() -> None:
    mean = BatchMean([[1.0, 1.0], [1.1, 3.0], [1.2, -1.0]], np.ones(3))
    assert mean.clear(than=2.0).tolist() == [-1, 0]
    assert mean.clear(than=0.5).tolist() == [1, 0]


def test_there_is_no_second_statistic_and_no_second_runner() -> None:
    """Student's quantile, "clear" and the loop over parts stand once."""
    once = {
        r"stdtrit|\bt\.ppf|std\([^)]*ddof": "statistics.py",
        r"\bCLEAR\b|2 \* \w*_se\b": "",
        r"as_completed": "run.py",
    }
    files = [path for folder in SOURCES for path in folder.rglob("*.py")]
    for pattern, home in once.items():
        found = {path.name for path in files if re.search(pattern, path.read_text())}
        assert found <= {home}, pattern
