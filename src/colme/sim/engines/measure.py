"""What is measured of an algorithm in a recorded round of a run: sums over agents or edges."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Array = np.ndarray[Any, Any]

MEASURED: Mapping[str, str] = {
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


def new_record(rows: int, runs: int) -> Record:
    """An empty one."""
    empty = {name: np.zeros((rows, runs)) for name in MEASURED}
    return empty | {"alone": np.full((rows, runs), np.nan)}


def of_answers(answers: Array, local: Array, truth: FloatArray, tolerance: float) -> dict[str, Any]:
    """What the agents' answers, [M] or [M, runs], say."""
    deviation = np.asarray(answers, dtype=np.float64) - truth
    return {
        "error": (deviation**2).sum(axis=0),
        "close": (np.abs(deviation) <= tolerance).sum(axis=0),
        "local": (answers == local).sum(axis=0),
    }


def of_decisions(same: Array, accepted: Array, agents: int, *, each: int = 1) -> dict[str, Any]:
    """What the decisions about edges, [E] or [E, runs], say; `each` stands for so many of them."""
    return {
        "size": agents + each * accepted.sum(axis=0),
        "missed": each * (same & ~accepted).sum(axis=0),
        "mixed_up": each * (accepted & ~same).sum(axis=0),
        "within": each * same.sum(axis=0),
        "between": each * (~same).sum(axis=0),
    }
