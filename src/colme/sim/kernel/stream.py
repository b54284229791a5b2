"""The running means of data and unit noise that all algorithms of a study see."""

# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

from collections.abc import Sequence
from typing import Any

import numpy as np

from colme.sim.kernel.arrays import (
    BUFFER,
    UNIFORM,
    Array,
    Form,
    Origin,
    Register,
    RunningMeans,
    aligned,
    compiled,
    inline,
    rows_for,
    zeros,
)
from colme.sim.kernel.generator import (
    from_table,
    generator_state,
    next_bits,
    signed_unit,
    unit_laplace,
)
from colme.sim.kernel.simd import absolute, fma, ints, load, reals, store, to_reals


@inline
def _fold(
    form: Form,
    stream: RunningMeans,
    old: int,
    new: int,
    gain: Register,
    sample: Register,
    unit: Register,
) -> Any:
    """Take an agent's sample and unit noise into its running means, from place old to place new.

    Returns by how much they moved.
    """
    old_mean, old_noise = load(form, stream.data, old), load(form, stream.noise, old)
    mean = fma(sample - old_mean, gain, old_mean)
    noise = fma(unit - old_noise, gain, old_noise)
    store(stream.data, new, mean)
    store(stream.noise, new, noise)
    return absolute(mean - old_mean), absolute(noise - old_noise)


@inline
def place_of(stream: RunningMeans, t: int) -> int:
    """Where round t begins in the stream's arrays, in registers."""
    return (t - 1) % stream.data.shape[0] * stream.data.shape[1]


@inline
def _store_motion(stream: RunningMeans, t: int, moved: Register, jolted: Register) -> None:
    row = (t - 1) % stream.data.shape[0]
    store(stream.motion, 2 * row, moved)
    store(stream.motion, 2 * row + 1, jolted)


@compiled
def feed(
    form: Form,
    first: int,
    last: int,
    samples: Array,
    units: Array,
    stream: RunningMeans,
) -> None:
    """Like `draw`, with all rounds' samples and unit noise given, each as real [T, M, L]."""
    agents = stream.data.shape[1]
    for t in range(first, last + 1):
        gain = reals(form, 1.0 / t)
        old, new = place_of(stream, t - 1), place_of(stream, t)
        most_moved, most_jolted = reals(form, 0.0), reals(form, 0.0)
        for a in range(agents):
            sample = load(form, samples, (t - 1) * agents + a)
            unit = load(form, units, (t - 1) * agents + a)
            moved, jolted = _fold(form, stream, old + a, new + a, gain, sample, unit)
            most_moved, most_jolted = max(most_moved, moved), max(most_jolted, jolted)
        _store_motion(stream, t, most_moved, most_jolted)


@compiled
def draw(form: Form, first: int, last: int, population: Origin, stream: RunningMeans) -> None:
    """Fill the stream for rounds first..last, at most as many as it has rows.

    Draws are float32 whatever the form, so that a float64 run sees the same world as a float32 run.
    """
    agents = stream.data.shape[1]
    nine = ints(form, 9)
    s0, s1 = load(form, stream.bits, 0), load(form, stream.bits, 1)
    s2, s3 = load(form, stream.bits, 2), load(form, stream.bits, 3)
    for t in range(first, last + 1):
        gain = reals(form, 1.0 / t)
        old, new = place_of(stream, t - 1), place_of(stream, t)
        most_moved, most_jolted = reals(form, 0.0), reals(form, 0.0)
        for a in range(agents):
            bits, s0, s1, s2, s3 = next_bits(s0, s1, s2, s3, nine)
            if population.shape == UNIFORM:
                deviation = signed_unit(form, bits)
            else:
                deviation = from_table(form, population, load(form, population.classes, a), bits)
            location, spread = load(form, population.location, a), load(form, population.spread, a)
            sample = fma(to_reals(form, deviation), spread, location)
            bits, s0, s1, s2, s3 = next_bits(s0, s1, s2, s3, nine)
            unit = to_reals(form, unit_laplace(form, bits))
            moved, jolted = _fold(form, stream, old + a, new + a, gain, sample, unit)
            most_moved, most_jolted = max(most_moved, moved), max(most_jolted, jolted)
        _store_motion(stream, t, most_moved, most_jolted)
    store(stream.bits, 0, s0)
    store(stream.bits, 1, s1)
    store(stream.bits, 2, s2)
    store(stream.bits, 3, s3)


def new_stream(
    form: Form, agents: int, seed: int, runs: Sequence[int], buffer: int = BUFFER
) -> RunningMeans:
    """`runs` are the run indices of the lanes."""
    rows = rows_for(agents, form, buffer)
    bits = np.array([generator_state(seed, run) for run in runs], np.uint32).T.view(np.int32)
    data, noise = (zeros((rows, agents, len(form)), form[0].dtype) for _ in range(2))
    motion = zeros((rows, 2, len(form)), data.dtype)
    return RunningMeans(aligned(bits, np.int32), data, noise, motion)
