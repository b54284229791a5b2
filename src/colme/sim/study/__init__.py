"""A scenario, run in batches here or on a cluster: progress, resuming, labelled results."""

from colme.sim.study.batch import Batch
from colme.sim.study.checkpoint import Checkpoint
from colme.sim.study.cluster import on_cluster, workers_here
from colme.sim.study.elsewhere import Parcel, on_executor, require_names
from colme.sim.study.kept import kinds_to_keep
from colme.sim.study.overview import SummaryRow, summary, title
from colme.sim.study.precision import precision
from colme.sim.study.results import RESULT, Results, load, save
from colme.sim.study.room import room_for
from colme.sim.study.runner import simulate, work
from colme.sim.study.study import Study
from colme.sim.study.tables import TABLES, save_csv, table
from colme.sim.study.threads import Stopped, on_threads

__all__ = [
    "RESULT",
    "TABLES",
    "Batch",
    "Checkpoint",
    "Parcel",
    "Results",
    "Stopped",
    "Study",
    "SummaryRow",
    "kinds_to_keep",
    "load",
    "on_cluster",
    "on_executor",
    "on_threads",
    "precision",
    "require_names",
    "room_for",
    "save",
    "save_csv",
    "simulate",
    "summary",
    "table",
    "title",
    "work",
    "workers_here",
]
