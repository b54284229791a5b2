"""Tasks that live as long as a block, and whose failure is not overlooked."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager


@asynccontextmanager
async def running(
    work: Coroutine[object, object, None], fail: Callable[[BaseException], None]
) -> AsyncIterator[None]:
    """Do the work in the background; if it raises, `fail` is told."""

    def done(task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            fail(error)

    task = asyncio.create_task(work)
    task.add_done_callback(done)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
