"""Every number in `colme.inference` that was chosen or measured, with the reason beside it.

`TUNING` is the default everywhere. To try another value, hand a changed copy to the function that
answers; one object serves the whole answer, so no part of it can use another value:

>>> from dataclasses import replace
>>> from colme.inference.tuning import TUNING
>>> cautious = replace(TUNING, reach=5.0)
>>> bolder = replace(TUNING, posterior=TUNING.posterior._replace(no_class=0.001))

Measurements compare mean squared errors: "times alone" is the error of an answer over that of the
agent's own mean (the worst class, at the worst time), in the paper's setting unless stated.
"""

from dataclasses import dataclass, field
from typing import NamedTuple


class EmTuning(NamedTuple):
    """The numbers of EM. Compiled functions take it as an argument, so it is a named tuple."""

    rounding: float = 2.0**-27
    """What parameters are rounded to: logarithms, and means in standard deviations of a record."""
    no_spread: float = 1e-9
    """What stands for tau2 = 0, in parts of the records' variance: far below what any could
    show."""
    hardly_spread: float = 0.02
    """In the same parts: if tau2 falls, and is below this, none is tried. EM would take dozens of
    steps to get there, and there is where it mostly goes."""
    least_spread: float = 0.05
    """Where tau2 starts if it is above 0 at all, in the same parts."""
    member: float = 1e-3
    """A record takes part in the trial of a component that it belongs to with this probability."""
    steps: int = 120
    """Of EM, at most; it takes 3 to 40."""
    gain: float = 1e-3
    """EM ends at a step that gains less: a thousandth moves no model's probability."""
    trial_steps: int = 8
    trial_gain: float = 0.05
    """The same for a split on trial: enough to rank it."""


class PosteriorTuning(NamedTuple):
    """The numbers of the posterior, for compiled functions as well.

    The parts (1) to (3) limit the harm of what the prior can't see yet.
    """

    fewest_others: float = 0.3
    """Expected others in a component; with fewer nothing is known of it."""
    least_information: float = 0.1
    """The share of a component's precision, at least, that unclear membership leaves."""
    prior_power: float = 0.5
    """The power of a component's size in its prior weight: 1 swamps small classes (worst class of
    5%: 3.4 to 4.4 times alone), 0 costs a tenth of regret."""
    no_class: float = 0.005
    """(1) The least prior weight of being of no class seen so far, where the answer is one's own.
    At t = 30,000 the error is 1.09 times the Ideal of a class; with .02 1.13, with .05 1.25."""
    unseen_bias: float = 0.83
    """(2) What a component's bias may be before anyone can see it. Without: 1.28 times alone at
    epsilon = 1. A square root as of an excess of variance instead of the cube root: less safe with
    many agents (a class at 1.31 instead of 1.28 times alone at M = 1,000), less gained with few."""
    unseen_share: float = 0.5
    """(3) The share of that bias in the variance of the answer: it makes up for first fits that are
    too sure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """All tuned numbers of an answer, in the order in which they are used."""

    # Records as a table: what a record may claim.

    largest_count: int = 4
    """Times the median of all counts: no record is assumed to have more samples, whatever it
    claims."""
    farthest_mean: float = 4.0
    """Half ranges from the midpoint of its bounds: no mean is assumed to be farther off. Noise
    takes a first release there once in e^8, and it tells as little there as beyond."""

    # Records that agree better than their noise allows.

    windows: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 0.3)
    """Widths, in standard deviations of the noise of a typical record. Steps of the lattice that
    means are released on are far below."""
    chance: float = 6.0
    """Standard deviations, and records, beyond what is expected at most that chance is granted:
    once in a thousand million boards."""

    # Variances that were not declared.

    suspect: float = 0.05
    """The share of the released variances, at either end, that is clipped to the next: dishonest
    agents."""
    smallest_variance: float = 0.02
    """Times the average: no variance is assumed to be smaller. Rare events may not have happened
    yet."""
    least_left: float = 0.5
    """The share of a variance in the squares about a mean of two samples; one sample leaves
    none."""
    certain: float = 1.5
    """Standard errors that the average has to be above 0, or nothing is concluded from it. With 3
    there is no gain before t = 100 in wards of a hospital; an agent unlike the average is alone
    anyway."""

    # Similar records only.

    variance_factor: float = 2.0
    """Records are used whose variance is within this factor of one's own: in skewed data mean and
    variance go together, and a prior blind to that pulls the noisy to the quiet (2.1 times
    alone)."""
    fewest_records: int = 6
    """Similar records, one's own included; with fewer the answer is one's own mean."""
    untypical: float = 2.0
    """Standard errors beyond that factor that the variance of one's samples may be off the assumed
    one; farther off the answer is one's own. Without, 2.3 times alone where one in 500 samples is 1
    and most others see more."""
    precise: float = 0.35
    """The share of the records that have to be as precise as one is assumed to be. Where 5% claim a
    thousand times the samples and are off by .01, .033 of MSE / Local at t = 10,000 instead of .16;
    where 30% do and are four standard deviations off, .27 instead of the .57 of a quarter. Own
    paces and epsilons lose next to nothing by it."""
    heaviest: float = 4.0
    """Records of the median that one may weigh as much as, however many claim more."""
    lightest: float = 1e6
    """How many records it takes to weigh as much as one of the median, at most: more is the same,
    and numbers stay within reach of each other."""

    # Binning: many records are fitted as fewer cells.

    unbinned: int = 512
    """Up to so many records every one is its own cell."""
    cell_width: float = 0.25
    """Of a cell, in standard deviations of its records: it adds half a percent to their
    variance."""
    cell_step: float = 1.25
    """Variances of one cell differ by less than this factor."""
    cell_offset: float = 0.3819660112501051
    """Where cells begin, in widths: round values shall not lie on their edges, where rounding
    errors decide."""
    pieces: int = 1024
    """Pieces of neighbouring records that are not cut: a partition costs the square of their
    number."""

    # The prior: mixtures of one to many components.

    em: EmTuning = field(default_factory=EmTuning)
    worthwhile: float = 0.5
    """Growth ends at a component that gains less in log-likelihood: it costs ln M, ten times
    that."""
    classes_from: int = 15
    """Records; fewer are not assumed to be of classes of equal means (tau2 = 0), which at first
    often look as if they were one: of 8 agents with different means 1.11 times alone, instead of
    1.05."""
    many: int = 6
    """Components at which growth looks ahead: if the best partition has more, it goes on from
    there, or ends, if there are far too many."""
    most: int = 30
    most_spread: int = 10
    """Components of the largest model without and with tau2: more classes than that are a
    continuum, and what a few components do not explain, tau2 does."""
    parameter_cost: float = 0.15
    """In ln M, what a parameter costs, instead of Schwarz's 1/2: there the .4 of the paper's
    classes would be hidden between .2 and .8 for longer (1.41 times alone at M = 1,000, instead of
    1.10)."""
    roughly: float = 4.0
    """Less probable models need not be known as well: e times less so, e times the gain, to e^4."""
    moved: float = 2.0
    """Records that tell so much more, or less, than at the last fit from scratch: time for another,
    as classes may be seen that were not there to be renewed."""
    forgotten: float = 14.0
    """A model that is e^14 times less probable than the best is not renewed."""

    # The posterior.

    posterior: PosteriorTuning = field(default_factory=PosteriorTuning)
    negligible: float = 1e-4
    """Models less probable than this are left out."""
    wider: float = 4.0
    """(1) Times tau2 of the fit with K = 1: how far off a mean of no class may be, if that says
    more than the bounds."""

    # The answer.

    reach: float = 3.0
    early_reach: float = 17.0
    """(4) The answer is at most ln(n) / 3 standard deviations of x_bar from it, before 300 samples
    ln(n)^2 / 17, and 1 if that is more: whatever the board says. Without it a class of 5% between
    two others would be 4.4 times worse off than alone for a while, with ln(n) / 3 throughout 2.9,
    so 2.6; costs .03 of MSE / Local at t = 100, epsilon = 4, and .005 at epsilon = 1."""
    never_seen: float = 3.0
    """The rule of three: what has not happened in n samples has, at 95%, less than this / n of
    chance. It is the interval of samples that were all the same, whose own variance tells
    nothing."""


TUNING = Tuning()
