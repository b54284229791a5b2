"""Waiting inside one event loop: for what it has done, never for a span of time.

All that happens in a program of ours happens in its loop, and work in other threads reports there.
So conditions are looked at whenever the loop has done what there was to do, and at no other time.
"""

import asyncio
from collections.abc import Callable
from selectors import BaseSelector, SelectorKey
from typing import Any
from weakref import WeakKeyDictionary

PATIENCE = 20.0
"""Seconds after which a test that waits for something has failed."""

Look = Callable[[bool], bool]
"""Is told whether nothing new has come in, and says whether this is what it waited for."""

_lookers: "WeakKeyDictionary[asyncio.AbstractEventLoop, list[Look]]" = WeakKeyDictionary()


async def until(condition: Callable[[], Any]) -> None:
    """Wait for a condition; TimeoutError if it never comes."""
    if not condition():
        await _moment(lambda _: bool(condition()))


async def quiet() -> None:
    """Wait until nothing is left to do before time goes by, or something comes in."""
    await _moment(lambda nothing_new: nothing_new)


async def later(seconds: float) -> None:
    """As if so much time had gone by: timers that were due have gone off, and all has been done."""
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds  # type: ignore[method-assign]
    await quiet()


async def _moment(is_it: Look) -> None:
    loop = asyncio.get_running_loop()
    met = loop.create_future()

    def look(nothing_new: bool) -> bool:
        if not met.done():
            try:
                if is_it(nothing_new):
                    met.set_result(None)
            except Exception as error:
                met.set_exception(error)
        return met.done()

    lookers = _lookers_of(loop)
    lookers.append(look)
    try:
        async with asyncio.timeout(PATIENCE):
            await met
    finally:
        lookers.remove(look)


def _lookers_of(loop: asyncio.AbstractEventLoop) -> list[Look]:
    """Those who look on where a loop would wait: where it asks its selector for something new."""
    if loop in _lookers:
        return _lookers[loop]
    lookers = _lookers[loop] = []
    selector: BaseSelector = loop._selector  # type: ignore[attr-defined]
    select = selector.select

    def select_after_a_look(timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        if not lookers or timeout == 0:  # There is more to do first.
            return select(timeout)
        news = select(0)
        met = [look(not news) for look in tuple(lookers)]
        return news if news or any(met) else select(timeout)

    selector.select = select_after_a_look  # type: ignore[method-assign]
    return lookers
