"""What the other tests wait with: where nothing may happen, all that could has had its chance."""

import asyncio

import pytest

from support import waiting
from support.waiting import later, quiet, until


async def test_what_is_due_is_done_before_it_is_quiet_and_a_timer_when_time_has_gone_by() -> None:
    loop = asyncio.get_running_loop()
    done: list[str] = []

    async def steps() -> None:
        for _ in range(100):
            await asyncio.sleep(0)
        done.append("steps")

    working = asyncio.create_task(steps())
    loop.call_later(3600, done.append, "timer")
    loop.call_later(3600, lambda: loop.call_soon(done.append, "its effect"))
    loop.call_later(7200, done.append, "another timer")
    await quiet()
    assert done == ["steps"]
    await later(3600)
    assert done == ["steps", "timer", "its effect"]
    await working


async def test_a_condition_is_met_by_the_loop_by_a_thread_or_never(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def check() -> None:
        met: list[str] = []
        asyncio.get_running_loop().call_soon(met.append, "by the loop")
        thread = asyncio.create_task(asyncio.to_thread(met.append, "by a thread"))
        await asyncio.gather(
            until(lambda: "by a thread" in met), until(lambda: "by the loop" in met)
        )
        await thread
        with pytest.raises(ZeroDivisionError):
            await until(lambda: next(looks) and 1 / 0)
        monkeypatch.setattr(waiting, "PATIENCE", 0.01)
        with pytest.raises(TimeoutError):
            await until(lambda: False)

    looks = iter((False, True))
    await check()
