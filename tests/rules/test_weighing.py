"""Blocks that are weighed: what a released mean is made of follows from public facts."""

import math
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colme.protocol.stream import Stream
from colme.rules import weighing
from colme.rules.release import Profile, grown
from colme.rules.weighing import (
    MOST_BLOCKS,
    WHOLE,
    WeighedBlocks,
    blend,
    blocks,
    claimed,
    fewest_draws,
)

PLAIN = WeighedBlocks(1.0)
EPSILONS = [0.1, 1.0, 2.0, 4.0, math.inf]


@given(st.floats(0.01, 100) | st.just(math.inf), st.integers(0, 10**6))
def test_every_block_ends_after_it_begins_and_weighs_something(epsilon: float, count: int) -> None:
    schedule = WeighedBlocks(epsilon)
    end = schedule.next_end(count)
    assert end > count
    weights = schedule.weights(end - count, 1)
    assert 1 <= weights.sum <= 3 * WHOLE + 1
    assert 1 <= weights.squares <= 45 / 4 * WHOLE + 1


@pytest.mark.parametrize(("epsilon", "records"), [(0.5, 25), (1, 46), (2, 90), (4, 199)])
def test_as_many_releases_in_30_000_samples_as_planned(epsilon: float, records: int) -> None:
    end = made = 0
    while (end := WeighedBlocks(epsilon).next_end(end)) <= 30_000:
        made += 1
    assert made == pytest.approx(records, abs=1)


@given(st.floats(0.01, 100) | st.just(math.inf), st.integers(0, 255))
def test_a_first_block_ends_up_to_a_half_earlier(epsilon: float, early: int) -> None:
    latest, first = WeighedBlocks(epsilon).next_end(0), WeighedBlocks(epsilon, early).next_end(0)
    assert latest / 2 <= first <= latest
    assert WeighedBlocks(1.0, 255).next_end(0) == 5


def test_block_ends_of_equal_agents_do_not_coincide() -> None:
    """At epsilon = 1 no more than a third of 256 agents have news after the same sample."""
    ends = [0] * 256
    news: dict[int, int] = {}
    for early in range(256):
        while (end := WeighedBlocks(1.0, early).next_end(ends[early])) <= 1000:
            ends[early] = end
            news[end] = news.get(end, 0) + 1
    assert max(news.values()) < 256 / 3


def test_blocks_double_early() -> None:
    sizes = [size for size, _ in islice(blocks(WeighedBlocks(1), 0, 0), 5)]
    assert sizes == [8, 8, 16, 32, 64]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("past", [(0, 0), (300, 12), (300, 300)])
def test_a_blend_is_what_its_blocks_add_up_to(epsilon: float, past: tuple[int, int]) -> None:
    """Var(sum of w y / sum of w n) in fractions, block by block."""
    schedule = WeighedBlocks(epsilon)
    weight = data = count = 0
    draw = Fraction(0) if epsilon == math.inf else 8 / Fraction(epsilon) ** 2
    exact_noise = Fraction(0)
    for size, draws in islice(blocks(schedule, *past), 12):
        w = schedule.weights(size, draws).sum
        count, weight, data = count + size, weight + w * size, data + w * w * size
        exact_noise += w * w * draws * draw
        made = blend(schedule, count, *past)
        assert (made.count, made.weight) == (count, weight)
        assert made.data == pytest.approx(data / weight**2, rel=1e-12)
        assert made.noise == pytest.approx(float(exact_noise / weight**2), rel=1e-12)
        assert blend(schedule, count + 1, *past).count >= count


def test_a_count_between_block_ends_is_that_of_the_last_one() -> None:
    assert blend(PLAIN, 40) == blend(PLAIN, 32) != blend(PLAIN, 64)
    assert blend(PLAIN, 1) == blend(PLAIN, 8)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 16.0, 30.0, 1000.0])
@pytest.mark.parametrize("past", [(0, 0), (100, 12)])
def test_a_claim_of_many_blocks_is_believed_a_little_less(
    epsilon: float, past: tuple[int, int]
) -> None:
    """The same up to `MOST_BLOCKS`; beyond it never more precise, and by little less."""
    schedule = WeighedBlocks(epsilon, early=77)
    end = 0
    for number, (samples, _) in enumerate(blocks(schedule, *past), start=1):
        end += samples
        if number == MOST_BLOCKS:
            break
    assert claimed(schedule, end, *past) == blend(schedule, end, *past)
    for count in (2 * end, 5 * end):
        exact = blend(schedule, count, *past)
        believed = claimed(schedule, exact.count, *past)
        assert believed.count <= exact.count
        of_mean = [one.data / 3 + one.noise for one in (exact, believed)]
        of_square = [one.square_data * 4 / 45 + one.square_noise for one in (exact, believed)]
        for (precise, less), most in ((of_mean, 1.01), (of_square, 1.15)):
            assert precise * (1 - 1e-9) <= less <= most * precise * exact.count / believed.count


@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 30.0, 1e6, math.inf])
def test_no_claim_takes_long_to_read(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [0]

    def counted(count: int, epsilon: float, *, share: float) -> int:
        asked[0] += 1
        assert asked[0] <= 2 * MOST_BLOCKS
        return grown(count, epsilon, share=share)

    monkeypatch.setattr(weighing, "grown", counted)
    for past in (0, 2**40, 2**62):
        asked[0] = 0
        draws = min(past, 7)
        assert claimed(WeighedBlocks(epsilon, early=3), 2**62, past, draws).count <= 2**62
    assert fewest_draws(epsilon, 2**62) <= MOST_BLOCKS


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_weights_keep_the_noise_of_early_blocks_out(epsilon: float) -> None:
    """In a plain mean it would be there for long: as much as the data's, or more, at n = 1,000."""
    made = blend(WeighedBlocks(epsilon), 1000)
    blocks_so_far = 0
    end = 0
    while (end := WeighedBlocks(epsilon).next_end(end)) <= made.count:
        blocks_so_far += 1
    plain = (1 / 3 + 8 / epsilon**2 * blocks_so_far / made.count) / made.count
    assert made.data / 3 + made.noise < plain


def test_a_released_mean_varies_as_its_blend_says() -> None:
    """4,000 streams of uniform data: a variance of that many is known within 2.3% (times 4)."""
    epsilon, count, streams = 1.0, 64, 4000
    profile, schedule = Profile.bounded(-1, 1, epsilon=epsilon), WeighedBlocks(epsilon)
    made = blend(schedule, count)
    generator = np.random.default_rng(5)
    means, squares = [], []
    for samples in generator.uniform(-1, 1, (streams, count)).tolist():
        stream = Stream()
        for sample in samples:
            stream.observe(sample, profile, schedule)
        scales = (profile.lattice_scale, profile.square_lattice_scale) * stream.blocks_due
        draws = tuple(int(generator.laplace(scale=scale)) for scale in scales)
        stream.publish(draws, schedule, squares=True)
        means.append(stream.released_mean(profile, made.weight))
        squares.append(stream.released_square(profile, made.square_weight))
    assert np.var(means) == pytest.approx(made.data / 3 + made.noise, rel=4 * 0.03)
    expected = made.square_data * 4 / 45 + made.square_noise
    assert np.var(squares) == pytest.approx(expected, rel=4 * 0.03)
    assert np.mean(squares) == pytest.approx(1 / 3, abs=4 * math.sqrt(expected / streams))


@given(st.lists(st.integers(-(2**20), 2**20), min_size=16, max_size=40), st.integers(0, 10**9))
def test_what_is_read_depends_on_noisy_sums_alone(points: list[int], seed: int) -> None:
    """Other samples, and draws that make up for them block by block: the same floats."""
    profile, schedule = Profile.bounded(-1, 1, epsilon=1.0), WeighedBlocks(1.0)
    generator = np.random.default_rng(seed)
    ends = [8, 16, 32]
    means = []
    shift = generator.integers(-1000, 1000, len(points)).tolist()
    for move in (0, 1):
        moved = [
            min(max(u + move * s, -(2**20)), 2**20) for u, s in zip(points, shift, strict=True)
        ]
        stream = Stream()
        for u in moved:
            stream.observe(u * profile.lattice_step, profile, schedule)
        draws = []
        for start, end in zip([0, *ends], ends, strict=False):
            if end <= len(points):
                draws += [777 - sum(moved[start:end]), -sum(u * u for u in moved[start:end])]
        stream.publish(tuple(draws), schedule, squares=True)
        made = blend(PLAIN, stream.released_count)
        means.append(
            (
                stream.released_mean(profile, made.weight),
                stream.released_square(profile, made.square_weight),
            )
        )
    assert means[0] == means[1]
