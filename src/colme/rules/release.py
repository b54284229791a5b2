"""How a stream is published: noise calibration, schedules, variance and parameter of a release.

Privacy promised: pure epsilon-differential privacy for each sample (event level; neighbouring
streams differ by replacing one sample; sample counts are public). Every sample is noised in exactly
one block sum, and block ends depend on sample counts alone.
"""

from dataclasses import dataclass, replace
from math import ceil, inf, nextafter, sqrt, ulp
from numbers import Real
from typing import Protocol

from colme.errors import ConfigError, MessageError
from colme.rules.bernstein import SMALLEST_RATIO, bounded_parameter, laplace_parameter, root

LATTICE_HALF_WIDTH = 2**20
"""Samples are rounded to this many steps on each side of the midpoint of their bounds."""

LARGEST = 1e100
"""No value on the wire may be larger, so that nobody's arithmetic can overflow."""


def sigma2_dp(half_range: float, epsilon: float) -> float:
    """Lemma 1: sigma_DP^2 = 8 L^2 / epsilon^2; none at epsilon = inf."""
    ratio = half_range / epsilon
    return 8 * ratio * ratio


def laplace_scale(half_range: float, epsilon: float) -> float:
    """Lemma 1: Laplace(0, sigma_DP / sqrt 2), that is 2 L / epsilon."""
    return 2 * half_range / epsilon


def level(epsilon: float) -> str:
    """Return an epsilon as tables and figures show it; flags, files and data say `inf`."""
    return "∞" if epsilon == inf else f"{epsilon:g}"


def largest_variance(lo: float, hi: float) -> float:
    """The variance of a fair coin between the bounds: no distribution within them has more."""
    return (hi - lo) * (hi - lo) / 4


def beta_tilde_bar(sigma2: float, beta: float, sigma2_dp: float, beta_dp: float) -> float:
    """Sec. III-C.1: the mean of t noised samples has this parameter / sqrt(t)."""
    sigma, sigma_dp = sqrt(sigma2), sqrt(sigma2_dp)
    return min(
        max(sigma, beta) + max(sigma_dp, beta_dp),
        max(beta + beta_dp, sqrt(sigma2 + sigma2_dp)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What is public about an agent's stream: bounds, variance, Bernstein parameter, privacy."""

    bounds: tuple[float, float]
    sigma2: float
    beta: float
    epsilon: float

    def __post_init__(self) -> None:
        lo, hi = self.bounds
        largest = largest_variance(lo, hi)
        if not (lo < hi and max(abs(lo), abs(hi), largest) <= LARGEST):
            raise ConfigError("bounds", self.bounds, "two finite numbers, the lower one first")
        if self.lattice_step < ulp(max(abs(lo), abs(hi))):
            raise ConfigError("bounds", self.bounds, "room for 2^21 different numbers in between")
        if not 0 <= self.sigma2 <= largest:
            raise ConfigError("sigma2", self.sigma2, f"0 to {largest:g}, as the bounds allow")
        smallest = SMALLEST_RATIO * sqrt(self.sigma2)
        if not smallest <= self.beta < inf:
            raise ConfigError("beta", self.beta, f"at least sigma / (2 sqrt 3) = {smallest:g}")
        if not (isinstance(self.epsilon, Real) and self.epsilon > 0):
            raise ConfigError("epsilon", self.epsilon, "a number above 0, or inf for no privacy")
        # Also in units of the range: where blocks end and what they weigh follows from it there.
        if not max(self.sigma2_dp, sigma2_dp(1.0, self.epsilon)) <= LARGEST:
            raise ConfigError("epsilon", self.epsilon, "large enough for noise of finite variance")

    @classmethod
    def bounded(
        cls, lo: float, hi: float, *, epsilon: float, sigma2: float | None = None
    ) -> "Profile":
        """Any distribution within the bounds; without sigma2, the largest variance they allow."""
        return cls(
            bounds=(lo, hi),
            sigma2=largest_variance(lo, hi) if sigma2 is None else sigma2,
            beta=bounded_parameter(hi - lo),
            epsilon=epsilon,
        )

    @property
    def half_range(self) -> float:
        """L of Lemma 1."""
        return (self.bounds[1] - self.bounds[0]) / 2

    @property
    def midpoint(self) -> float:
        """The value of the lattice's zero."""
        return (self.bounds[0] + self.bounds[1]) / 2

    @property
    def lattice_step(self) -> float:
        """The distance between two lattice points."""
        return self.half_range / LATTICE_HALF_WIDTH

    def lattice_point(self, x: float) -> int:
        """The lattice point nearest to a value within the bounds; never beyond their own."""
        u = round((x - self.midpoint) / self.lattice_step)
        return min(max(u, -LATTICE_HALF_WIDTH), LATTICE_HALF_WIDTH)

    @property
    def lattice_scale(self) -> float:
        """The scale of the discrete Laplace noise on a sum, in lattice steps; 0 for no noise."""
        scale = laplace_scale(LATTICE_HALF_WIDTH, self.epsilon)
        # Rounded up, so that not even a rounding error exceeds the epsilon promised.
        return nextafter(scale, inf) if scale else 0.0

    @property
    def square_lattice_scale(self) -> float:
        """The same on a sum of squares, released beside the sum at no further loss.

        With x = |u - u'| / 2R in [0, 1], the sums differ by 2R x and the squares by at most
        4 R^2 x (1 - x): together a loss of epsilon x (2 - x), never more than epsilon.
        """
        return self.lattice_scale * 2 * LATTICE_HALF_WIDTH

    @property
    def sigma2_dp(self) -> float:
        """The variance of one noise draw."""
        return sigma2_dp(self.half_range, self.epsilon)

    @property
    def beta_dp(self) -> float:
        """The Bernstein parameter of one noise draw."""
        return laplace_parameter(laplace_scale(self.half_range, self.epsilon))

    def with_variance(self, sigma2: float) -> "Profile":
        """The same with another variance, as far as the bounds allow, and a beta it may have."""
        sigma2 = min(sigma2, largest_variance(*self.bounds))
        if sigma2 == self.sigma2:
            return self  # As where it is known: every message of a round asks.
        return replace(self, sigma2=sigma2, beta=max(self.beta, SMALLEST_RATIO * sqrt(sigma2)))

    def released_variance(self, count: int, blocks: int) -> float:
        """The variance of a released mean of `count` samples that carries `blocks` noise draws."""
        return (self.sigma2 + self.sigma2_dp * blocks / count) / count

    def tight_parameter(self, count: int) -> float:
        """Of the same mean, in the form that a tail bound needs: max(beta, beta_DP) / count.

        Where only the moment-generating function is bounded, independent sums take the largest of
        their parameters, not their sum.
        """
        return max(self.beta, self.beta_dp) / count

    def released_parameter(self, count: int, blocks: int) -> float:
        """Lemma 3 for that mean: beta-tilde-bar / sqrt(count) where every sample has its own draw.

        Where several samples share a draw, only the first argument of the paper's minimum applies:
        the lemma for the data and for the noise apart, then for their sum.
        """
        if blocks is count or blocks == count:
            one = beta_tilde_bar(self.sigma2, self.beta, self.sigma2_dp, self.beta_dp)
            return one / root(count)
        data = max(sqrt(self.sigma2), self.beta) * sqrt(count)
        noise = max(sqrt(self.sigma2_dp), self.beta_dp) * sqrt(blocks)
        return (data + noise) / count


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A published mean: X-tilde-bar ~ BC(mu, variance, beta), over `count` samples.

    It carries all that a decision needs, so that both ends of an edge decide from the same numbers.
    """

    count: int
    mean: float
    variance: float
    beta: float

    def __post_init__(self) -> None:
        if self.count < 1:
            raise MessageError("count", self.count, "at least 1 sample")
        if not abs(self.mean) <= LARGEST:
            raise MessageError("mean", self.mean, f"a number of at most {LARGEST:g} in magnitude")
        if not 0 <= self.variance <= LARGEST:
            raise MessageError("variance", self.variance, f"0 to {LARGEST:g}")
        if not 0 <= self.beta <= LARGEST:
            raise MessageError("beta", self.beta, f"0 to {LARGEST:g}")


@dataclass(frozen=True, slots=True)
class Weights:
    """Whole numbers by which the noisy numbers of a block are multiplied before they are added up.

    Whole, so that a weighed sum of sums with noise is exact: what is read of it is the same for all
    samples and draws that add up to the same.
    """

    sum: int
    squares: int


EVEN = Weights(1, 1)
"""All samples count alike: the released mean is a plain one."""


class ReleaseSchedule(Protocol):
    """Where blocks end, and what each weighs. Public functions of counts: never of the samples."""

    def next_end(self, count: int) -> int:
        """The count at which the block that starts after `count` samples ends."""
        ...

    def weights(self, samples: int, draws: int) -> Weights:
        """Of a block of so many samples that carries so many draws."""
        ...


@dataclass(frozen=True, slots=True)
class EverySample:
    """The paper's release: every sample is its own block (Algorithm 1, line 6)."""

    def next_end(self, count: int) -> int:
        """One sample later."""
        return count + 1

    def weights(self, samples: int, draws: int) -> Weights:
        """Even."""
        return EVEN


EVERY_SAMPLE = EverySample()


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks that grow: noise on each block's sum once, instead of on every sample.

    Every sample is in exactly one block and block ends depend on counts alone, so parallel
    composition gives the same pure epsilon for an unbounded horizon. The released mean carries
    the noise of N draws where the paper's carries n: 51 in 30,000 samples at epsilon = 1.
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise ConfigError("epsilon", self.epsilon, "a number above 0, or inf for no privacy")

    def next_end(self, count: int) -> int:
        """The first at 8 / max(epsilon, epsilon^2), then a share of the count or a root of it.

        Without privacy there is no noise to save; a release for every twentieth more of samples
        then keeps borderline edges from flickering.
        """
        return grown(count, self.epsilon, share=min(0.5, 2 / (self.epsilon * self.epsilon)))

    def weights(self, samples: int, draws: int) -> Weights:
        """Even."""
        return EVEN


def grown(count: int, epsilon: float, *, share: float) -> int:
    """Where the block after `count` samples ends, at most `share` of them later."""
    if epsilon == inf:
        return count + max(1, count // 20)
    if count == 0:
        return max(1, ceil(8 / max(epsilon, epsilon * epsilon)))
    return count + max(1, int(min(share * count, 8 / epsilon * sqrt(count))))
