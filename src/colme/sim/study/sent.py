"""Batches of a scenario that are computed in other processes."""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from colme import plugins
from colme.errors import ConfigError
from colme.sim.engines import OwnTable
from colme.sim.scenario import Scenario
from colme.sim.study.elsewhere import Parcel, require_names
from colme.sim.study.quantities import Sums
from colme.sim.study.sweep import Place, Sweep

SECOND = 300_000_000
"""Agent-rounds that take about as long: smaller batches go together, to be worth their way."""

FEWEST = 64
"""Orders below which none go together, so that many workers have something to do."""


@dataclass(frozen=True, slots=True)
class Order:
    """Some batches of one degree. Their seeds are the scenario's and the numbers of the runs."""

    parcel: Parcel
    places: tuple[Place, ...]


def orders(sweep: Sweep, places: Sequence[Place]) -> list[Order]:
    """For all of these; what can't travel is refused."""
    if not places:
        return []
    parcel = _packed(sweep)
    most = max(1, len(places) // FEWEST)
    groups: list[list[Place]] = []
    for place in places:
        together = min(most, max(1, SECOND // _work(sweep, place)))
        last = groups[-1] if groups else []
        if last and last[0].number == place.number and len(last) < together:
            last.append(place)
        else:
            groups.append([place])
    return [Order(parcel, tuple(group)) for group in groups]


def fulfilled(order: Order) -> list[Sums]:
    """In a worker: the sums of each batch, to the same bits as anywhere else."""
    sweep = _unpacked(order.parcel)
    return [sweep.compute(place, lambda _: None) for place in order.places]


def _work(sweep: Sweep, place: Place) -> int:
    """Agent-rounds of a batch, about: a rule asked in Python is not told from others here."""
    scenario, study = sweep.scenario, sweep.study(place.number)
    each = sum(kind.work * len(entrants) for kind, entrants in study.entrants.items())
    return round(scenario.agents * scenario.rounds * study.lanes * each) or 1


def _packed(sweep: Sweep) -> Parcel:
    """The scenario with what its files hold, by names and numbers alone."""
    scenario = sweep.scenario.with_files_read()
    try:
        fields = json.loads(scenario.model_dump_json())
    except ValueError as error:
        expected = f"options that are plain data, to be sent to workers ({error})"
        raise ConfigError("algorithms", "an object", expected) from None
    require_names(fields["algorithms"])
    again = Scenario.build(**fields)
    for mine, theirs in zip(scenario.algorithms, again.algorithms, strict=True):
        if mine.model_extra != theirs.model_extra:
            seen = f"{mine.label} with {mine.model_extra}"
            raise ConfigError("algorithms", seen, "options that are plain data, and finite")
        if not (isinstance(mine, OwnTable) and isinstance(theirs, OwnTable)):
            continue
        if mine.made is not theirs.made:
            seen = plugins.text_of(mine.algorithm)
            expected = f"{mine.made} under a name of its own: workers look it up by that"
            raise ConfigError("algorithms", seen, expected)
    content = json.dumps([fields, sweep.dtype.name, sorted(sweep.keep)])
    return Parcel.of(zlib.compress(content.encode(), 1), fields["algorithms"])


@lru_cache(maxsize=2)
def _unpacked(parcel: Parcel) -> Sweep:
    """Kept: what is prepared for a batch serves the next."""
    fields, dtype, keep = json.loads(zlib.decompress(parcel.opened()))
    return Sweep(Scenario.build(**fields), np.dtype(dtype).type, frozenset(keep))
