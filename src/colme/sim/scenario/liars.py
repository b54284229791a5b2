"""Who lies, and how: a table for each kind of lie, with the options that it has."""

from math import inf
from typing import Annotated, Literal

from pydantic import Field

from colme.config import KindBy
from colme.sim.engines.liars import FloatArray, Lying, Moment

Finite = Annotated[float, Field(gt=-inf, lt=inf)]


class Bias(Lying):
    """The running mean, and something on top of it."""

    kind: Literal["bias"] = "bias"
    by: Finite
    """How much."""

    def told(self, moment: Moment) -> FloatArray:
        """Off by the same at all times."""
        return moment.mean + self.by


class Off(Lying):
    """The truth, so many standard deviations of a release off: as near as makes no suspicion."""

    kind: Literal["off"]
    deviations: Finite = 2.0
    """How many."""
    by: Finite = 0.0
    """And so much more, whatever the standard deviation is."""

    def told(self, moment: Moment) -> FloatArray:
        """All to the same side."""
        return moment.truth + self.deviations * moment.sd + self.by


class Constant(Lying):
    """All say the same number, for ever."""

    kind: Literal["constant"]
    value: Finite
    """What they say."""

    def told(self, moment: Moment) -> FloatArray:
        """Whatever the data are."""
        return 0.0 * moment.mean + (self.value - moment.centre)


class Random(Lying):
    """A new number within the bounds every time."""

    kind: Literal["random"]

    def told(self, moment: Moment) -> FloatArray:
        """Uniformly at random."""
        return moment.anything()


class FalseClass(Lying):
    """Honest numbers of a class that does not exist: the own ones, moved to another mean."""

    kind: Literal["false-class"]
    mean: Finite
    """Of that class."""

    def told(self, moment: Moment) -> FloatArray:
        """They vary as honest ones do."""
        return moment.mean - moment.truth + (self.mean - moment.centre)


AnyLying = Annotated[Bias | Off | Constant | Random | FalseClass, KindBy("kind", default="bias")]
"""One of them, by its name."""
