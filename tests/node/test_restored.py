"""A restored state is asked about by those who can know, and replaces none for good."""

from pathlib import Path

import pytest

from colme.errors import ConfigError, StaleStateError
from colme.node.node import Node
from colme.node.state import Overview, backup, restore
from support.neighbours import Neighbours
from support.refusing import refused
from support.remembering import (
    PACES,
    SAMPLES,
    config,
    ended,
    remembered,
    state,
    together,
)
from support.waiting import until

pytestmark = pytest.mark.usefixtures("call_again_soon")


async def test_whoever_has_an_old_state_is_told_of_those_that_were_replaced(tmp_path: Path) -> None:
    """One of them may be the newest: it must not be removed with the folder that it is in."""
    two = Neighbours(tmp_path, "a", "b")
    async with Node(config(two, "b", "a")) as b:
        async with Node(config(two, "a", "b")) as a:
            await together(a, b)
        backup(state(two), tmp_path / "old")
        async with Node(config(two, "a", "b")) as a:
            await together(a, b)
        newest = Overview.of(state(two))
        restored_from(two, tmp_path / "old")
        kept = state(two) / "replaced-1.sqlite"
        words = f"{kept} (start {newest.epoch}, round {newest.round})"
        (state(two) / "replaced-2.sqlite").write_text("damaged")
        async with Node(config(two, "a", "b")) as a:
            with pytest.raises(StaleStateError) as caught:
                await a.failed()
            assert words in str(caught.value)
            assert "replaced-2.sqlite (not readable)" in str(caught.value)
        with pytest.raises(ConfigError) as refused:
            await Node(config(two, "a", "b"), state_lost=True).__aenter__()
        assert words in str(refused.value)
        restored_from(two, kept)
        async with Node(config(two, "a", "b")) as a:
            await together(a, b)


async def knowing(two: Neighbours, *others: str) -> None:
    """Node a has told each of these, one after the other, and each remembers it."""
    for other in others:
        async with Node(config(two, "a", other)) as a, Node(config(two, other, "a")) as one:
            now = a.status().round
            await until(lambda: remembered(one.config.state).round > now)  # noqa: B023 (awaited)


def restored_from(two: Neighbours, copy: Path) -> None:
    restore(copy, state(two))
    assert Overview.of(state(two)).from_backup


async def test_a_restored_state_is_not_confirmed_by_those_who_can_not_know(tmp_path: Path) -> None:
    """It has told c, and c alone was told more since: b's word says nothing of that."""
    three = Neighbours(tmp_path, "a", "b", "c")
    await knowing(three, "c", "b")
    backup(state(three), tmp_path / "old")
    await knowing(three, "c")
    restored_from(three, tmp_path / "old")
    with refused(ConfigError, "neighbours", seen="no c") as caught:
        await Node(config(three, "a", "b")).__aenter__()
    # That c has left is no remedy: it keeps what it was told.
    assert "gone" not in str(caught.value)
    assert f"move {state(three)} away" in str(caught.value)
    assert str(caught.value).endswith("--state-lost and, for a file, --first-lines skip")
    assert "--told-nothing-since c" in str(caught.value)
    assert Overview.of(state(three)).from_backup
    # Asked, it says what b could not know.
    both = three.in_rounds("a", "b", "c", source=SAMPLES, **PACES["clock"])
    async with Node(config(three, "c", "a")), Node(both) as a:
        await ended(a)


async def test_whoever_was_told_nothing_since_need_not_be_asked(tmp_path: Path) -> None:
    """By the owner's word, for this restored state alone."""
    three = Neighbours(tmp_path, "a", "b", "c")
    await knowing(three, "c", "b")
    backup(state(three), tmp_path / "newest")
    restored_from(three, tmp_path / "newest")
    with refused(ConfigError, "--told-nothing-since", seen="d"):
        await Node(config(three, "a", "b"), told_nothing_since=["c", "d"]).__aenter__()
    async with Node(config(three, "a", "b"), told_nothing_since=["c"]) as a:
        await until(lambda: a.status().neighbours[0].last_error)
        assert Overview.of(state(three)).from_backup, "b is asked still"
        async with Node(config(three, "b", "a")) as b:
            await together(a, b)
    assert not Overview.of(state(three)).from_backup
    with refused(ConfigError, "--told-nothing-since", seen="c"):
        await Node(config(three, "a", "b"), told_nothing_since=["c"]).__aenter__()
