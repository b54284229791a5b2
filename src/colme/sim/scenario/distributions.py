"""What agents' data may look like: a shape around each class's mean, with its sigma and beta.

Each distribution is a table of a scenario, with the options that it has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, PrivateAttr, model_validator
from scipy import stats

from colme.columns import as_numbers, columns_of, is_empty
from colme.config import KindBy, Table
from colme.errors import ConfigError
from colme.rules.bernstein import bounded_parameter, gaussian_parameter, uniform_parameter

FloatArray = NDArray[np.float64]

ENTRIES = 4096
"""Quantiles kept of a distribution that has no formula of its own in the kernel."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """The distribution of X - mean. The mean is exact, whatever the table's resolution.

    `quantiles` None: uniform on the support. Else a value drawn from the table or, if
    `interpolated`, from the line between two neighbouring entries.
    """

    support: tuple[float, float]
    sigma2: float
    beta: float
    quantiles: FloatArray | None = None
    interpolated: bool = False


Positive = Annotated[float, Field(gt=0, lt=inf)]


def _positive(value: object) -> object:
    several = list(value) if isinstance(value, list | tuple) else [value]
    for one in several:
        if isinstance(one, bool) or not isinstance(one, int | float):
            raise ValueError("a number, or a list with one for each class")
        if not 0 < one < inf:
            raise ValueError("greater than 0, and finite")
    return several if isinstance(value, list | tuple) else value


Sigma = Annotated[float | list[float], BeforeValidator(_positive)]
"""Of all classes, or of each its own."""


class Distribution(Table):
    """A family of shapes."""

    follows_mean: ClassVar[bool] = False
    """Whether the shape is another for another mean."""

    def around(self, mean: float, number: int = 0) -> Shape:
        """The shape for the class of this number, with this mean."""
        raise NotImplementedError


class WithSigma(Distribution):
    """Those that are told how far their data vary."""

    sigma: Sigma = 0.5
    """The standard deviation: of all, or of each class."""

    def sigma_of(self, number: int) -> float:
        """Of the class of this number."""
        return self.sigma[number] if isinstance(self.sigma, list) else self.sigma


class Uniform(WithSigma):
    """Uniform data, as in the paper: mean +- sigma sqrt 3."""

    distribution: Literal["uniform"] = "uniform"

    def around(self, mean: float, number: int = 0) -> Shape:
        """The same for every mean."""
        sigma = self.sigma_of(number)
        half_range = sigma * 3**0.5
        return Shape(
            support=(-half_range, half_range),
            sigma2=sigma**2,
            beta=uniform_parameter(half_range),
        )


class Bernoulli(Distribution):
    """0 or 1."""

    follows_mean: ClassVar[bool] = True

    distribution: Literal["bernoulli"]

    def around(self, mean: float, number: int = 0) -> Shape:
        """The coin that shows 1 with probability `mean`, to a multiple of 1 / ENTRIES."""
        _require_inside_unit_interval(mean)
        ones = min(max(round(mean * ENTRIES), 1), ENTRIES - 1)
        return _steps(np.repeat([0.0, 1.0], [ENTRIES - ones, ones]))


class Beta(Distribution):
    """Beta(mean * concentration, (1 - mean) * concentration) on [0, 1]."""

    follows_mean: ClassVar[bool] = True

    distribution: Literal["beta"]
    concentration: Positive = 2.0
    """Smaller: nearer to 0 and 1."""

    def around(self, mean: float, number: int = 0) -> Shape:
        """The beta distribution with this mean."""
        _require_inside_unit_interval(mean)
        law = stats.beta(mean * self.concentration, (1 - mean) * self.concentration)
        return _lines(law.ppf(np.linspace(0, 1, ENTRIES)))


class TruncatedNormal(WithSigma):
    """Normal(mean, sigma) cut at mean +- half_range (its own standard deviation is smaller)."""

    distribution: Literal["truncated-normal"]
    half_range: Positive = 1.0
    """How far from the mean it is cut."""

    def around(self, mean: float, number: int = 0) -> Shape:
        """The same for every mean."""
        sigma = self.sigma_of(number)
        cut = self.half_range / sigma
        return _lines(stats.truncnorm(-cut, cut, scale=sigma).ppf(np.linspace(0, 1, ENTRIES)))


class Normal(WithSigma):
    """Normal(mean, sigma) without its outermost 2e-5, widened to have that sigma all the same."""

    distribution: Literal["normal"]

    def around(self, mean: float, number: int = 0) -> Shape:
        """The same for every mean."""
        sigma = self.sigma_of(number)
        shape = _lines(stats.norm.ppf(np.linspace(1e-5, 1 - 1e-5, ENTRIES)))
        assert shape.quantiles is not None
        return replace(
            _lines(shape.quantiles * (sigma / shape.sigma2**0.5)),
            beta=gaussian_parameter(sigma),
        )


class Empirical(Distribution):
    """Drawn with replacement from given values, moved so that their mean is the class's."""

    distribution: Literal["empirical"]
    values: list[float] | None = None
    """To draw from: these,"""
    file: Path | None = None
    """or those of a file: numbers and nothing else, or a CSV or Parquet file with a header."""
    column: str | None = None
    """Column of that file, if it has more than one."""

    _read: list[float] | None = PrivateAttr(None)
    """Contents of the file, read once: an edit while runs are computed must not mix two samples."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.file is None) == (self.values is None):
            raise ConfigError("distribution", "empirical", "a file or a list of values with it")
        if self.file is not None:
            self._read = self._numbers_in(self.file)
        return self

    @property
    def contents(self) -> Sequence[float]:
        """Numbers of the list or the file."""
        return self._read or self.values or []

    def around(self, mean: float, number: int = 0) -> Shape:
        """The same for every mean."""
        values = self.contents
        if len(set(values)) < 2 or not np.isfinite(values).all():
            raise ConfigError("data.values", values[:5], "at least two different finite numbers")
        return _steps(np.sort(np.asarray(values, dtype=np.float64)))

    def _numbers_in(self, file: Path) -> list[float]:
        try:
            return [float(word) for word in file.read_text(encoding="utf-8-sig").split()]
        except (OSError, ValueError):  # not a file of numbers only
            columns, first = columns_of(file, {"column": self.column}, field="file")
        cells = columns["column"]
        numbers = as_numbers(cells, "file", first)
        for row, (cell, number) in enumerate(zip(cells, numbers, strict=True), first):
            if number is None and not is_empty(cell):
                raise ConfigError("file", f"{cell} (row {row})", "a finite number")
        return [number for number in numbers if number is not None]


Data = Annotated[
    Uniform | Bernoulli | Beta | TruncatedNormal | Normal | Empirical,
    KindBy("distribution", default="uniform"),
]
"""One of them, by its name."""


def _steps(values: FloatArray) -> Shape:
    """Every entry equally likely."""
    deviations = values - values.mean()
    return _from_table(deviations, float(np.mean(deviations**2)), interpolated=False)


def _lines(quantiles: FloatArray) -> Shape:
    """Uniform between a random pair of neighbouring entries."""
    deviations = quantiles - (quantiles[:-1] + quantiles[1:]).mean() / 2
    low, high = deviations[:-1], deviations[1:]
    sigma2 = float(np.mean(low * low + low * high + high * high)) / 3
    return _from_table(deviations, sigma2, interpolated=True)


def _from_table(deviations: FloatArray, sigma2: float, *, interpolated: bool) -> Shape:
    support = float(deviations[0]), float(deviations[-1])
    return Shape(
        support=support,
        sigma2=sigma2,
        beta=bounded_parameter(max(-support[0], support[1])),
        quantiles=deviations,
        interpolated=interpolated,
    )


def _require_inside_unit_interval(mean: float) -> None:
    if not 0 < mean < 1:
        raise ConfigError("means", mean, "between 0 and 1, as this distribution lives there")
