"""xoshiro128++ moved on by any number of draws at once, so that others can draw in between.

A step of the generator is linear over GF(2): so is any number of them, as a matrix of 128 bits by
128 (Blackman and Vigna 2021, section 10). Who draws for agents 1000 .. 1999 of each round leaps
over the draws of all others, and sees the bits that one generator for all would have given.
"""

# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

from typing import Any

import numpy as np

from colme.sim.kernel.arrays import Array, Form, Register, inline
from colme.sim.kernel.simd import ints, peek

_BITS = 128


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
