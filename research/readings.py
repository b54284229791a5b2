"""What is read off a study and held against a bar: numbers with their standard errors.

A study is read batch by batch (`simulate(..., by_batch=True)`): batches are what is independent,
and what is divided by each other has their data in common, so that its error is that of the ratio.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from colme.experiment.statistics import BatchMean, FloatArray
from colme.sim.figures.comparison import over_all_rounds

RELAY = "relay"


class Ratio(BatchMean):
    """Of two things measured in the same batches: tables, a row a batch, a column a round `t`."""

    def __init__(self, t: NDArray[np.int64], above: FloatArray, below: FloatArray) -> None:
        super().__init__(above, below)
        self.t = t

    @classmethod
    def of(cls, above: xr.DataArray, below: xr.DataArray) -> Self:
        """Of their sums over batches."""
        over, under = (one.transpose("batch", "t").values for one in (above, below))
        return cls(above.t.values, over, under)

    def at(self, t: int) -> "Measured":
        """In one round, which has to be recorded."""
        (place,) = np.flatnonzero(self.t == t)
        return self._measured(int(place))

    def worst(self, first: int = 1) -> "Measured":
        """Where it is largest, from a round on."""
        return self._extreme(1.0, first)

    def least(self, first: int = 1) -> "Measured":
        """Where it is smallest."""
        return self._extreme(-1.0, first)

    def _extreme(self, sign: float, first: int) -> "Measured":
        """Found in one half of the batches and measured in the other, both ways.

        Of a hundred rounds the largest estimate is above the truth: data that have chosen the
        round do not measure it.
        """
        half = np.arange(len(self.above)) % 2
        chosen = np.empty(len(half), dtype=np.int64)
        for part in (0, 1):
            values = BatchMean(self.above[half == part], self.below[half == part]).value
            values = np.where(self.t >= first, sign * values, -np.inf)
            chosen[half != part] = int(np.nanargmax(values))
        rows = np.arange(len(half))
        columns = self.above[rows, chosen, None], self.below[rows, chosen, None]
        where = " and ".join(f"{t:,}" for t in sorted(set(self.t[chosen].tolist())))
        return Ratio(self.t[:1], *columns)._measured(0, f"t = {where}")

    def below_from(self, limit: float, *, clearly: bool = False) -> float:
        """Return the first round from which on it stays below, or clearly so; else inf."""
        value = self.value + (self.margin if clearly else 0.0)
        above = np.flatnonzero(~(value < limit))
        if above.size == 0:
            return float(self.t[0])
        if above[-1] == len(self.t) - 1:
            return np.inf
        return float(self.t[above[-1] + 1])

    def _measured(self, place: int, where: str = "") -> "Measured":
        value, margin = float(self.value[place]), float(self.margin[place])
        return Measured(value, float(self.error[place]), margin, where)


@dataclass(frozen=True, slots=True)
class Measured:
    """A number, its standard error, half its 95% interval, and where it was found."""

    value: float
    error: float
    margin: float
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(ABC):
    """What to read, the bar that it has to meet and the goal that it should."""

    bar: float
    goal: float
    least: ClassVar[bool] = False
    """Whether more is better, so that bar and goal are the least that it may be."""

    words: ClassVar[str]
    """What is read, as a format of the reading itself."""

    @property
    def what(self) -> str:
        """What is read, in words."""
        return self.words.format(self)

    @abstractmethod
    def read(self, data: xr.Dataset, beside: xr.Dataset | None) -> Measured:
        """Off a study of one degree and epsilon; `beside` is the one it is compared with."""

    def meets(self, measured: Measured, limit: float) -> bool:
        """Return whether the whole 95% interval does."""
        if self.least:
            return measured.value - measured.margin >= limit
        return measured.value + measured.margin <= limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain(Reading):
    """MSE / Local at a round."""

    t: int

    words: ClassVar[str] = "MSE / Local at t = {0.t:,}"

    def read(self, data: xr.Dataset, beside: xr.Dataset | None) -> Measured:
        """Of those who were asked."""
        return _gain(data).at(self.t)


@dataclass(frozen=True, slots=True, kw_only=True)
class Harm(Reading):
    """MSE / Local where it is largest."""

    words: ClassVar[str] = "worst MSE / Local"

    def read(self, data: xr.Dataset, beside: xr.Dataset | None) -> Measured:
        """Of those who were asked, averaged."""
        return _gain(data).worst()


@dataclass(frozen=True, slots=True, kw_only=True)
class Halved(Reading):
    """From when on MSE / Local stays below a half."""

    words: ClassVar[str] = "below Local / 2 from t ="

    def read(self, data: xr.Dataset, beside: xr.Dataset | None) -> Measured:
        """Return the round, and as its margin how much later the whole interval is below."""
        ratio = _gain(data)
        first = ratio.below_from(0.5)
        later = ratio.below_from(0.5, clearly=True) - first if first < np.inf else 0.0
        return Measured(first, 0.0, later)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfClassIdeal(Reading):
    """MSE / that of the mean of all exact means of one's class."""

    t: int

    words: ClassVar[str] = "MSE / Ideal of the whole class at t = {0.t:,}"

    def read(self, data: xr.Dataset, beside: xr.Dataset | None) -> Measured:
        """On the same data."""
        return Ratio.of(data.mse.sel(algorithm=RELAY), data.mse_class_ideal).at(self.t)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfBeside(Reading):
    """MSE / that of the study beside it."""

    t: int

    words: ClassVar[str] = "MSE / that of the complete graph at t = {0.t:,}"

    def read(self, data: xr.Dataset, beside: xr.Dataset | None) -> Measured:
        """Of the same agents, data and noise."""
        assert beside is not None
        both = (one.mse.sel(algorithm=RELAY) for one in (data, beside))
        return Ratio.of(*both).at(self.t)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfKnown(Reading):
    """MSE with released variances / with known ones, where it is largest."""

    first: int
    released: ClassVar[str] = "variance released"

    words: ClassVar[str] = "worst MSE / that with known variances, from t = {0.first:,}"

    def read(self, data: xr.Dataset, beside: xr.Dataset | None) -> Measured:
        """Of the same agents, data and noise."""
        both = (data.mse.sel(algorithm=name) for name in (self.released, RELAY))
        return Ratio.of(*both).worst(self.first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage(Reading):
    """The share of 95% intervals that hold the true mean, where it is smallest."""

    first: int
    least: ClassVar[bool] = True

    words: ClassVar[str] = "least coverage of 95% intervals, from t = {0.first:,}"

    def read(self, data: xr.Dataset, beside: xr.Dataset | None) -> Measured:
        """Averaged over those who were asked."""
        share = data.coverage.sel(algorithm=RELAY)
        return Ratio.of(share, xr.ones_like(share)).least(self.first)


@dataclass(frozen=True, slots=True, kw_only=True)
class BytesSent(Reading):
    """Bytes per edge and round, both directions, mean over all rounds."""

    words: ClassVar[str] = "bytes per edge and round, both directions, on average"

    def read(self, data: xr.Dataset, beside: xr.Dataset | None) -> Measured:
        """In every batch; the last round stands for all."""
        sent = over_all_rounds(bytes_per_edge(data.sel(algorithm=RELAY))).expand_dims(t=data.t[-1:])
        return Ratio.of(sent, xr.ones_like(sent)).at(int(data.t[-1]))


def bytes_per_edge(data: xr.Dataset) -> xr.DataArray:
    """Return the bytes that cross an edge, both ways, since the round recorded before."""
    both: xr.DataArray = data.payload * 2 / data.degree
    return both


def _gain(data: xr.Dataset) -> Ratio:
    relay = data.sel(algorithm=RELAY)
    return Ratio.of(relay.mse, relay.mse_alone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One of a table, of a picture, and of the JSON."""

    cell: str
    what: str
    value: float
    error: float
    margin: float
    where: str
    bar: float
    goal: float
    meets_bar: bool
    meets_goal: bool

    @classmethod
    def of(cls, cell: str, reading: Reading, measured: Measured) -> Self:
        """Hold the whole 95% interval against bar and goal."""
        return cls(
            cell=cell,
            what=reading.what,
            value=measured.value,
            error=measured.error,
            margin=measured.margin,
            where=measured.where,
            bar=reading.bar,
            goal=reading.goal,
            meets_bar=reading.meets(measured, reading.bar),
            meets_goal=reading.meets(measured, reading.goal),
        )

    @property
    def word(self) -> str:
        """What it comes to."""
        return ("fails", "passes", "goal")[self.meets_bar + self.meets_goal]
