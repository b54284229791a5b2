"""What every baseline offers the simulator."""

from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

Array = np.ndarray[Any, Any]

MEAN_BYTES: Final = 8
COUNT_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Cost:
    """What an agent spends, averaged over the agents. A request is a message without payload."""

    messages: float
    """Sent per round."""
    payload: float
    """Bytes sent per round: 8 for a mean or a sum of means, 4 for a count or a size."""
    memory: float
    """Numbers kept from one round to the next."""


class Baseline(Protocol):
    """An algorithm that continues from one chunk of rounds to the next."""

    def advance(self, first: int, data: Array, noise: Array, answers: Array) -> None:
        """Run the rounds first, first + 1, ...: one row each, one column per agent.

        `data` and `noise` are running means, of an agent's samples and of its Laplace(0, 1) draws;
        every agent has one sample per round. Every agent's estimates go into `answers`.
        """
        ...

    def cost(self) -> Cost:
        """What the latest round cost; before any round, what the first one will."""
        ...

    def accepted(self) -> Array | None:
        """Who keeps whom: per edge of the graph, or as a matrix (row: who decides), or None."""
        ...
