"""Three nodes on a simulated clock, network and disk, fed and crashed at random."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from colme.node.journal import Journal
from colme.protocol.events import Effects
from colme.protocol.relay import BoardExchange
from support.neighbours import Neighbours
from support.simulated import ACKNOWLEDGED_TOO_EARLY, DRAWN_TWICE, SENT_TOO_EARLY, simulated


@pytest.fixture
def three() -> Iterator[Neighbours]:
    """In memory: what is crashed here are processes, for which disks need not be waited for."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Neighbours(Path(folder), "a", "b", "c")


def test_the_same_seed_gives_the_same_log_and_nothing_is_lost_or_drawn_twice(
    three: Neighbours,
) -> None:
    first = simulated(three, 1, ticks=1000)
    assert len({origin for origin, _ in first.released}) == 3, "all have released something"
    again, other = (simulated(three, seed, ticks=300) for seed in (1, 2))
    assert again.log == first.log[: len(again.log)]
    assert other.log[:100] != first.log[:100]
    assert first.faults | again.faults | other.faults == set()


@pytest.mark.parametrize("seed", [3, 4])
def test_crashes_and_power_cuts_for_all_lose_nothing_and_stop_nobody(
    three: Neighbours, seed: int
) -> None:
    assert simulated(three, seed, ticks=300, crashes=0.4).faults == set()


apply = Journal.apply
store = Journal.store


def sent_before_it_is_stored(journal: Journal, effects: Effects) -> None:
    for peer, message in effects.send:
        journal._post(peer, message)
    apply(journal, Effects(persist=effects.persist))


def acknowledged_before_it_is_stored(
    journal: Journal, *what: Any, **else_what: Any
) -> "asyncio.Future[None]":
    store(journal, *what, **else_what)
    done = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done


def nothing_stored(journal: Journal, effects: Effects) -> None:
    apply(journal, Effects(send=effects.send))


FAULTS: dict[str, list[tuple[type, str, Any]]] = {
    SENT_TOO_EARLY: [(Journal, "apply", sent_before_it_is_stored)],
    ACKNOWLEDGED_TOO_EARLY: [(Journal, "store", acknowledged_before_it_is_stored)],
    # After a crash. Neighbours that hold the first draw would stop it, so nobody may compare.
    DRAWN_TWICE: [
        (Journal, "apply", nothing_stored),
        (BoardExchange, "require_newest_state", lambda _: None),
        (BoardExchange, "_is_foreign", lambda *_: False),
    ],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_it_finds_what_must_never_happen(
    fault: str, three: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    for owner, method, broken in FAULTS[fault]:
        monkeypatch.setattr(owner, method, broken)
    runs = (simulated(three, seed, ticks=200, crashes=0.4) for seed in range(20))
    assert any(fault in run.faults for run in runs)
