"""What sites are fed: rows of their own, drawn again or in their order, and what is held out."""

from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from colme.studies.feeds import SiteFeed
from colme.studies.question import StudyQuestion, fed_rows, prepare, recorded
from colme.studies.study import StudyExperiment

SIZES = {"a": 40, "b": 23, "c": 100}
DATA = {name: 10 * i + np.arange(size) / size for i, (name, size) in enumerate(SIZES.items())}
FED = np.array([20, 12, 50])


question = partial(prepare, DATA, bounds=(0, 30), epsilon=1, runs=32)


def feed_of(asked: StudyQuestion, numbers: range) -> SiteFeed:
    experiment = StudyExperiment(asked)
    return experiment._feed(experiment._world(recorded(asked), numbers), [])


def counts(t: int) -> NDArray[np.int64]:
    return np.ceil(FED / 50 * t - 1e-9).astype(np.int64)


def samples(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """[rounds, sites, runs]: taken apart again."""
    rounds = np.arange(1, len(means) + 1)[:, None, None]
    return np.diff(means * rounds, axis=0, prepend=0)


def test_every_sample_is_a_row_of_ones_own_and_all_are_as_likely() -> None:
    """60,000 draws from 40 rows: each 1,500 times, give or take 5 standard deviations of 38."""
    asked = question()
    feed = feed_of(asked, range(4))
    drawn = samples(feed.means(1, 15_000)) + asked.sites.midpoint
    for a, (name, size) in enumerate(SIZES.items()):
        rows = np.rint((drawn[:, a] - 10 * a) * size).astype(int)
        np.testing.assert_allclose(drawn[:, a], DATA[name][rows], atol=1e-7)
        often = np.bincount(rows.ravel(), minlength=size)
        expected = drawn[:, a].size / size
        assert np.abs(often - expected).max() < 5 * np.sqrt(expected)


def test_it_does_not_matter_in_which_pieces_or_with_whom_rounds_are_taken() -> None:
    asked = question()
    whole = feed_of(asked, range(4)).means(1, 50)
    feed = feed_of(asked, range(2, 4))
    pieces = np.concatenate([feed.means(1, 7), feed.means(8, 50)])
    np.testing.assert_allclose(pieces[:7], whole[:7, :, 2:], rtol=1e-12)
    assert pieces.shape == (50, 3, 2)


def test_the_truth_of_rows_drawn_again_is_their_mean() -> None:
    asked = question()
    feed = feed_of(asked, range(2))
    expected = [values.mean() - 15 for values in DATA.values()]
    np.testing.assert_allclose(feed.truth, np.repeat(np.array(expected)[:, None], 2, axis=1))
    assert not feed.blur.any()


def test_a_replay_feeds_one_half_in_order_and_holds_out_the_other() -> None:
    asked = question(mode="replay")
    assert asked.samples == 50
    np.testing.assert_array_equal(fed_rows(asked.sites.counts), FED)
    feed = feed_of(asked, range(4))
    means = feed.means(1, 50) + 15
    for a, values in enumerate(DATA.values()):
        for run in range(4):
            seen, before, last = [], 0.0, 0
            for t in range(1, 51):
                n = counts(t)[a]
                if n > last:
                    total = means[t - 1, a, run] * n
                    seen.append(total - before)
                    before, last = total, n
            fed = np.array(seen)
            assert fed.size == FED[a]
            assert (np.diff(fed) > 0).all(), "the rows rise, so what is fed does too"
            held = np.setdiff1d(values.round(6), fed.round(6))
            assert held.size == values.size - FED[a]
            assert feed.truth[a, run] + 15 == pytest.approx(held.mean())
            assert feed.blur[a, run] == pytest.approx(held.var(ddof=1) / held.size, rel=1e-4)
    assert len({*feed.truth[2].tolist()}) == 4, "another half in every run"


def test_all_end_together_each_at_its_own_pace() -> None:
    asked = question(mode="replay")
    assert asked.paces is not None
    np.testing.assert_allclose(asked.paces, FED / 50)
    assert recorded(asked)[-1] == 50


def test_counts_that_people_ask_for_are_looked_at() -> None:
    marks = recorded(question(samples=1000)).tolist()
    assert {10, 20, 30, 60, 100, 200, 300, 600, 1000} <= {*marks}
    assert marks[0] == 3
    assert recorded(question(samples=70)).tolist()[-2:] == [60, 70]
