"""Who lies, and how: a table for each kind of lie, with the options that it has."""

from math import inf
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from colme.config import KindBy, Table
from colme.errors import ConfigError
from colme.sim.engines import FloatArray, Moment

Finite = Annotated[float, Field(gt=-inf, lt=inf)]


class Lying(Table):
    """What all kinds share. Liars add no noise, and do all else as honest agents do."""

    share: float | None = Field(None, ge=0, le=1)
    """Of the agents; who they are is drawn anew for each run."""
    count: int | None = Field(None, ge=0)
    """How many they are, instead."""
    count_times: float = Field(1.0, ge=1, lt=inf)
    """They claim so many times the samples they have, and the precision that goes with it.

    The paper's rules look at that precision, and take the smaller count of two for the time of a
    test. Its weights know no precision.
    """
    no_variance: bool = False
    """They claim that their releases have none; in rounds that makes them harder to accept."""
    invented: int = Field(0, ge=0)
    """Agents that do not exist, behind each of them; they tell what it tells.

    They speak in relay alone: in rounds nobody listens to others than its neighbours.
    """

    @model_validator(mode="after")
    def _share_or_count(self) -> Self:
        if (self.share is None) == (self.count is None):
            raise ConfigError("share", self.share, "a share of the agents, or a count of them")
        return self

    def among(self, agents: int) -> int:
        """How many of so many agents lie."""
        if self.count is not None:
            return self.count
        assert self.share is not None
        return round(self.share * agents)

    def told(self, moment: Moment) -> FloatArray:
        """What a liar tells, relative to the centre."""
        raise NotImplementedError


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
