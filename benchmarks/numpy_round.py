"""The kernel's round in straightforward NumPy: the benchmark's baseline, the kernel's reference.

One run at a time, float64, on the kernel's own arrays (see `colme.sim.kernel.arrays`). Neighbours
stand in one padded row per agent, each edge in both directions, and every round starts afresh: no
bits, no stored weights, no tests left out.
"""

from typing import NamedTuple

import numpy as np

from colme.sim.kernel.arrays import COMMON, ORACLE, Algorithms, Array, Edges, Schedule


class PlainRecord(NamedTuple):
    """One entry per recorded round; its fields are those of `KernelRecord`."""

    local_error: Array
    error: Array
    size: Array
    local: Array
    close: Array
    missed: Array
    mixed_up: Array


class Neighbours(NamedTuple):
    """Everyone's neighbours, r being the largest degree."""

    agent: Array  # int [M, r]
    edge: Array  # int [M, r]: the number of the edge to that neighbour
    present: Array  # bool [M, r]: whether there is one, or padding

    @classmethod
    def of(cls, graph: Edges) -> "Neighbours":
        """From the kernel's graph, which holds every edge once."""
        agents, edges = graph.indptr.size - 1, graph.indices.size
        low, high = np.repeat(np.arange(agents), np.diff(graph.indptr)), graph.indices
        owner, other = np.concatenate([low, high]), np.concatenate([high, low])
        number = np.tile(np.arange(edges), 2)
        order = np.lexsort((other, owner))
        degree = np.bincount(owner, minlength=agents)
        present = np.arange(degree.max(initial=1)) < degree[:, None]
        agent, edge = np.zeros((2, *present.shape), np.int64)
        agent[present], edge[present] = other[order], number[order]
        return cls(agent, edge, present)


def accepted_by(
    algorithms: Algorithms, k: int, t: int, x: Array, classes: Array, neighbours: Neighbours
) -> Array:
    """Whom algorithm k accepts in round t: bool [M, r]."""
    others, edge, present = neighbours
    if algorithms.rule[k] == ORACLE:
        alike = classes[others] == classes[:, None]
        return np.asarray(alike & present)
    distance = np.abs(x[:, None] - x[others])
    if algorithms.rule[k] == COMMON:
        return np.asarray((distance < algorithms.z[k, t]) & present)
    own = np.arange(len(x))[:, None]
    lower, upper = np.minimum(own, others), np.maximum(own, others)
    pair = algorithms.kinds * classes[lower] + classes[upper] if algorithms.kinds > 1 else 0
    row = edge if algorithms.edge_z.shape[1] > 1 else np.zeros_like(edge)
    z = algorithms.edge_z[k, row, (t - 1) % algorithms.edge_z.shape[2], pair]
    return np.asarray((distance < z) & present)


def run(
    algorithms: Algorithms, k: int, graph: Edges, classes: Array, location: Array,
    schedule: Schedule, samples: Array, units: Array,
) -> PlainRecord:  # fmt: skip
    """Algorithm k on one run's samples and unit noise, both [T, M]."""
    neighbours = Neighbours.of(graph)
    others, _, present = neighbours
    same = present & (classes[others] == classes[:, None])
    scale = algorithms.scale[algorithms.noise[k]]
    data_sum, noise_sum, mu, age = np.zeros((4, len(classes)))
    accepted = np.zeros_like(present)
    rows = []
    for t in range(1, len(samples) + 1):
        data_sum += samples[t - 1]
        data = data_sum / t
        noise_sum += units[t - 1]
        x = (data_sum + scale * noise_sum) / t
        before = accepted
        accepted = accepted_by(algorithms, k, t, x, classes, neighbours)
        size = 1 + accepted.sum(1)
        age = np.where((accepted != before).any(1), 1, age + 1)
        level = age // algorithms.stride[k] + algorithms.offset[k]
        alpha = level / (level + 1)
        weight = accepted / (np.maximum(size[:, None], size[others]) + 1)
        flow = (weight * (mu[others] - mu[:, None])).sum(1)
        mu = (1 - alpha) * x + alpha * (mu + flow)
        if schedule.record[t] >= 0:
            local = (size <= 2) & ((size[others] <= 2) | ~accepted).all(1)
            answer = np.where(local, data, mu)
            rows.append(
                (
                    ((data - location) ** 2).sum(),
                    ((answer - location) ** 2).sum(),
                    size.sum(),
                    local.sum(),
                    (np.abs(answer - location) <= schedule.tolerance).sum(),
                    (same & ~accepted).sum(),
                    (accepted & ~same).sum(),
                )
            )
    return PlainRecord(*np.array(rows, float).T)
