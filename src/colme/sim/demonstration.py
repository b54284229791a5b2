"""Forty-eight agents in memory: what they answer together, alone, and with all raw data at hand."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from colme.experiment.statistics import FloatArray
from colme.graph import IntArray
from colme.network import Network
from colme.privacy.mechanism import SeededLaplace
from colme.rules.release import Profile
from colme.sim.graphs import random_classes, random_regular

AGENTS = 48
DEGREE = 4
MEANS = (0.3, 0.5, 0.7)
HALF_RANGE = 0.29
"""Samples are uniform, as far as this from the mean; all know that they lie between 0 and 1."""
FIRST, ASKED = 10, 9
"""Everybody is asked from this round on, so often, evenly spaced on a log scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """Everybody's truth, [agents], and answers in some rounds, [rounds, agents]."""

    rounds: IntArray
    truth: FloatArray
    local: FloatArray
    """Of the exact mean of one's own samples."""
    together: FloatArray
    """With relay."""
    ideal: FloatArray
    """Of the exact means of all who have the same truth: nobody could know these."""

    def errors(self, answers: FloatArray) -> FloatArray:
        """Root mean squared, over agents."""
        return np.asarray(np.sqrt(((answers - self.truth) ** 2).mean(axis=1)))

    @property
    def samples_saved(self) -> float:
        """How many times as many samples each would have needed alone, for the last answers."""
        alone, together = (self.errors(one)[-1] for one in (self.local, self.together))
        return float((alone / together) ** 2)


def demonstrate(rounds: int, steps: Iterable[int], *, epsilon: float, seed: int) -> Demonstration:
    """`steps` are 1 to `rounds`, a sample for everybody in each, with the recommended algorithm."""
    generator = np.random.default_rng(seed)
    graph = random_regular(AGENTS, DEGREE, generator)
    truth = np.asarray(MEANS)[random_classes(AGENTS, len(MEANS), generator)]
    # Boards are in the order of names, so these sort as numbers do.
    names = tuple(f"{a:06d}" for a in range(AGENTS))
    network = Network.from_graph(
        replace(graph, labels=names),
        profile=Profile.bounded(0, 1, epsilon=epsilon),
        noise=SeededLaplace(generator),
    )
    asked = np.unique(np.rint(np.geomspace(min(FIRST, rounds), rounds, ASKED)).astype(np.int64))
    together, local = [], []
    for t in steps:
        samples = truth + generator.uniform(-HALF_RANGE, HALF_RANGE, AGENTS)
        network.run_round(samples.tolist())
        if t in asked:
            answers = [agent.estimate for agent in network.agents.values()]
            together.append([one.value for one in answers])
            local.append([one.alone for one in answers])
    alone = np.array(local)
    return Demonstration(
        rounds=asked,
        truth=truth,
        local=alone,
        together=np.array(together),
        ideal=np.stack([alone[:, truth == mean].mean(axis=1) for mean in truth], axis=1),
    )
