"""A node outside of its block, what it says then in words, and its work in the background."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from colme.errors import LocalProtocolError, NetworkError, StoreError
from colme.node.node import Node
from colme.node.session.neighbourhood import running
from support.neighbours import Neighbours
from support.refusing import refused
from support.waiting import quiet, until

USES: dict[str, Callable[[Node], object]] = {
    "name": lambda node: node.name,
    "metrics": lambda node: node.metrics,
    "observe": lambda node: node.observe(0.5),
    "estimate": lambda node: asyncio.run(node.estimate()),
    "status": lambda node: node.status(),
    "troubles": lambda node: node.troubles(),
    "take": lambda node: asyncio.run(node.take([0.5])),
    "failed": lambda node: asyncio.run(node.failed()),
}


def alone(folder: Path, **changes: object) -> Node:
    """A node with no neighbours."""
    return Node(Neighbours(folder, "a").config("a").model_copy(update=changes))


@pytest.mark.parametrize("use", USES)
def test_before_it_is_entered_it_asks_for_that(use: str, tmp_path: Path) -> None:
    with refused(LocalProtocolError, "node"):
        USES[use](alone(tmp_path))


@pytest.mark.parametrize("use", USES)
def test_a_start_that_failed_is_no_start(use: str, tmp_path: Path) -> None:
    node = alone(tmp_path, listen="203.0.113.1:7400")  # Nobody's address: it can't be bound.

    async def start() -> None:
        with pytest.raises(NetworkError):
            await node.__aenter__()

    asyncio.run(start())
    with refused(LocalProtocolError, "node"):
        USES[use](node)


async def test_to_enter_it_twice_is_refused_and_does_not_disturb_it(tmp_path: Path) -> None:
    async with alone(tmp_path) as node:
        with pytest.raises(StoreError, match="in use"):
            await node.__aenter__()
        await node.observe(0.5)
        assert node.status().samples.taken == 1
    assert node.status().epoch == 1


async def test_once_left_it_can_be_looked_at_and_takes_nothing(tmp_path: Path) -> None:
    node = alone(tmp_path)

    async with node:
        await node.observe(0.5)
    assert node.name == node.status().name == "a"
    assert node.status().samples.taken == (await node.estimate()).samples == 1
    with refused(LocalProtocolError, "sample", seen="one for a node that has stopped"):
        node.observe(0.5)
    with refused(LocalProtocolError, "sample", seen="one for a node that has stopped"):
        await node.take([0.5])
    with refused(LocalProtocolError, "node", seen="one that was left"):
        await node.failed()
    async with node:
        assert node.status().epoch == 2
        await node.observe(0.75)
    assert node.status().samples.taken == 2


async def endless() -> None:
    await asyncio.Event().wait()


async def test_an_error_of_the_work_is_told_and_the_block_goes_on() -> None:
    told: list[BaseException] = []
    error = ZeroDivisionError("in the work")

    async def work() -> None:
        raise error

    async with running(work(), told.append):
        await until(lambda: told)
        assert told == [error]
    assert told == [error], "once"


async def test_an_error_while_the_work_is_ended_is_told_too() -> None:
    told: list[BaseException] = []
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await endless()
        finally:
            raise ZeroDivisionError

    async with running(work(), told.append):
        await begun.wait()
    assert [type(error) for error in told] == [ZeroDivisionError]


async def test_work_that_ends_or_is_ended_is_no_failure() -> None:
    told: list[BaseException] = []
    async with running(asyncio.sleep(0), told.append), running(endless(), told.append):
        await quiet()
    assert told == []
    assert asyncio.all_tasks() == {asyncio.current_task()}, "nothing runs on"


async def test_an_error_of_the_block_is_its_own() -> None:
    told: list[BaseException] = []
    with pytest.raises(ZeroDivisionError):
        async with running(endless(), told.append):
            raise ZeroDivisionError
    assert told == []


@pytest.mark.parametrize("moment", ["in the block", "at its end"])
async def test_whoever_is_cancelled_stays_cancelled(moment: str) -> None:
    """Also while it waits for work that takes its time to end."""
    told: list[BaseException] = []
    begun, at_the_end, ending, go_on = (asyncio.Event() for _ in range(4))
    if moment == "at its end":
        at_the_end.set()
    else:
        go_on.set()

    async def work() -> None:
        begun.set()
        try:
            await endless()
        finally:
            ending.set()
            await go_on.wait()

    async def caller() -> None:
        async with running(work(), told.append):
            await begun.wait()
            await at_the_end.wait()

    task = asyncio.create_task(caller())
    await (ending if moment == "at its end" else begun).wait()
    task.cancel()
    await asyncio.wait({task}, timeout=5)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    myself = asyncio.current_task()
    await until(lambda: asyncio.all_tasks() == {myself})
    assert told == []
