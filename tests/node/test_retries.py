"""A batch that is brought again, since nobody knows whether it was stored, is taken in once."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from colme.errors import SampleError, StoreError
from colme.node import node as node_module
from colme.node.node import Node
from colme.node.samples.feeds import Take
from colme.node.state import Commit, RequestId, Store
from colme.node.state.store import MOST_REQUESTS
from support.neighbours import Neighbours
from support.owned import Client, served
from support.refusing import refused
from support.stored import SETTINGS, commit, opened, rounds
from support.waiting import until

pytestmark = pytest.mark.usefixtures("retry_soon")


def alone(folder: Path, **changes: Any) -> Node:
    """A node of the default algorithm that has no neighbours."""
    return Node(Neighbours(folder, "a").config("a", **changes))


def store_and_fail_once(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next commit is on the disk, and is told to have failed."""
    store = node._parts.store
    commit = store.commit

    async def stores_and_fails(what: Commit) -> None:
        monkeypatch.setattr(store, "commit", commit)
        await commit(what)
        raise StoreError("state", "an I/O error after the write", "a disk that works")

    monkeypatch.setattr(store, "commit", stores_and_fails)


async def post(client: Client, body: str, key: str | None) -> int:
    also = {} if key is None else {"Idempotency-Key": key}
    return (await client.ask("/samples", "POST", body, also=also)).code


@pytest.mark.parametrize(("key", "taken"), [("batch-1", 2), (None, 4)])
async def test_a_retry_under_the_same_key_takes_nothing_in_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str | None, taken: int
) -> None:
    """A commit may fail and be on the disk: without a key nobody can tell."""
    async with alone(tmp_path) as node, served(node) as client:  # type: ignore[arg-type]
        store_and_fail_once(node, monkeypatch)
        assert await post(client, "[0.25, 0.5]", key) == 503
        await until(lambda: not node.troubles())
        assert await post(client, "[0.25, 0.5]", key) == 200
        assert await post(client, "[0.25, 0.5]", None) == 200
        assert node.status().samples.taken == taken + 2


async def test_a_key_stands_for_one_body(tmp_path: Path) -> None:
    async with alone(tmp_path) as node, served(node) as client:  # type: ignore[arg-type]
        assert await post(client, "[0.25]", "one") == 200
        assert await post(client, "[0.75]", "one") == 422
        assert await post(client, "[0.75]", "two") == 200
        assert await post(client, "[0.75]", "x" * 201) == 422
        assert node.status().samples.taken == 2


async def test_a_retry_while_the_first_is_being_stored_waits_for_it(tmp_path: Path) -> None:
    async with alone(tmp_path) as node:
        request = RequestId("one", b"digest")
        await asyncio.gather(*(node.take([0.25], request) for _ in range(3)))
        with refused(SampleError, "Idempotency-Key"):
            await node.take([0.25], RequestId("one", b"another"))
        assert node.status().samples.taken == 1


async def test_a_restart_remembers_the_keys(tmp_path: Path) -> None:
    node, request = alone(tmp_path), RequestId("one", b"digest")
    for _ in range(2):
        async with node:
            await node.take([0.25], request)
            assert node.status().samples.taken == 1


def test_the_newest_keys_are_remembered(tmp_path: Path) -> None:
    last = MOST_REQUESTS + 5
    requests = [RequestId(str(number), b"digest") for number in range(last)]
    first = next(rounds())
    with closing(opened(tmp_path)) as store:
        commit(
            store,
            Commit(snapshot=first.snapshot, entry=first.entry, requests=requests[:3]),
            Commit(snapshot=first.snapshot, requests=requests[3:]),
        )
        kept = list(store.requests)
    assert kept == [str(number) for number in range(5, last)]
    with closing(Store.open(tmp_path, SETTINGS)) as store:
        assert list(store.requests) == kept


class Lines:
    """A feed without a read position, such as standard input."""

    ended = False

    async def run(self, take: Take) -> None:
        for value in (0.25, 0.5, 0.75):
            await take([value], {})
        self.ended = True


async def test_a_feed_batch_whose_commit_failed_but_was_stored_is_not_fed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_module, "PAUSE", 0.01)
    feed = Lines()
    monkeypatch.setattr(node_module, "make_feed", lambda *_, **__: feed)
    node, first = alone(tmp_path), Store.commit

    async def stores_and_fails_the_second(store: Store, what: Commit) -> None:
        await first(store, what)
        if store.taken == 2:
            raise StoreError("state", "an I/O error after the write", "a disk that works")

    monkeypatch.setattr(Store, "commit", stores_and_fails_the_second)
    for starts in (1, 2):
        feed.ended = False
        async with node:
            await until(lambda: feed.ended)
            assert node.status().samples.taken == 3 * starts, "another start has other samples"
