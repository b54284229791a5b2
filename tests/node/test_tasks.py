"""Work in the background: its errors are told, and whoever waits for its end can be cancelled."""

import asyncio

import pytest

from colme.node.session.neighbourhood import running
from support.waiting import quiet, until


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
