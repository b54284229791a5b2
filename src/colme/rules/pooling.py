"""Consensus that tracks its inputs, and an answer that is never much worse than one's own mean.

What is shared is a pair, a numerator and a denominator, whose inputs are p * x-tilde and p, with
p = 1 / v the precision of a release. Both are mixed alike, so their ratio is the mean of a class's
releases weighted by precision, whoever has which epsilon and how many samples.

Before classes are told apart, a merged agent is pulled towards its neighbours' mean. One agent
alone can't see whether that happens, but bias can be pooled: agents gossip one more number, the
excess of (own release - neighbours' mean)^2 over what noise explains. The owner weighs the shared
mean against its exact one by it; that weighing is never sent.
"""

from math import log, sqrt

FIRST_ANSWER = 20
"""Rounds after the first release in which the answer is still local: gossip has to travel."""

NOISE_SHARE = 2.0
"""The answer is local while noise has more than this share of the data's variance in a release."""

LARGEST_EXCESS = 1e12
"""More says nothing more: at a gap of a whole range, only reached after 1e11 samples."""

SMALLEST_VARIANCE = 1e-30
"""Of a release, in squares of half the range: data that do not vary at all vary by so much."""

FEW = 4
"""Sets up to this size are taken to be all that there are, until noise no longer matters."""

ERROR_SHARE = 0.5
"""The answer is local while a released variance has a larger relative standard error than this."""

LOUDEST = 30.0
"""So many rounds' worth of excess, at most, a neighbour's gossip is taken to differ from mine."""

FARTHEST = 1.25
"""Thresholds of the edge test that a neighbour's shared mean may be from my release."""

HEAVIEST = 1.6
"""Precisions without noise, of the shorter of two releases, that a pair passes on at most."""

BOUND_ERRORS = 2.0
"""Standard errors above the estimate at which the variance is taken to be for the edge test."""


def public_precision(half_range: float, sigma2_dp: float, count: int, blocks: int) -> float:
    """p, the weight of a release: 1 / its variance if the data were uniform within their bounds.

    A function of public facts alone. Weights that follow the data would pull the mean along.
    """
    return count / (half_range * half_range / 3 + sigma2_dp * blocks / count)


def tracked(alpha: float, value: float, before: float, mix: float) -> float:
    """(1 - alpha) x + alpha (mix + x - x_before): follows the average of the inputs x.

    The paper's consensus averages their history instead, which costs the factor 2 of Theorem 1.
    """
    return (1 - alpha) * value + alpha * (mix + value - before)


def softened_age(age: int, changed: bool) -> int:
    """The time of the alpha schedule: a topology change sets it back to a quarter.

    The paper sets it back to 1. But an edge within a class that is dropped by mistake, of which
    there is one now and then, would then cost both ends what they have averaged so far; where
    classes part, edges fall one after the other and the age goes to 1 all the same.
    """
    return max(1, (age + 1) // 4) if changed else age + 1


def forgetting(rounds: int) -> float:
    """The weight of this round's excess in the gossiped one, `rounds` after the first release."""
    return 1.0 if rounds < 2 else max(20 / (rounds + 1000), 2 / rounds)


def excess(x_tilde: float, neighbours_mean: float, variance: float) -> float:
    """(x-tilde - m)^2 / v - 1: 0 on average where the neighbours share my mean."""
    deviation = x_tilde - neighbours_mean
    return min(deviation * deviation / variance - 1, LARGEST_EXCESS)


def pooled_excess(weight: float, own: float, gossip: float) -> float:
    """This round's excess, taken into the average of mine and all neighbours' gossiped ones."""
    return weight * own + (1 - weight) * gossip


def own_share(alpha: float, heard: float) -> float:
    """How much of the shared mean is one's own release: what is left of it by mixing.

    In every round (1 - alpha) of it comes in, and the weights `heard` of the neighbours replace as
    much of what is there. A leaf of a hub with many others hears little, so that for long most of
    what it shares is its own noise, however many the hub has averaged.
    """
    return (1 - alpha) / (1 - alpha + alpha * heard)


def surely_left(own: float, largest: float) -> float:
    """The least share of a release's variance that the shared mean has, as far as I can see.

    `own` is one's own share; `largest` the size of the largest accepted set, mine or that of one in
    it. Of those farther off nothing is known; where these sets are small, they may be all.
    """
    return max(own, 1 / largest) if largest <= FEW else own


def heard_excess(told: float, mine: float, reach: float) -> float:
    """A neighbour's gossiped excess, as far as one message may move me: LOUDEST rounds' worth.

    Whoever measures far more itself than its neighbours tell keeps its alarm.
    """
    return min(max(told, mine - reach), mine + reach)


def heard_numerator(numerator: float, denominator: float, x_tilde: float, reach: float) -> float:
    """A neighbour's numerator, with a mean that is within reach of my release: FARTHEST times z.

    Its release is, or the edge would not be in use. So is the mean it shares, unless it lies, or
    sees classes as one that I tell apart.
    """
    return min(max(numerator, denominator * (x_tilde - reach)), denominator * (x_tilde + reach))


def largest_weight(half_range: float, count: int) -> float:
    """The most that is mixed of a denominator, where the shorter of two releases has this count.

    Both ends take it, so what one gives is what the other gets. At one pace and range nobody has as
    much: denominators are averages of precisions, which noise makes smaller, and a release is at
    most one block behind, a third of all samples. So `sim.kernel.pooled` does without. At different
    paces the means are mixed all the same, with less weight.
    """
    return HEAVIEST * public_precision(half_range, 0.0, count, 0)


def trust(*, local: float, shared: float, sigma2: float, count: int, bias2: float) -> float:
    """The weight of the shared mean in the answer: s2 / (s2 + B), with s2 = sigma2 / n.

    B is four times the squared bias: what the pooled excess makes of it (`bias2`) beyond a dead
    band, and what my own exact mean says beyond sqrt(2 ln n) of its standard deviations.
    """
    s2 = sigma2 / count
    if s2 <= 0:
        return 0.0
    width = log(count)
    neighbourhood = max(0.0, bias2 - min(0.5, 0.05 * width) * s2)
    deviation = local - shared
    own = max(0.0, deviation * deviation - 2 * width * s2)
    return s2 / (s2 + 4 * (neighbourhood + own))


def worth_sharing(*, sigma2: float, sigma2_dp: float, count: int, blocks: int) -> bool:
    """Whether a release of `count` samples and `blocks` draws is not mostly noise."""
    return sigma2_dp * blocks <= NOISE_SHARE * sigma2 * count


def variance_and_error(
    mean_square: float, mean: float, *, half_range: float, sigma2_dp: float, count: int, blocks: int
) -> tuple[float, float]:
    """The variance from released moments about the bounds' midpoint, and its standard error.

    The noise of the squares has scale 4 L^2 / epsilon where that of the sums has 2 L / epsilon, so
    its variance is (2 L)^2 sigma2_dp.
    """
    cap = half_range * half_range
    noise = sigma2_dp * blocks / (count * count)
    estimate = mean_square - mean * mean + noise
    inside = min(max(estimate, 0.0), cap)
    # (X - mu)^2 is at most (L + |mean|)^2, so its variance is at most sigma2 times what is left.
    farthest = half_range + abs(mean)
    spread = inside * (farthest * farthest - inside) / count
    spread += (4 * cap + 4 * mean * mean) * noise + 2 * noise * noise
    return estimate, sqrt(spread)


def variance_within(variance: float, half_range: float) -> float:
    """At least a fiftieth of what the bounds allow, and no more than that."""
    cap = half_range * half_range
    return min(cap, max(variance, 0.02 * cap))
