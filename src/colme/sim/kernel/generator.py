"""Random numbers in every lane, and the running means of data and noise that all algorithms see.

Numbers are xoshiro128++; variables are uniform, Laplace and tabulated. A generator can be moved on
by any number of draws at once (`leap_over`, `leap_on`). A step of it is linear over GF(2), and so
is any number of steps: a matrix of 128 bits by 128 (Blackman and Vigna 2021, section 10). A thread
that draws for agents 1000 .. 1999 of each round leaps over the draws of all others, and sees the
bits that one generator for all agents would have given.
"""

# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

from collections.abc import Sequence
from typing import Any

import numpy as np

from colme.sim.kernel.arrays import (
    BUFFER,
    STEPS,
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
from colme.sim.kernel.simd import (
    absolute,
    bits_of,
    float_from_bits,
    floats,
    floor,
    fma,
    gather,
    ints,
    load,
    peek,
    reals,
    rotate_left,
    store,
    to_floats,
    to_ints,
    to_reals,
    unsigned_shift_right,
)


@inline
def next_bits(a: Register, b: Register, c: Register, d: Register, nine: Register) -> Any:
    """32 bits per lane by xoshiro128++ (Blackman and Vigna 2021), and the next state."""
    out = rotate_left(a + d, 7) + a
    shifted = b << nine
    c = c ^ a
    d = d ^ b
    b = b ^ c
    a = a ^ d
    return out, a, b, c ^ shifted, rotate_left(d, 11)


@inline
def signed_unit(form: Form, bits: Register) -> Register:
    """Uniform on (-1, 1) from the upper 24 bits: a float32 holds no more."""
    centred = to_floats(form, bits >> ints(form, 8))
    return fma(centred, floats(form, 2.0**-23), floats(form, 2.0**-24))


@inline
def _natural_log(form: Form, v: Register) -> Register:
    """log v for a normal float32 v > 0, to 4e-7 absolute plus the rounding of the result."""
    bits = bits_of(v)
    exponent = (bits - ints(form, 0x3F3504F3)) >> ints(form, 23)  # v = m 2^e, m from sqrt(1/2)
    f = float_from_bits(bits - (exponent << ints(form, 23))) - floats(form, 1.0)
    # Minimax for log(1 + f) / f, weighted by f, on [sqrt(1/2) - 1, sqrt(2) - 1].
    poly = floats(form, 0.11827482)
    poly = fma(poly, f, floats(form, -0.18901986))
    poly = fma(poly, f, floats(form, 0.20604675))
    poly = fma(poly, f, floats(form, -0.24881339))
    poly = fma(poly, f, floats(form, 0.333033))
    poly = fma(poly, f, floats(form, -0.50001967))
    poly = fma(poly, f, floats(form, 1.0000032))
    return fma(poly, f, to_floats(form, exponent) * floats(form, 0.6931472))


@inline
def unit_laplace(form: Form, bits: Register) -> Register:
    """Sign from bit 31, magnitude -log u from the other 31 bits, so it reaches 22."""
    sign = bits & ints(form, -0x80000000)
    u = to_floats(form, bits ^ sign) + floats(form, 0.5)
    magnitude = floats(form, 31 * 0.6931471805599453) - _natural_log(form, u)
    return float_from_bits(bits_of(magnitude) ^ sign)


@inline
def from_table(form: Form, population: Origin, kind: Register, bits: Register) -> Register:
    """The class's table read at a uniformly random place."""
    entries = population.table.shape[1]
    u = to_floats(form, unsigned_shift_right(bits, ints(form, 8))) * floats(form, 2.0**-24)
    if population.shape == STEPS:
        place = to_ints(form, u * floats(form, entries))
        return gather(population.table, kind * ints(form, entries) + place)
    position = u * floats(form, entries - 1)
    left = floor(position)
    index = kind * ints(form, entries) + to_ints(form, left)
    low = gather(population.table, index)
    high = gather(population.table, index + ints(form, 1))
    return fma(position - left, high - low, low)


@inline
def next_sample(
    form: Form, population: Origin, a: int, s0: Register, s1: Register, s2: Register, s3: Register,
    nine: Register,
) -> Any:  # fmt: skip
    """Agent a's next sample and unit noise, and the next state.

    Draws are float32 whatever the form, so that a float64 run sees the same world as a float32 run.
    """
    bits, s0, s1, s2, s3 = next_bits(s0, s1, s2, s3, nine)
    if population.shape == UNIFORM:
        deviation = signed_unit(form, bits)
    else:
        deviation = from_table(form, population, load(form, population.classes, a), bits)
    location, spread = load(form, population.location, a), load(form, population.spread, a)
    sample = fma(to_reals(form, deviation), spread, location)
    bits, s0, s1, s2, s3 = next_bits(s0, s1, s2, s3, nine)
    return sample, to_reals(form, unit_laplace(form, bits)), s0, s1, s2, s3


@inline
def place_of(stream: RunningMeans, t: int) -> int:
    """Where round t begins in the stream's arrays, in registers."""
    return (t - 1) % stream.data.shape[0] * stream.data.shape[1]


@compiled
def draw(form: Form, first: int, last: int, population: Origin, stream: RunningMeans) -> None:
    """Fill the stream for rounds first..last, at most as many as it has rows."""
    agents = stream.data.shape[1]
    nine = ints(form, 9)
    s0, s1 = load(form, stream.bits, 0), load(form, stream.bits, 1)
    s2, s3 = load(form, stream.bits, 2), load(form, stream.bits, 3)
    for t in range(first, last + 1):
        gain = reals(form, 1.0 / t)
        old, new = place_of(stream, t - 1), place_of(stream, t)
        most_moved, most_jolted = reals(form, 0.0), reals(form, 0.0)
        for a in range(agents):
            sample, unit, s0, s1, s2, s3 = next_sample(form, population, a, s0, s1, s2, s3, nine)
            old_mean = load(form, stream.data, old + a)
            old_noise = load(form, stream.noise, old + a)
            mean = fma(sample - old_mean, gain, old_mean)
            noise = fma(unit - old_noise, gain, old_noise)
            store(stream.data, new + a, mean)
            store(stream.noise, new + a, noise)
            most_moved = max(most_moved, absolute(mean - old_mean))
            most_jolted = max(most_jolted, absolute(noise - old_noise))
        row = (t - 1) % stream.data.shape[0]
        store(stream.motion, 2 * row, most_moved)
        store(stream.motion, 2 * row + 1, most_jolted)
    store(stream.bits, 0, s0)
    store(stream.bits, 1, s1)
    store(stream.bits, 2, s2)
    store(stream.bits, 3, s3)


_GOLDEN = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


def _mix64(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)


def generator_state(seed: int, run: int) -> list[int]:
    """Return the four words of xoshiro128++, by splitmix64. They depend on seed and run alone."""
    state = _mix64((_mix64(seed & _MASK) + run) & _MASK)
    words = []
    for _ in range(2):
        state = (state + _GOLDEN) & _MASK
        z = _mix64(state)
        words += [z & 0xFFFFFFFF, z >> 32]
    return words


def new_stream(
    form: Form, agents: int, seed: int, runs: Sequence[int], buffer: int = BUFFER
) -> RunningMeans:
    """`runs` are the run indices of the lanes."""
    rows = rows_for(agents, form, buffer)
    bits = np.array([generator_state(seed, run) for run in runs], np.uint32).T.view(np.int32)
    data, noise = (zeros((rows, agents, len(form)), form[0].dtype) for _ in range(2))
    motion = zeros((rows, 2, len(form)), data.dtype)
    return RunningMeans(aligned(bits, np.int32), data, noise, motion)


_BITS = 128  # of a state


def _one_step() -> Array:
    """Row i is what the state becomes in which only bit i is set."""
    a, b, c, d = np.packbits(np.eye(_BITS, dtype=np.uint8), axis=1, bitorder="little").view("<u4").T
    shifted = b << 9
    c, d = c ^ a, d ^ b
    b, a = b ^ c, a ^ d
    c, d = c ^ shifted, (d << 11) | (d >> 21)
    states = np.stack([a, b, c, d], axis=1)
    return np.unpackbits(states.view(np.uint8), axis=1, bitorder="little")


def leap_over(draws: int) -> Array:
    """int32 [128, 4]: the state after so many draws, for each bit of the state before."""
    power, total = _one_step(), np.eye(_BITS, dtype=np.uint8)
    while draws:
        if draws & 1:
            total = _product(total, power)
        power = _product(power, power)
        draws >>= 1
    packed: Array = np.packbits(total, axis=1, bitorder="little").view(np.int32)
    return packed


def leapt(state: Array, leap: Array) -> Array:
    """Return the state of one lane after a leap."""
    chosen = np.unpackbits(state.view(np.uint8), bitorder="little").astype(bool)
    after: Array = np.bitwise_xor.reduce(leap[chosen], axis=0)
    return after


def _product(first: Array, then: Array) -> Array:
    # Sums of at most 128 ones are exact in floats, whose product of matrices is the fast one.
    ones: Array = first.astype(np.float32) @ then.astype(np.float32)
    return ones.astype(np.uint8) & 1


@inline
def _add_images(
    form: Form, leaps: Array, first: int, s: Register, n0: Register, n1: Register, n2: Register,
    n3: Register,
) -> Any:  # fmt: skip
    """Add to n0..n3 what becomes of the bits of one of the state's four words."""
    for bit in range(32):
        chosen = ints(form, 0) - ((s >> ints(form, bit)) & ints(form, 1))
        row = first + 4 * bit
        n0 = n0 ^ (chosen & ints(form, peek(leaps, row)))
        n1 = n1 ^ (chosen & ints(form, peek(leaps, row + 1)))
        n2 = n2 ^ (chosen & ints(form, peek(leaps, row + 2)))
        n3 = n3 ^ (chosen & ints(form, peek(leaps, row + 3)))
    return n0, n1, n2, n3


@inline
def leap_on(
    form: Form, leaps: Array, number: int, s0: Register, s1: Register, s2: Register, s3: Register
) -> Any:
    """The state of every lane after a leap: the one of this number."""
    none, first = ints(form, 0), number * 128 * 4
    n0, n1, n2, n3 = _add_images(form, leaps, first, s0, none, none, none, none)
    n0, n1, n2, n3 = _add_images(form, leaps, first + 128, s1, n0, n1, n2, n3)
    n0, n1, n2, n3 = _add_images(form, leaps, first + 256, s2, n0, n1, n2, n3)
    return _add_images(form, leaps, first + 384, s3, n0, n1, n2, n3)
