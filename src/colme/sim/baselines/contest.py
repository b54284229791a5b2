"""All baselines of a study on the runs of one batch, measured as the kernel measures its own."""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from colme.graph import Graph, IntArray
from colme.rules.release import Profile
from colme.sim.baselines.b_colme import BColme
from colme.sim.baselines.baseline import Array, Baseline
from colme.sim.baselines.c_colme import CColme
from colme.sim.baselines.colme import Colme
from colme.sim.baselines.ideal import Ideal
from colme.sim.baselines.local import Local
from colme.sim.baselines.private_colme import PrivateColme
from colme.sim.scenario import AlgorithmSpec

FloatArray = NDArray[np.float64]
Entrant = tuple[AlgorithmSpec, Profile]

MEASURED = (
    "error",
    "size",
    "local",
    "missed",
    "mixed_up",
    "within",
    "between",
    "close",
    "messages",
    "payload",
    "memory",
)


def make_baseline(
    spec: AlgorithmSpec, profile: Profile, graph: Graph, classes: IntArray
) -> Baseline:
    """The baseline that a scenario names, before its first round."""
    agents, sigma, delta = graph.agents, sqrt(profile.sigma2), spec.delta
    match spec.rule:
        case "local":
            return Local()
        case "ideal":
            return Ideal(graph.components(classes))
        case "colme":
            return Colme(
                agents, sigma=sigma, delta=delta, restricted=spec.restricted, weights=spec.weights
            )
        case "c-colme":
            truth = classes if spec.global_reset else None
            return CColme(
                graph, sigma=sigma, delta=delta, global_reset=spec.global_reset, classes=truth
            )
        case "b-colme":
            return BColme(graph, sigma=sigma, delta=delta, depth=spec.depth)
        case "private-colme":
            theta = spec.bernstein(float(graph.degrees.mean()), profile.epsilon).theta
            return PrivateColme(agents, profile=profile, theta=theta)
        case _:
            raise AssertionError(f"{spec.rule} is an algorithm of the kernel")


class Contest:
    """Every entrant on every run. `classes` and `truth` are [M, runs]."""

    def __init__(
        self,
        entrants: Sequence[Entrant],
        graph: Graph,
        classes: IntArray,
        truth: FloatArray,
        rows: int,
        tolerance: float,
    ) -> None:
        self._graph, self._classes, self._truth = graph, classes, truth
        self._tolerance = tolerance
        self._players = [
            [make_baseline(*entrant, graph, classes[:, run]) for run in range(classes.shape[1])]
            for entrant in entrants
        ]
        shape = (len(entrants), rows, classes.shape[1])
        self.record: dict[str, FloatArray] = {name: np.zeros(shape) for name in MEASURED}

    def advance(self, first: int, data: Array, noise: Array, row: int | None) -> None:
        """The rounds of `data` and `noise` [rounds, M, runs]; the last is recorded in `row`."""
        for run in range(self._classes.shape[1]):
            mine = np.ascontiguousarray(data[:, :, run])
            units = np.ascontiguousarray(noise[:, :, run])
            answers = np.empty_like(mine)
            for number, players in enumerate(self._players):
                players[run].advance(first, mine, units, answers)
                if row is not None:
                    self._measure((number, row, run), players[run], answers[-1], mine[-1])

    def _measure(
        self, place: tuple[int, int, int], player: Baseline, answers: Array, local: Array
    ) -> None:
        run = place[2]
        deviation = np.asarray(answers, dtype=np.float64) - self._truth[:, run]
        cost = player.cost()
        values = {
            "error": (deviation**2).sum(),
            "close": (np.abs(deviation) <= self._tolerance).sum(),
            "local": (answers == local).sum(),
            "messages": cost.messages,
            "payload": cost.payload,
            "memory": cost.memory,
            **self._decisions(player.accepted(), self._classes[:, run]),
        }
        for name, value in values.items():
            self.record[name][place] = value

    def _decisions(self, accepted: Array | None, classes: IntArray) -> dict[str, float]:
        """Of the graph's edges, or, for those who need no graph, of all ordered pairs."""
        agents = self._graph.agents
        if accepted is None:
            return {"size": agents}
        if accepted.ndim == 2:
            same = classes[:, None] == classes[None, :]
            others = ~np.eye(agents, dtype=bool)
            same, accepted = same[others], accepted[others]
        else:
            same = np.repeat(classes, self._graph.degrees) == classes[self._graph.indices]
        return {
            "size": agents + accepted.sum(),
            "missed": (same & ~accepted).sum(),
            "mixed_up": (accepted & ~same).sum(),
            "within": same.sum(),
            "between": (~same).sum(),
        }
