"""A thread beside the event loop, for what may wait for a disk: the state, and files of samples."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

Result = TypeVar("Result")


class CallThread:
    """A thread that makes one call after another, cheaper to reach than an executor's.

    Calls are made in the order in which they were asked for.
    """

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(self, work: Callable[[], Result]) -> Result:
        """Make a call and wait for it."""
        future: Future[Result] = Future()
        self._calls.put(lambda: _settle(future, *_outcome(work)))
        return future.result()

    async def reach(self, work: Callable[[], Result]) -> Result:
        """Make a call and await it. Whoever stops waiting does not stop the call."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def make_call() -> None:
            outcome = _outcome(work)
            with suppress(RuntimeError):  # The loop is closed: nobody waits any more.
                loop.call_soon_threadsafe(_settle, future, *outcome)

        self._calls.put(make_call)
        return await future

    def close(self) -> None:
        """End the thread, once it has made the calls asked for so far."""
        self._calls.put(None)
        self._thread.join()

    def end(self, last: Callable[[], object]) -> None:
        """Make a last call and end the thread, without waiting: a call before it may hang."""
        self._calls.put(partial(_outcome, last))
        self._calls.put(None)

    def _run(self) -> None:
        while (make_call := self._calls.get()) is not None:
            make_call()


def _outcome(work: Callable[[], Result]) -> tuple[Result | None, BaseException | None]:
    try:
        return work(), None
    except BaseException as error:
        # Not lost: it is raised again where the call is awaited.
        return None, error


def _settle(
    future: Future[Any] | asyncio.Future[Any], result: Any, error: BaseException | None
) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
