"""Random numbers in every lane: xoshiro128++, uniform, Laplace and tabulated variables."""

# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

from typing import Any

from colme.sim.kernel.arrays import STEPS, Form, Origin, Register, inline
from colme.sim.kernel.simd import (
    bits_of,
    float_from_bits,
    floats,
    floor,
    fma,
    gather,
    ints,
    rotate_left,
    to_floats,
    to_ints,
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
