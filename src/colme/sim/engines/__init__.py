"""One interface, `Engine`, for whatever runs in the simulator: algorithms, baselines, one's own."""

from colme.sim.engines.baselines import (
    Baseline,
    BColmeTable,
    CColmeTable,
    ColmeTable,
    IdealTable,
    LocalTable,
    PrivateColmeTable,
    Run,
)
from colme.sim.engines.engine import (
    AlgorithmTable,
    Cell,
    Chunk,
    Cost,
    Engine,
    Entrant,
    Setting,
    World,
)
from colme.sim.engines.measure import MEASURED, FloatArray, Record
from colme.sim.engines.own import OwnTable
from colme.sim.engines.paper import PaperEngine, PaperTable
from colme.sim.engines.tracking import TrackingTable

__all__ = [
    "MEASURED",
    "AlgorithmTable",
    "BColmeTable",
    "Baseline",
    "CColmeTable",
    "Cell",
    "Chunk",
    "ColmeTable",
    "Cost",
    "Engine",
    "Entrant",
    "FloatArray",
    "IdealTable",
    "LocalTable",
    "OwnTable",
    "PaperEngine",
    "PaperTable",
    "PrivateColmeTable",
    "Record",
    "Run",
    "Setting",
    "TrackingTable",
    "World",
]
