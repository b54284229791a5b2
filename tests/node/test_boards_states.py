"""States of nodes that relay: old ones stop, lost ones begin anew."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest
from grpc.aio import secure_channel

from colme.errors import ConfigError, LocalProtocolError, StaleStateError
from colme.node.node import Node
from colme.node.state import Overview, backup, restore
from colme.node.trust.tls import channel_options
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import PROTOCOL
from support.boarded import changed, of, origin_in, relaying
from support.neighbours import Neighbours
from support.refusing import refused
from support.waiting import PATIENCE, until

pytestmark = pytest.mark.usefixtures("call_again_soon")


async def test_an_old_state_is_stopped_by_whoever_has_the_record(tmp_path: Path) -> None:
    """c has never met a: what it knows of a came through b."""
    three = Neighbours(tmp_path, "a", "b", "c")
    a = origin_in(three, "a")
    state, old = tmp_path / "a" / "state", tmp_path / "old"
    async with AsyncExitStack() as stack:
        b = await stack.enter_async_context(Node(relaying(three, "b", "a", "c")))
        c = await stack.enter_async_context(Node(relaying(three, "c", "a", "b")))
        async with Node(relaying(three, "a", "b")) as node:
            await node.take([0.25] * 20)
            await until(lambda: of(c, a) is not None)
        copytree(state, old)
        async with Node(relaying(three, "a", "b")) as node:
            await node.take([0.25] * 200)
            await until(lambda: (of(c, a) or of(b, a)).count > 100)  # type: ignore[union-attr]
            await until(lambda: of(c, a) == of(b, a))
        rmtree(state)
        copytree(old, state)
        before = Overview.of(state).ledger
        async with Node(relaying(three, "a", "c")) as node:
            with refused(StaleStateError, "state"):
                async with asyncio.timeout(PATIENCE):
                    await node.failed()
        assert Overview.of(state).ledger == before


async def test_a_restored_state_waits_for_every_pinned_neighbour(tmp_path: Path) -> None:
    three = Neighbours(tmp_path, "a", "b", "c")
    state, copy = tmp_path / "a" / "state", tmp_path / "copy.sqlite"
    config = relaying(three, "a", "b", "c")
    async with AsyncExitStack() as stack:
        b = await stack.enter_async_context(Node(relaying(three, "b", "a")))
        async with Node(config) as node:
            await node.take([0.25] * 20)
            await until(lambda: of(b, origin_in(three, "a")) is not None)
        backup(state, copy)
        restore(copy, state)
        async with Node(config) as node:
            await until(lambda: node.status().neighbours[0].connected)
            with refused(LocalProtocolError, "sample"):
                await node.take([0.5])
            async with Node(relaying(three, "c", "a")):
                await until(lambda: node._parts.neighbourhood.joined.is_set())
                await node.take([0.5])


async def test_the_owner_may_say_that_one_was_told_nothing_since(tmp_path: Path) -> None:
    three = Neighbours(tmp_path, "a", "b", "c")
    state, copy = tmp_path / "a" / "state", tmp_path / "copy.sqlite"
    config = relaying(three, "a", "b", "c")
    with refused(ConfigError, "--told-nothing-since"):
        async with Node(config, told_nothing_since=["c"]):
            pass
    async with Node(relaying(three, "b", "a")):
        backup(state, copy)
        restore(copy, state)
        with refused(ConfigError, "--told-nothing-since"):
            async with Node(config, told_nothing_since=["d"]):
                pass
        async with Node(config, told_nothing_since=["c"]) as node:
            await until(lambda: node._parts.neighbourhood.joined.is_set())


async def test_a_lost_state_begins_a_new_incarnation(tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")
    config, state = relaying(two, "a", "b"), tmp_path / "a" / "state"
    a = origin_in(two, "a")
    async with Node(relaying(two, "b", "a")) as b:
        async with Node(config) as node:
            await node.take([0.25] * 200)
            await until(lambda: of(b, a) is not None)
        rmtree(state)
        async with Node(config) as node:  # Without the word it is an old state.
            with pytest.raises(StaleStateError):
                async with asyncio.timeout(PATIENCE):
                    await node.failed()
        rmtree(state)
        async with Node(config, state_lost=True) as node:
            await until(lambda: node._parts.neighbourhood.joined.is_set())
            await node.take([0.75] * 20)
            await until(lambda: (of(b, a) or written_off()).incarnation > 0)
            assert of(b, a).count < 21  # type: ignore[union-attr]
    assert Overview.of(state).incarnation > 0


def written_off() -> Any:
    raise AssertionError("a record is never dropped")


async def test_another_epsilon_begins_another_incarnation(tmp_path: Path) -> None:
    """Blocks count from 1 again: without it the node's own records would stop it."""
    two = Neighbours(tmp_path, "a", "b")
    a = origin_in(two, "a")
    config = relaying(two, "a", "b")
    async with Node(relaying(two, "b", "a")) as b:
        async with Node(config) as node:
            await node.take([0.25] * 200)
            await until(lambda: of(b, a) is not None)
        other = relaying(two, "a", "b", privacy={"epsilon": 2})
        assert not changed(other, drop_waiting=True).goes_on
        async with Node(other) as node:
            await node.take([0.75] * 40)
            await until(lambda: (of(b, a) or written_off()).epsilon == 2)
            assert of(b, a).incarnation == 1  # type: ignore[union-attr]


async def test_another_signing_key_is_refused_by_the_state(tmp_path: Path) -> None:
    """Blocks end by the origin, and others know what was released by it."""
    two = Neighbours(tmp_path, "a", "b")
    config = relaying(two, "a", "b")
    async with Node(config) as node:
        await node.take([0.25])
    rmtree(config.identity)
    Neighbours(tmp_path, "a")
    with refused(ConfigError, "identity"):
        async with Node(config):
            pass


@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_a_neighbour_of_an_earlier_version_is_told_in_words(
    version: str, tmp_path: Path
) -> None:
    two = Neighbours(tmp_path, "a", "b")
    config = relaying(two, "a", "b")
    trust = two.trust("b", "a")
    async with Node(config) as node:
        credentials = trust.channel_credentials("a")
        async with secure_channel(config.listen, credentials, channel_options()) as channel:
            method = f"/colme.{version}.Neighbour/Session"
            call: Any = channel.stream_stream(method)(timeout=PATIENCE)
            await call.write(pb.Frame(hello=pb.Hello()).SerializeToString())
            data: Any = await call.read()
        refusal = pb.Reply.FromString(data).refusal
        assert refusal.reason == pb.REASON_OTHER_CONFIGURATION
        assert PROTOCOL in refusal.detail
        assert "update" in refusal.detail
        counted = 'colme_sessions_refused_total{reason="other configuration"} 1.0'
        assert counted in node.metrics.text().decode()
        transport: Any = node._parts.neighbourhood._transport
        await until(lambda: not transport._connections)
