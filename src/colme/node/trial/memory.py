"""What a node takes of a machine's memory: idle, and once it has answered its owner."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from time import monotonic, sleep
from typing import Self

from colme.errors import NetworkError
from colme.node.owner import OwnerClient
from colme.node.trial.fleet import LOOK_SECONDS, SAMPLES, START_SECONDS, Fleet, Plan, prepare

AGENTS = 7
"""Answers rest on others' records from six on."""
SAMPLES_EACH = 300
MEGABYTE = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """Of a process, in millions of bytes, as the system counts them."""

    resident: float
    """All pages that are in memory, those of libraries included, which it shares."""
    proportional: float
    """A page that n processes share counts as an n-th. Of a fleet: with all the others' help."""
    own: float
    """Pages of nobody else: what would be free at once if it ended."""

    @classmethod
    def of(cls, process: int) -> Self:
        """As it is now. Linux alone counts so."""
        counts: dict[str, float] = {}
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]:
            name, kibibytes, *_ = line.split()
            counts[name] = int(kibibytes) * 1024 / MEGABYTE
        return cls(
            resident=counts["Rss:"],
            proportional=counts["Pss:"],
            own=counts["Private_Clean:"] + counts["Private_Dirty:"],
        )

    @classmethod
    def median(cls, many: Sequence[Self]) -> Self:
        """Of each count by itself."""
        return cls(
            resident=median(one.resident for one in many),
            proportional=median(one.proportional for one in many),
            own=median(one.own for one in many),
        )


def footprints(folder: Path) -> tuple[Footprint, Footprint]:
    """Of a node that relays, which has drawn noise and holds everybody's release: before its owner
    has ever asked, and after that. The median of a fleet whose samples come from files.
    """
    members = prepare(Plan(agents=AGENTS, from_files=True), folder)
    with Fleet(members) as fleet:
        # None is there when the nodes start, so that every line is a new one.
        _until(fleet, records=0)
        for number, member in enumerate(members):
            draws = Random(number)
            lines = (f"{draws.gauss(member.truth, 0.1)}\n" for _ in range(SAMPLES_EACH))
            (member.folder / SAMPLES).write_text("".join(lines))
        _until(fleet, records=AGENTS)
        idle = _look(fleet)
        for member in members:
            OwnerClient(member.config).estimate()
        return idle, _look(fleet)


def _look(fleet: Fleet) -> Footprint:
    return Footprint.median([Footprint.of(fleet.process(one).pid) for one in fleet.members])


def _until(fleet: Fleet, *, records: int) -> None:
    """All nodes are connected, and hold so many records and no others."""
    began = monotonic()
    while True:
        seen = [sight.status for sight in fleet.look()]
        well = all(one and not one.troubles and one.records == records for one in seen)
        if well and len({one.board for one in seen if one}) == 1:
            return
        if monotonic() - began > START_SECONDS:
            held = [one and one.records for one in seen]
            expected = f"{records} at each, and no troubles"
            raise NetworkError("records", f"{held} after {START_SECONDS:g} s", expected)
        sleep(LOOK_SECONDS)
