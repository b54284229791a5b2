"""One interface, `Engine`, for whatever runs in the simulator: algorithms, baselines, one's own.

- `engine`: what an engine is given (`Setting`, `World`, `Chunk`), what it measures, what it is
- `paper`, `large`: Algorithm 1 in the SIMD kernel, with `decisions`; many agents in a run alone
- `relay`: records on boards, and the answers of `colme.inference`
- `baselines`: the systems that came before, one file each, and those of a user
- `liars`: what dishonest agents report
"""

from colme.sim.engines.baselines import BASELINES
from colme.sim.engines.baselines.base import Baseline, OwnTable, Run
from colme.sim.engines.engine import (
    MEASURED,
    AlgorithmTable,
    Answered,
    BoolArray,
    Cell,
    Chunk,
    Cost,
    Course,
    Engine,
    Entrant,
    FloatArray,
    Record,
    Setting,
    World,
    by_engine,
    mean_groups,
    of_answers,
    of_decisions,
)
from colme.sim.engines.large import LargeEngine
from colme.sim.engines.liars import Liars, Lying, Moment
from colme.sim.engines.paper import PaperEngine, PaperTable
from colme.sim.engines.relay.engine import RelayTable

TABLES = (PaperTable, RelayTable, *BASELINES)
"""The tables of all algorithms that have a name."""

__all__ = [
    "MEASURED",
    "TABLES",
    "AlgorithmTable",
    "Answered",
    "Baseline",
    "BoolArray",
    "Cell",
    "Chunk",
    "Cost",
    "Course",
    "Engine",
    "Entrant",
    "FloatArray",
    "LargeEngine",
    "Liars",
    "Lying",
    "Moment",
    "OwnTable",
    "PaperEngine",
    "PaperTable",
    "Record",
    "RelayTable",
    "Run",
    "Setting",
    "World",
    "by_engine",
    "mean_groups",
    "of_answers",
    "of_decisions",
]
