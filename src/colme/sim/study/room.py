"""How much memory a study takes, before any of it is taken."""

import os

import numpy as np

from colme.sim.scenario import Scenario
from colme.sim.study.precision import precision
from colme.sim.study.study import runs_of_a_graph

DRAWING = 80
"""Bytes of an edge's end while a graph is drawn and kept."""
LANE = 200
"""Bytes of an agent in a lane: its data, its class, what it is measured against."""


def room_for(scenario: Scenario, threads: int | None = None) -> int:
    """Bytes, about: those of the batches that are computed at once.

    Measured of paper and relay with 100,000 agents at degrees 5 and 20, it is at most 1.6 times
    what was taken, and at least 0.9 times.
    """
    lanes = runs_of_a_graph(scenario.runs)
    batches = -(-scenario.runs // lanes) * len(scenario.graph.degrees)
    at_once = min(threads or os.cpu_count() or 1, batches)
    levels = 1 if scenario.epsilon_per_agent is not None else len(scenario.epsilon)
    wide = np.dtype(precision(scenario)).itemsize // 4
    largest = max(
        scenario.graph.mean_degree(scenario.agents, degree) for degree in scenario.graph.degrees
    )
    of_cells = sum(
        (levels if table.private else 1)
        * (table.engine.bytes_of_agent + table.engine.bytes_of_neighbour * largest)
        for table in scenario.algorithms
    )
    each = DRAWING * largest + lanes * wide * (LANE + of_cells)
    return round(at_once * scenario.agents * each)
