"""What a result says in a few lines: each algorithm at each epsilon, after the last round."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from colme.privacy.words import level

_NEEDED = ["mse", "mse_se", "mse_alone", "mse_ideal"]
_CELL = ("algorithm", "epsilon", "degree")


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """One algorithm at one epsilon and degree."""

    algorithm: str
    epsilon: float
    degree: float
    mse: float
    standard_error: float
    over_local: float
    over_ideal: float
    """NaN where there is no Ideal: where the truth drifts."""

    HEADINGS = ("algorithm", "epsilon", "degree", "MSE", "±", "MSE / Local", "MSE / Ideal")

    @property
    def words(self) -> tuple[str, ...]:
        """As `HEADINGS` say."""
        return (
            self.algorithm,
            "each its own" if np.isnan(self.epsilon) else level(self.epsilon),
            f"{self.degree:g}",
            f"{self.mse:.3e}",
            f"{self.standard_error:.0e}",
            f"{self.over_local:.3g}",
            "-" if np.isnan(self.over_ideal) else f"{self.over_ideal:.3g}",
        )


def is_whole(result: xr.Dataset) -> bool:
    """Whether there is something to sum up: somebody may have taken a part of the result."""
    there = all(name in result for name in _NEEDED)
    return there and {*result.mse.dims} == {*_CELL, "t"} and "runs" in result.attrs


def summary(result: xr.Dataset) -> list[SummaryRow]:
    """A row for each algorithm, epsilon and degree."""
    end = result[_NEEDED].isel(t=-1)
    rows = []
    for place in np.ndindex(end.mse.transpose(*_CELL).shape):
        cell = end.isel(dict(zip(_CELL, place, strict=True)))
        rows.append(
            SummaryRow(
                algorithm=str(cell.algorithm.values),
                epsilon=float(cell.epsilon),
                degree=float(cell.degree),
                mse=float(cell.mse),
                standard_error=float(cell.mse_se),
                over_local=float(cell.mse / cell.mse_alone),
                over_ideal=float(cell.mse / cell.mse_ideal),
            )
        )
    return rows


def title(result: xr.Dataset) -> str:
    """State how many rounds and runs there are, and which errors are of few agents.

    An algorithm whose answers are dear is evaluated at some agents only. Its standard errors come
    from as few, and are rough themselves.
    """
    text = f"After {int(result.t[-1]):,} rounds, {result.attrs['runs']} runs"
    if "evaluated" not in result:  # of an earlier version
        return text
    fewest = result.evaluated.isel(t=-1).min(("epsilon", "degree"))
    few = [
        f"{label} at {number:g}"
        for label, number in zip(fewest.algorithm.values, fewest.values.tolist(), strict=True)
        if number < fewest.max()
    ]
    return f"{text}; evaluated agents of a run: {', '.join(few)}" if few else text
