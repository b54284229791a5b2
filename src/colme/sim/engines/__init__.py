"""One interface, `Engine`, for whatever runs in the simulator: algorithms, baselines, one's own."""

from colme.sim.engines.baselines import BASELINES, Baseline, Run
from colme.sim.engines.claims import Claims
from colme.sim.engines.course import BLOCK, Course, Jumped, Walked
from colme.sim.engines.engine import (
    AlgorithmTable,
    Cell,
    Chunk,
    Cost,
    Engine,
    Entrant,
    Setting,
    World,
    mean_groups,
)
from colme.sim.engines.large import LargeEngine
from colme.sim.engines.liars import Liars, Moment
from colme.sim.engines.measure import (
    MEASURED,
    Answered,
    BoolArray,
    FloatArray,
    Record,
    of_answers,
    of_decisions,
)
from colme.sim.engines.own import OwnTable
from colme.sim.engines.paper import PaperEngine, PaperTable
from colme.sim.engines.relay import RelayTable
from colme.sim.engines.tracking import TrackingEngine, TrackingTable

TABLES = (PaperTable, TrackingTable, RelayTable, *BASELINES)
"""Of all algorithms that have a name."""

__all__ = [
    "BLOCK",
    "MEASURED",
    "TABLES",
    "AlgorithmTable",
    "Answered",
    "Baseline",
    "BoolArray",
    "Cell",
    "Chunk",
    "Claims",
    "Cost",
    "Course",
    "Engine",
    "Entrant",
    "FloatArray",
    "Jumped",
    "LargeEngine",
    "Liars",
    "Moment",
    "OwnTable",
    "PaperEngine",
    "PaperTable",
    "Record",
    "RelayTable",
    "Run",
    "Setting",
    "TrackingEngine",
    "TrackingTable",
    "Walked",
    "World",
    "mean_groups",
    "of_answers",
    "of_decisions",
]
