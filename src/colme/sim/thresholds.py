"""The decision rules as tables over rounds: what the kernel compares distances with.

Among equals a rule is one threshold z(t). Where agents have their own epsilon, the threshold of an
edge is edge_p * p(t) + edge_q * q(t), with the edge's part from both sides' noise (Sec. III-C).
"""

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from colme.rules.release import Profile, Release
from colme.sim.scenario import AlgorithmSpec

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Network:
    """What thresholds depend on beside the agents' profiles."""

    agents: int
    degree: float
    rounds: int

    @property
    def regularity(self) -> int:
        """r of the optimistic distance rule."""
        return max(1, round(self.degree))


def common(algorithm: AlgorithmSpec, profile: Profile, network: Network) -> FloatArray:
    """z(1), z(2), ... of a pair of equals; the oracle has none."""
    if algorithm.rule == "oracle":
        return np.zeros(network.rounds)
    releases = (
        Release(
            count=t,
            mean=0.0,
            variance=profile.released_variance(t, t),
            beta=profile.released_parameter(t, t),
        )
        for t in range(1, network.rounds + 1)
    )
    if algorithm.rule == "bernstein":
        bernstein = algorithm.bernstein(network.degree, profile.epsilon)
        return np.array([bernstein.threshold(release, release) for release in releases])
    optimistic = algorithm.optimistic(network.agents, network.regularity)
    return np.array([2 * optimistic.radius(release) for release in releases])


def over_time(
    algorithm: AlgorithmSpec, profiles: list[Profile], network: Network
) -> tuple[FloatArray, FloatArray]:
    """p(t) and q(t), for agents with profiles of their own."""
    t = np.arange(1, network.rounds + 1)
    if algorithm.rule == "oracle":
        return np.zeros(len(t)), np.zeros(len(t))
    if algorithm.rule == "bernstein":
        strictest = min(profile.epsilon for profile in profiles)
        theta = algorithm.bernstein(network.degree, strictest).theta
        level = np.array([log(2 / theta(int(n))) for n in t])
        return level / np.sqrt(t), np.sqrt(level / t)
    optimistic = algorithm.optimistic(network.agents, network.regularity)
    unit = (Release(count=int(n), mean=0.0, variance=1 / n, beta=0.0) for n in t)
    return np.zeros(len(t)), np.array([optimistic.radius(release) for release in unit])


def over_edges(
    algorithm: AlgorithmSpec, profiles: list[Profile], a: NDArray[np.int64], b: NDArray[np.int32]
) -> tuple[FloatArray, FloatArray]:
    """edge_p and edge_q for the edges between agents a and b."""
    beta = np.array([profile.released_parameter(1, 1) for profile in profiles])
    variance = np.array([profile.released_variance(1, 1) for profile in profiles])
    if algorithm.rule == "bernstein":
        return 2 * (beta[a] + beta[b]), np.sqrt(2 * (variance[a] + variance[b]))
    return np.zeros(len(a)), np.sqrt(variance[a]) + np.sqrt(variance[b])
