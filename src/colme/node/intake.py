"""From a feed into the state: a sample counts once it is stored, whatever the disk does."""

import asyncio
from collections.abc import Mapping, Sequence

from structlog.typing import FilteringBoundLogger

from colme.errors import SampleError, StoreError
from colme.node.driving import AgentDriver
from colme.node.samples import Feed
from colme.node.session import Neighbourhood
from colme.node.state import Store

PAUSE = 0.5
"""Seconds after which a source looks again whether the disk works."""


class Intake:
    """Takes in what a feed brings, as soon as the state is known to be the newest."""

    def __init__(
        self,
        driver: AgentDriver,
        neighbourhood: Neighbourhood,
        store: Store,
        log: FilteringBoundLogger,
    ) -> None:
        self._driver = driver
        self._neighbourhood = neighbourhood
        self._store = store
        self._log = log
        self.trouble: str | None = None
        """Why the source has stopped."""

    async def run(self, feed: Feed, begin: Mapping[str, int]) -> None:
        """Until the feed ends; `begin` are the places where it begins, if they are new."""
        if self._neighbourhood.unsure:
            await self._neighbourhood.joined.wait()
        if begin:
            # Stored before the first line is read: from now on this state knows the file.
            await self._take_once_stored([], begin)
        try:
            await feed.run(self._take_once_stored)
        except SampleError as error:
            self.trouble = str(error)
            self._log.error("the source has stopped", why=str(error))
        else:
            self._log.info("the source has ended")

    async def _take_once_stored(self, samples: Sequence[float], marks: Mapping[str, int]) -> None:
        """A source waits while the disk fails, and goes on after what is stored."""
        while True:
            try:
                return await self._driver.observe(samples, marks)
            except StoreError:
                while self._driver.trouble is not None:
                    await asyncio.sleep(PAUSE)
            # A commit that failed may be on the disk after all.
            if marks and marks.items() <= self._store.marks.items():
                return None
