"""An old state is noticed whenever a neighbour is reached, and a new one is never mistaken for it.

"What each neighbour has been told is stored" (`rounds.journal`): rounds begun alone, before
anybody could say that the state is an old one, do not make it look like the newest.
"""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from shutil import copytree, rmtree

import pytest

from colme.node.node import Node
from colme.node.state import Overview
from support.neighbours import Neighbours
from support.remembering import (
    FREE,
    PACES,
    SAMPLES,
    config,
    ended,
    grow_apart,
    heard,
    remembered,
    state,
    together,
)
from support.waiting import PATIENCE, until

pytestmark = pytest.mark.usefixtures("call_again_soon")


def put_back(two: Neighbours, what: str) -> None:
    rmtree(state(two))
    if what == "an old one":
        copytree(two.folder / "old", state(two))


@pytest.mark.parametrize(
    ("what", "pace"), [("an old one", "clock"), ("an old one", "free"), ("none", "clock")]
)
async def test_an_old_state_is_noticed_though_it_had_begun_rounds_alone(
    what: str, pace: str, tmp_path: Path
) -> None:
    two = Neighbours(tmp_path, "a", "b")
    await grow_apart(two, pace)
    put_back(two, what)
    async with AsyncExitStack() as stack:
        a = await stack.enter_async_context(Node(config(two, "a", "b", pace)))
        begun = a.status().round
        await until(lambda: a.status().round > begun + 3)
        await until(lambda: a.status().neighbours[0].last_error)
        b = await stack.enter_async_context(Node(config(two, "b", "a", pace)))
        await ended(a)
        now = b.status().round
        await until(lambda: b.status().round > now + 3)
        assert heard(b, "a") == 0
        stopped = a.status().round
        await until(lambda: b.status().round > now + 6)
        assert a.status().round == stopped


@pytest.mark.parametrize("what", ["an old one", "none"])
async def test_a_state_that_is_refused_stays_as_it_is(what: str, tmp_path: Path) -> None:
    """However often it is tried; only the starts are counted."""
    two = Neighbours(tmp_path, "a", "b")
    await grow_apart(two, "free")
    put_back(two, what)
    # However slow this machine is, no round begins before the neighbour has been heard.
    patient = two.in_rounds("a", "b", source=SAMPLES, agreed=FREE, pace={"deadline": PATIENCE})
    async with Node(config(two, "b", "a", "free")) as b:
        seen = []
        for _ in range(2):
            async with Node(patient) as a:
                await ended(a)
                now = b.status().round
                await until(lambda: b.status().round > now + 3)  # noqa: B023 (awaited here)
                assert a.status().began is None
            found = Overview.of(state(two), entries=1000)
            seen.append((found.round, found.taken, found.ledger, found.last_entries))
        assert len({str(one) for one in seen}) == 1
        if what == "an old one":
            before = Overview.of(two.folder / "old", entries=1000)
            assert seen[0] == (before.round, before.taken, before.ledger, before.last_entries)
        else:
            assert seen[0][:2] == (0, 0)
        assert heard(b, "a") == 0


@pytest.mark.parametrize("pace", PACES)
async def test_quick_restarts_are_never_taken_for_an_old_state(pace: str, tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")
    configs = {"a": config(two, "a", "b", pace), "b": config(two, "b", "a", pace)}

    async def run_until_connected(name: str) -> None:
        async with Node(configs[name]) as node:
            await until(lambda: node.status().neighbours[0].connected)
            assert not node._parts.failure.done()

    async def cancelled_when_connected(name: str) -> None:
        connected = asyncio.Event()

        async def life() -> None:
            async with Node(configs[name]) as node:
                await until(lambda: node.status().neighbours[0].connected)
                assert not node._parts.failure.done()
                connected.set()
                await node.failed()

        task = asyncio.create_task(life())
        await asyncio.wait(
            {task, asyncio.create_task(connected.wait())}, return_when=asyncio.FIRST_COMPLETED
        )
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for steady, restarting in (("a", "b"), ("b", "a")):
        async with Node(configs[steady]) as one:
            for leave in (run_until_connected, cancelled_when_connected) * 3:
                await leave(restarting)
            assert not one._parts.failure.done()
    async with Node(configs["b"]) as b, Node(configs["a"]) as a:
        await together(a, b)
        assert not a._parts.failure.done()
        assert not b._parts.failure.done()


async def test_what_was_stored_as_told_but_never_sent_is_no_false_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = Neighbours(tmp_path, "a", "b")
    a, b = config(two, "a", "b"), config(two, "b", "a")
    async with Node(b) as other:
        async with Node(a) as node:
            await together(node, other)
        known = remembered(state(two, "b"))
        with monkeypatch.context() as silence:
            async with Node(a) as node:
                silence.setattr(node._parts.neighbourhood._links["b"], "post", lambda _: None)
                told = node._parts.driver.told("b").round
                await until(lambda: node._parts.driver.told("b").round > told + 3)
                await until(lambda: remembered(state(two, "b")).epoch == 2)
                now = remembered(state(two, "b"))
                assert known.round <= now.round < node._parts.driver.told("b").round
        async with Node(a) as node:
            await together(node, other)
            assert node.status().epoch == 3
    async with Node(a) as node, Node(b) as other:
        await together(node, other)
