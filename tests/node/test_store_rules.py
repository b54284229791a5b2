"""A store whose caller gives up or is gone, and what it remembers of a loss."""

import asyncio
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from colme.errors import (
    LocalProtocolError,
    MessageError,
    StoreError,
)
from colme.node.state import Store
from colme.node.wire.codec import Standing
from support.refusing import refused
from support.stored import opened, rounds

FIRST, SECOND = islice(rounds(), 2)


def test_a_commit_is_made_even_if_nobody_waits_for_it_any_more(tmp_path: Path) -> None:
    troubles: list[object] = []

    async def give_up(store: Store) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: troubles.append(context))
        waiting = asyncio.create_task(store.commit(FIRST))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await store.commit(SECOND)

    with closing(opened(tmp_path)) as store:
        asyncio.run(give_up(store))
        assert store.covered == 2
    assert troubles == []


def test_a_loop_that_is_gone_does_not_stop_the_store(tmp_path: Path) -> None:
    async def leave(store: Store) -> None:
        asyncio.get_running_loop().call_soon(asyncio.current_task().cancel)  # type: ignore[union-attr]
        await store.commit(FIRST)

    with closing(opened(tmp_path)) as store:
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(leave(store))
        asyncio.run(store.commit(SECOND))
        assert store.covered == 2


def test_closing_twice_is_closing_once_and_then_nothing_is_stored(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        asyncio.run(store.commit(FIRST))
    opened(tmp_path).close()


def test_after_a_loss_it_begins_behind_what_the_neighbours_remember(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        asyncio.run(store.adopt_loss(epoch=7, round=120))
        asyncio.run(store.adopt_loss(epoch=3, round=50))
        assert (store.epoch, store.floor) == (8, 120)
    with closing(opened(tmp_path)) as store:
        assert (store.epoch, store.floor) == (9, 120)


def test_a_state_with_samples_is_no_loss(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        asyncio.run(store.commit(FIRST))
        with refused(LocalProtocolError, "state", seen="1 samples"):
            asyncio.run(store.adopt_loss(epoch=7, round=120))
        assert (store.epoch, store.floor) == (1, 0)


@pytest.mark.parametrize(("field", "number"), [("epoch", 2**63), ("round", -1)])
def test_no_neighbour_can_claim_what_can_not_be_stored(field: str, number: int) -> None:
    with refused(MessageError, field, seen=number):
        Standing(**{"epoch": 1, "round": 1, field: number})
