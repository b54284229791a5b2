"""Batches of a study of one's own data that are computed in other processes."""

import json
import pickle
from dataclasses import dataclass
from functools import lru_cache

from colme.sim.study import Parcel, require_names
from colme.studies.inquiry import Inquiry
from colme.studies.playing import Part, play


@dataclass(frozen=True, slots=True)
class StudyOrder:
    """One batch: the question, rows and all, and which runs."""

    parcel: Parcel
    first: int
    runs: int


def packed(question: Inquiry) -> Parcel:
    """What every batch needs; what can't travel is refused."""
    tables = [json.loads(table.model_dump_json()) for table in question.algorithms]
    require_names(tables)
    return Parcel.of(pickle.dumps(question), tables)


def fulfilled(order: StudyOrder) -> Part:
    """In a worker: what a batch has found, to the same bits as anywhere else."""
    return play(_unpacked(order.parcel), order.first, order.runs, lambda _: None)


@lru_cache(maxsize=2)
def _unpacked(parcel: Parcel) -> Inquiry:
    # As trusted as the order that it came with, which was pickled, too.
    question: Inquiry = pickle.loads(parcel.opened())
    return question
