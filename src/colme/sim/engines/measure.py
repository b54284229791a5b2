"""What is measured of an algorithm in a recorded round of a run: sums over agents or edges."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Array = np.ndarray[Any, Any]

MEASURED: Mapping[str, str] = {
    "evaluated": "agents whose answers were computed",
    "error": "squared errors of the answers",
    "alone": "squared errors of the own means of those who answered; NaN: all did",
    "local": "agents that answer with their own mean",
    "close": "agents whose answer is within the tolerance of their true mean",
    "intervals": "agents that told an interval",
    "covered": "agents whose interval holds their true mean",
    "size": "sizes of the accepted sets, each agent itself included",
    "missed": "edges within a class that are not accepted, in both directions",
    "mixed_up": "edges between classes that are accepted",
    "within": "edges within a class",
    "between": "edges between classes",
    "messages": "messages that an agent sends",
    "payload": "bytes of it",
    "memory": "numbers that an agent keeps",
}
"""Names and meanings. `colme.sim.study.quantities` makes results of them."""

Record = dict[str, FloatArray]
"""[rows, runs] of everything measured."""

ANSWERS = "answers"
"""Beside what is measured: everybody's answers themselves, for those who keep them."""


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """What agents answered in a recorded round."""

    values: FloatArray
    """[M, runs]: relative to the setting's centre."""
    weight: FloatArray
    """[M, runs]: for how many each stands; 0: not asked, or one who lies."""
    class_size: FloatArray | None = None
    """[M, runs]: how many are taken to be alike, oneself included, where that is known."""
    margin: FloatArray | None = None
    """[M, runs]: half the width of a 95% interval, where there is one."""


def new_record(rows: int, runs: int) -> Record:
    """An empty one."""
    empty = {name: np.zeros((rows, runs)) for name in MEASURED}
    return empty | {"alone": np.full((rows, runs), np.nan)}


def of_answers(
    answers: Array,
    local: Array,
    truth: FloatArray,
    tolerance: float,
    honest: Array | bool = True,
) -> dict[str, Any]:
    """What the answers of the `honest` agents, [M] or [M, runs], say."""
    deviation = np.asarray(answers, dtype=np.float64) - truth
    return {
        "error": (deviation**2 * honest).sum(axis=0),
        "close": ((np.abs(deviation) <= tolerance) & honest).sum(axis=0),
        "local": ((answers == local) & honest).sum(axis=0),
        ANSWERS: answers,
    }


def of_decisions(
    same: Array,
    accepted: Array,
    agents: int,
    *,
    each: int = 1,
    honest: tuple[Array | bool, Array | bool] = (True, True),
) -> dict[str, Any]:
    """What the decisions about edges, [E] or [E, runs], say of so many honest agents.

    `each` stands for one direction of an edge, or for 2; `honest` says whether its ends are. A
    liar's decisions are not measured, and about a liar there is no right one.
    """
    mine, theirs = honest
    deciding = np.multiply(mine, 1) + (each - 1) * np.multiply(theirs, 1)
    measured = np.logical_and(mine, theirs)
    within, between = same & measured, ~same & measured
    return {
        "size": agents + (deciding * accepted).sum(axis=0),
        "missed": each * (within & ~accepted).sum(axis=0),
        "mixed_up": each * (between & accepted).sum(axis=0),
        "within": each * within.sum(axis=0),
        "between": each * between.sum(axis=0),
    }
