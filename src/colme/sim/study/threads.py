"""Batches on several threads, and an end to all of them."""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

Batch = TypeVar("Batch")
Done = TypeVar("Done")


class Stopped(Exception):  # noqa: N818 (not an error)
    """Ends a batch that nobody wants any more."""


def on_threads(
    run: Callable[[Batch], Done],
    batches: Sequence[Batch],
    *,
    threads: int | None,
    stop: threading.Event,
) -> list[Done]:
    """What `run` makes of each, in their order. The first that fails ends all: `stop` is set.

    An interruption waits for nobody. A batch that has begun may be seconds from where it looks at
    `stop`, or a compiler's minute, and has nothing to finish that would be kept.
    """
    pool = ThreadPoolExecutor(threads or os.cpu_count())
    interrupted = False
    try:
        futures = [pool.submit(run, batch) for batch in batches]
        for future in wait(futures, return_when=FIRST_EXCEPTION).done:
            future.result()  # raises what went wrong
        return [future.result() for future in futures]
    except KeyboardInterrupt:
        interrupted = True
        raise
    finally:
        stop.set()
        pool.shutdown(wait=not interrupted, cancel_futures=True)
