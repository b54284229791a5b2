"""One open page: it may go at any time."""

import asyncio
import threading

import pytest

from colme.explore.session import Session
from colme.explore.society import Society


async def test_a_page_that_goes_waits_for_no_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is interrupted has to end, however long a round takes."""
    begun, may_end = threading.Event(), threading.Event()

    def long_round(_society: Society) -> None:
        begun.set()
        may_end.wait()

    monkeypatch.setattr(Society, "run_round", long_round)

    session = Session()
    await session.take({"do": "choose", "choices": {"agents": 9, "rounds": 20}})
    await session.take({"do": "play", "rate": 4})
    await asyncio.to_thread(begun.wait)
    playing = session._playing
    session.close()
    assert playing is not None
    await asyncio.gather(playing, return_exceptions=True)
    assert playing.cancelled()
    assert not may_end.is_set()
    may_end.set()
