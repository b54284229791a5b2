"""A scenario, run in batches on several threads: progress, resuming, labelled results."""

from colme.sim.study.batch import Batch
from colme.sim.study.checkpoint import Checkpoint
from colme.sim.study.precision import precision
from colme.sim.study.results import RESULT, load, save
from colme.sim.study.room import room_for
from colme.sim.study.runner import simulate, work
from colme.sim.study.study import Study
from colme.sim.study.threads import Stopped, on_threads

__all__ = [
    "RESULT",
    "Batch",
    "Checkpoint",
    "Stopped",
    "Study",
    "load",
    "on_threads",
    "precision",
    "room_for",
    "save",
    "simulate",
    "work",
]
