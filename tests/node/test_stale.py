"""Old, lost and restored states: neighbours notice them, and no sample is noised twice.

Relay, and rounds where what is remembered differs. "What each neighbour has been told is stored"
(`journal.Journal`): rounds begun alone do not make an old state look like the newest.
"""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest
from grpc.aio import secure_channel

from colme.errors import ConfigError, LocalProtocolError, StaleStateError
from colme.node.config import FileSource, HttpSource, NodeConfig, Source
from colme.node.node import Node
from colme.node.state import Overview, backup, restore
from colme.node.trust.tls import channel_options
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import PROTOCOL
from support.boarded import boarded, of, orders, origin_in
from support.neighbours import Neighbours
from support.refusing import refused
from support.remembering import (
    PACES,
    SAMPLES,
    config,
    ended,
    grow_apart,
    heard,
    more_released,
    remembered,
    state,
    together,
)
from support.waiting import PATIENCE, until

pytestmark = pytest.mark.usefixtures("call_again_soon")


def put_back(two: Neighbours, what: str) -> None:
    rmtree(state(two))
    if what == "an old one":
        copytree(two.folder / "old", state(two))


@pytest.mark.parametrize(
    ("what", "pace"), [("an old one", "clock"), ("an old one", "free"), ("none", "clock")]
)
async def test_in_rounds_an_old_state_is_noticed_though_it_had_begun_alone(
    what: str, pace: str, tmp_path: Path
) -> None:
    """In relay none begins alone."""
    two = Neighbours(tmp_path, "a", "b")
    await grow_apart(two, pace)
    put_back(two, what)
    async with AsyncExitStack() as stack:
        a = await stack.enter_async_context(Node(config(two, "a", "b", pace)))
        begun = a.status().round
        await until(lambda: a.status().round > begun + 3)
        await until(lambda: a.status().neighbours[0].last_error)
        b = await stack.enter_async_context(Node(config(two, "b", "a", pace)))
        await ended(a)
        now = b.status().round
        await until(lambda: b.status().round > now + 3)
        assert heard(b, "a") == 0
        stopped = a.status().round
        await until(lambda: b.status().round > now + 6)
        assert a.status().round == stopped


@pytest.mark.parametrize("pace", ["relay", "free"])
@pytest.mark.parametrize("what", ["an old one", "none"])
async def test_a_state_that_is_refused_stays_as_it_is(what: str, pace: str, tmp_path: Path) -> None:
    """However often it is tried; only the starts are counted."""
    two = Neighbours(tmp_path, "a", "b")
    await grow_apart(two, pace)
    put_back(two, what)
    # However slow this machine is, no round begins before the neighbour has been heard.
    patient = config(two, "a", "b", pace)
    patient = patient.model_copy(
        update={"pace": patient.pace.model_copy(update={"deadline": PATIENCE})}
    )
    async with Node(config(two, "b", "a", pace)) as b:
        seen = []
        for _ in range(2):
            async with Node(patient) as a:
                await ended(a)
                if pace == "free":
                    now = b.status().round
                    await until(lambda: b.status().round > now + 3)  # noqa: B023 (awaited here)
                else:  # An old state is nobody's word for b's own: b goes on waiting for one.
                    await until(lambda: b.status().neighbours[0].last_error)
                    assert not b._parts.neighbourhood.joined.is_set()
                assert a.status().began is None
            found = Overview.of(state(two), entries=1000)
            seen.append((found.round, found.taken, found.ledger, found.last_entries))
        assert len({str(one) for one in seen}) == 1
        if what == "an old one":
            before = Overview.of(two.folder / "old", entries=1000)
            assert seen[0] == (before.round, before.taken, before.ledger, before.last_entries)
        else:
            assert seen[0][:2] == (0, 0)
        assert heard(b, "a") == 0


@pytest.mark.parametrize("pace", PACES)
async def test_quick_restarts_are_never_taken_for_an_old_state(pace: str, tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")
    configs = {"a": config(two, "a", "b", pace), "b": config(two, "b", "a", pace)}

    async def run_until_connected(name: str) -> None:
        async with Node(configs[name]) as node:
            await until(lambda: node.status().neighbours[0].connected)
            assert not node._parts.failure.done()

    async def cancelled_when_connected(name: str) -> None:
        connected = asyncio.Event()

        async def life() -> None:
            async with Node(configs[name]) as node:
                await until(lambda: node.status().neighbours[0].connected)
                assert not node._parts.failure.done()
                connected.set()
                await node.failed()

        task = asyncio.create_task(life())
        await asyncio.wait(
            {task, asyncio.create_task(connected.wait())}, return_when=asyncio.FIRST_COMPLETED
        )
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for steady, restarting in (("a", "b"), ("b", "a")):
        async with Node(configs[steady]) as one:
            for leave in (run_until_connected, cancelled_when_connected) * 3:
                await leave(restarting)
            assert not one._parts.failure.done()
    async with Node(configs["b"]) as b, Node(configs["a"]) as a:
        await together(a, b)
        assert not a._parts.failure.done()
        assert not b._parts.failure.done()


async def test_in_rounds_what_was_stored_as_told_but_never_sent_is_no_false_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = Neighbours(tmp_path, "a", "b")
    a, b = config(two, "a", "b", "clock"), config(two, "b", "a", "clock")
    async with Node(b) as other:
        async with Node(a) as node:
            await together(node, other)
        known = remembered(state(two, "b"))
        with monkeypatch.context() as silence:
            async with Node(a) as node:
                silence.setattr(node._parts.neighbourhood._links["b"], "post", lambda _: None)
                told = node._parts.driver.told("b").round
                await until(lambda: node._parts.driver.told("b").round > told + 3)
                await until(lambda: remembered(state(two, "b")).epoch == 2)
                now = remembered(state(two, "b"))
                assert known.round <= now.round < node._parts.driver.told("b").round
        async with Node(a) as node:
            await together(node, other)
            assert node.status().epoch == 3
    async with Node(a) as node, Node(b) as other:
        await together(node, other)


def with_source(two: Neighbours, source: Source, pace: str = "relay") -> NodeConfig:
    return config(two, "a", "b", pace).model_copy(update={"source": source})


@pytest.mark.parametrize("pace", ["relay", "clock"])
async def test_after_a_loss_samples_wait_for_every_neighbours_word(
    pace: str, tmp_path: Path
) -> None:
    two = Neighbours(tmp_path, "a", "b")
    await grow_apart(two, pace)
    before = Overview.of(state(two))
    rmtree(state(two))
    http = with_source(two, HttpSource(kind="http"), pace)
    async with AsyncExitStack() as stack:
        a = await stack.enter_async_context(Node(http, state_lost=True))
        await until(lambda: a.status().neighbours[0].last_error)
        with refused(LocalProtocolError, "sample"):
            a.observe(0.5)
        with refused(LocalProtocolError, "sample"):
            await a.take([0.5, 0.6])
        assert a.status().round == a.status().samples.taken == 0
        b = await stack.enter_async_context(Node(config(two, "b", "a", pace)))
        await until(lambda: a._parts.neighbourhood.joined.is_set())
        await a.take([0.5] * 20)
        assert Overview.of(state(two)).taken == 20
        if pace == "clock":
            await together(a, b)
            assert Overview.of(state(two)).floor >= before.round - 1
        else:
            origin = origin_in(two, "a")
            assert Overview.of(state(two)).incarnation > before.incarnation
            await until(lambda: orders(b)[origin][0] == Overview.of(state(two)).incarnation)
        assert Overview.of(state(two)).epoch > before.epoch


async def test_after_a_loss_a_file_that_has_lines_is_not_read(tmp_path: Path) -> None:
    """How far it had been read is lost, so its samples could be noised twice; a new one is fine."""
    two = Neighbours(tmp_path, "a", "b")
    path = tmp_path / "samples"
    path.write_text("0.5\n")
    lost = with_source(two, FileSource(kind="file", path=path, poll=0.01))
    with refused(ConfigError, "source.path"):
        await Node(lost, state_lost=True).__aenter__()
    with refused(ConfigError, "source.path"):
        await Node(lost, state_lost=True, first_lines="take").__aenter__()
    async with (
        Node(lost, state_lost=True, first_lines="skip") as a,
        Node(config(two, "b", "a")),
    ):
        await until(lambda: a._parts.neighbourhood.joined.is_set())
        with path.open("a") as file:
            file.write("0.25\n")
        await until(lambda: a.status().samples.taken == 1)
        assert (await a.estimate()).alone == 0.25
    rmtree(state(two, "b"))
    rmtree(state(two))
    new = tmp_path / "new"
    fresh = with_source(two, FileSource(kind="file", path=new, poll=0.01))
    for word in (None, "skip", "take"):
        with pytest.raises(ConfigError, match=r"which is missing.*under a new name"):
            await Node(fresh, state_lost=True, first_lines=word).__aenter__()
    new.touch()
    async with Node(fresh, state_lost=True) as a, Node(config(two, "b", "a")):
        await until(lambda: a._parts.neighbourhood.joined.is_set())
        new.write_text("0.5\n")
        await until(lambda: a.status().samples.taken == 1)


async def test_a_loss_does_not_go_on_from_the_place_that_a_start_without_the_word_has_stored(
    tmp_path: Path,
) -> None:
    """The file was hidden then, as by a mount that is missing: its place was the beginning."""
    two = Neighbours(tmp_path, "a", "b")
    await grow_apart(two)
    rmtree(state(two))
    path = tmp_path / "samples"
    lost = with_source(two, FileSource(kind="file", path=path, poll=0.01))
    async with Node(lost) as a:
        await until(lambda: f"file:{path}" in Overview.of(state(two)).marks)
        async with Node(config(two, "b", "a")):
            await ended(a)
    path.write_text("0.5\n" * 50)
    async with Node(config(two, "b", "a")):
        for word in ("skip", "take", None):
            with refused(ConfigError, "--state-lost"):
                await Node(lost, state_lost=True, first_lines=word).__aenter__()
        state(two).rename(tmp_path / "away")
        async with Node(lost, state_lost=True, first_lines="skip") as a:
            await until(lambda: Overview.of(state(two)).marks.get(f"file:{path}") == 200)
            assert a.status().samples.taken == 0
        async with Node(lost) as a:
            await until(lambda: a.status().neighbours[0].connected)
        with refused(ConfigError, "--state-lost"):
            await Node(lost, state_lost=True).__aenter__()


async def test_a_state_after_a_loss_knows_it_without_the_word(tmp_path: Path) -> None:
    """It began after its neighbours' memory, stopped, and is then given a file."""
    two = Neighbours(tmp_path, "a", "b")
    await grow_apart(two)
    rmtree(state(two))
    path = tmp_path / "samples"
    fed = with_source(two, FileSource(kind="file", path=path, poll=0.01))
    async with Node(config(two, "b", "a")):
        async with Node(with_source(two, HttpSource(kind="http")), state_lost=True) as a:
            await until(lambda: a._parts.neighbourhood.joined.is_set())
        with pytest.raises(ConfigError, match="which is missing"):
            await Node(fed).__aenter__()
        path.write_text("0.5\n")
        for word in ("take", None):
            with refused(ConfigError, "source.path"):
                await Node(fed, first_lines=word).__aenter__()
        async with Node(fed, first_lines="skip"):
            await until(lambda: Overview.of(state(two)).marks.get(f"file:{path}") == 4)


async def test_whoever_has_an_old_state_is_told_of_those_that_were_replaced(tmp_path: Path) -> None:
    """One of them may be the newest: it must not be removed with the folder that it is in."""
    two = Neighbours(tmp_path, "a", "b")
    async with Node(config(two, "b", "a")) as b:
        async with Node(config(two, "a", "b")) as a:
            await together(a, b)
        backup(state(two), tmp_path / "old")
        async with Node(config(two, "a", "b")) as a:
            await more_released(a)
            await together(a, b)
        newest = Overview.of(state(two))
        restored_from(two, tmp_path / "old")
        kept = state(two) / "replaced-1.sqlite"
        words = f"{kept} (start {newest.epoch}, round {newest.round})"
        (state(two) / "replaced-2.sqlite").write_text("damaged")
        async with Node(config(two, "a", "b")) as a:
            with pytest.raises(StaleStateError) as caught:
                await asyncio.wait_for(a.failed(), PATIENCE)
            assert words in str(caught.value)
            assert "replaced-2.sqlite (not readable)" in str(caught.value)
        with pytest.raises(ConfigError) as refused:
            await Node(config(two, "a", "b"), state_lost=True).__aenter__()
        assert words in str(refused.value)
        restored_from(two, kept)
        async with Node(config(two, "a", "b")) as a:
            await together(a, b)


@pytest.mark.parametrize("pace", ["relay", "clock"])
async def test_the_newest_backup_goes_on_after_an_old_one_was_refused(
    pace: str, tmp_path: Path
) -> None:
    """Both were made in the same start, so both begin the one after it."""
    two = Neighbours(tmp_path, "a", "b")
    mine = config(two, "a", "b", pace)
    async with Node(config(two, "b", "a", pace)) as b:
        async with Node(mine) as a:
            await together(a, b)
            backup(state(two), tmp_path / "old")
            await more_released(a)
            await together(a, b)
        backup(state(two), tmp_path / "newest")
        restored_from(two, tmp_path / "old")
        async with Node(mine) as a:
            await ended(a)
        restored_from(two, tmp_path / "newest")
        async with Node(mine) as a:
            await until(lambda: is_met(a))
            assert a.status().neighbours[0].connected


def is_met(node: Node) -> bool:
    """Its neighbour has let it in, or has turned it away."""
    (one,) = node.status().neighbours
    return one.connected or "turned away" in (one.last_error or "")


async def knowing(two: Neighbours, *others: str) -> None:
    """Node a has told each of these, one after the other, and each remembers it."""
    for other in others:
        async with (
            Node(config(two, "a", other, "clock")) as a,
            Node(config(two, other, "a", "clock")) as one,
        ):
            now = a.status().round
            await until(lambda: remembered(one.config.state).round > now)  # noqa: B023 (awaited)


def restored_from(two: Neighbours, copy: Path) -> None:
    restore(copy, state(two))
    assert Overview.of(state(two)).from_backup


async def test_in_rounds_a_restored_state_is_not_confirmed_by_those_who_can_not_know(
    tmp_path: Path,
) -> None:
    """It has told c, and c alone was told more since: b's word says nothing of that."""
    three = Neighbours(tmp_path, "a", "b", "c")
    await knowing(three, "c", "b")
    backup(state(three), tmp_path / "old")
    await knowing(three, "c")
    restored_from(three, tmp_path / "old")
    with refused(ConfigError, "neighbours", seen="no c") as caught:
        await Node(config(three, "a", "b", "clock")).__aenter__()
    # That c has left is no remedy: it keeps what it was told.
    assert "gone" not in str(caught.value)
    assert f"move {state(three)} away" in str(caught.value)
    assert str(caught.value).endswith("--state-lost and, for a file, --first-lines skip")
    assert "--told-nothing-since c" in str(caught.value)
    assert Overview.of(state(three)).from_backup
    # Asked, it says what b could not know.
    both = three.config("a", "b", "c", source=SAMPLES, **PACES["clock"])
    async with Node(config(three, "c", "a", "clock")), Node(both) as a:
        await ended(a)


async def test_in_rounds_whoever_was_told_nothing_since_need_not_be_asked(tmp_path: Path) -> None:
    """By the owner's word, for this restored state alone."""
    three = Neighbours(tmp_path, "a", "b", "c")
    await knowing(three, "c", "b")
    backup(state(three), tmp_path / "newest")
    restored_from(three, tmp_path / "newest")
    with refused(ConfigError, "--told-nothing-since", seen="d"):
        await Node(config(three, "a", "b", "clock"), told_nothing_since=["c", "d"]).__aenter__()
    async with Node(config(three, "a", "b", "clock"), told_nothing_since=["c"]) as a:
        await until(lambda: a.status().neighbours[0].last_error)
        assert Overview.of(state(three)).from_backup, "b is asked still"
        async with Node(config(three, "b", "a", "clock")) as b:
            await together(a, b)
    assert not Overview.of(state(three)).from_backup
    with refused(ConfigError, "--told-nothing-since", seen="c"):
        await Node(config(three, "a", "b", "clock"), told_nothing_since=["c"]).__aenter__()


async def test_an_old_state_is_stopped_by_whoever_has_the_record(tmp_path: Path) -> None:
    """c has never met a: what it knows of a came through b."""
    three = Neighbours(tmp_path, "a", "b", "c")
    a = origin_in(three, "a")
    state, old = tmp_path / "a" / "state", tmp_path / "old"
    async with AsyncExitStack() as stack:
        b = await stack.enter_async_context(Node(three.config("b", "a", "c")))
        c = await stack.enter_async_context(Node(three.config("c", "a", "b")))
        async with Node(three.config("a", "b")) as node:
            await node.take([0.25] * 20)
            await until(lambda: of(c, a) is not None)
        copytree(state, old)
        async with Node(three.config("a", "b")) as node:
            await until(lambda: not node._parts.neighbourhood.unsure)
            await node.take([0.25] * 200)
            await until(lambda: (of(c, a) or of(b, a)).count > 100)  # type: ignore[union-attr]
            await until(lambda: of(c, a) == of(b, a))
        rmtree(state)
        copytree(old, state)
        before = Overview.of(state).ledger
        async with Node(three.config("a", "c")) as node:
            with refused(StaleStateError, "state"):
                async with asyncio.timeout(PATIENCE):
                    await node.failed()
        assert Overview.of(state).ledger == before


async def test_a_restored_state_waits_for_every_pinned_neighbour(tmp_path: Path) -> None:
    three = Neighbours(tmp_path, "a", "b", "c")
    state, copy = tmp_path / "a" / "state", tmp_path / "copy.sqlite"
    config = three.config("a", "b", "c")
    async with AsyncExitStack() as stack:
        b = await stack.enter_async_context(Node(three.config("b", "a")))
        async with Node(config) as node:
            await node.take([0.25] * 20)
            await until(lambda: of(b, origin_in(three, "a")) is not None)
        backup(state, copy)
        restore(copy, state)
        async with Node(config) as node:
            await until(lambda: node.status().neighbours[0].connected)
            with refused(LocalProtocolError, "sample"):
                await node.take([0.5])
            async with Node(three.config("c", "a")):
                await until(lambda: node._parts.neighbourhood.joined.is_set())
                await node.take([0.5])


async def test_a_backup_asks_all_that_its_state_has_sent_to_though_they_were_removed(
    tmp_path: Path,
) -> None:
    """Only c knows of the releases after the backup: without its answer their noise is redrawn."""
    three = Neighbours(tmp_path, "a", "b", "c")
    state, copy = tmp_path / "a" / "state", tmp_path / "copy.sqlite"
    a = origin_in(three, "a")
    async with Node(three.config("c", "a")) as c:
        async with Node(three.config("a", "c")) as node:
            await node.take([0.25] * 20)
            await until(lambda: of(c, a) is not None)
        backup(state, copy)
        restore(copy, state)
        config = three.config("a", "b")
        with refused(ConfigError, "neighbours", seen="no c"):
            await Node(config).__aenter__()
        with refused(ConfigError, "--told-nothing-since"):
            await Node(config, told_nothing_since=["d"]).__aenter__()
        async with (
            Node(three.config("b", "a")),
            Node(config, told_nothing_since=["c"]) as node,
        ):
            await until(lambda: node._parts.neighbourhood.joined.is_set())
        with refused(ConfigError, "--told-nothing-since"):
            await Node(config, told_nothing_since=["c"]).__aenter__()


async def test_whom_it_sends_to_is_stored_before_anything_is_sent(tmp_path: Path) -> None:
    async with boarded(tmp_path) as one:
        await one.driver.welcomed("b")
        assert one.store.told == {"b": 0}
        assert not one.posts


async def test_a_second_life_of_a_state_stops_when_the_first_is_met(tmp_path: Path) -> None:
    """The owner's word was wrong: c holds releases that the backup went on to draw again."""
    three = Neighbours(tmp_path, "a", "b", "c")
    state, copy = tmp_path / "a" / "state", tmp_path / "copy.sqlite"
    a = origin_in(three, "a")
    async with Node(three.config("c", "a")) as c:
        async with Node(three.config("a", "c")) as node:
            await node.take([0.25] * 20)
            await until(lambda: of(c, a) is not None)
            backup(state, copy)
            first = of(c, a)
            await node.take([0.25] * 20)
            await until(lambda: of(c, a) != first)
        restore(copy, state)
        async with Node(three.config("b", "a")) as b:
            config = three.config("a", "b")
            async with Node(config, told_nothing_since=["c"]) as node:
                await until(lambda: node._parts.neighbourhood.joined.is_set())
                await node.take([0.75] * 200)
                known = of(c, a)
                assert known is not None
                await until(lambda: (mine := of(b, a)) is not None and mine.order > known.order)
        before = Overview.of(state).ledger
        async with Node(three.config("a", "c")) as node:
            with refused(StaleStateError, "state"):
                async with asyncio.timeout(PATIENCE):
                    await node.failed()
        assert Overview.of(state).ledger == before
        assert of(c, a) == known, "nothing of the second life was sent"


async def test_the_owner_may_say_that_one_was_told_nothing_since(tmp_path: Path) -> None:
    three = Neighbours(tmp_path, "a", "b", "c")
    state, copy = tmp_path / "a" / "state", tmp_path / "copy.sqlite"
    config = three.config("a", "b", "c")
    with refused(ConfigError, "--told-nothing-since"):
        async with Node(config, told_nothing_since=["c"]):
            pass
    async with Node(three.config("b", "a")):
        backup(state, copy)
        restore(copy, state)
        with refused(ConfigError, "--told-nothing-since"):
            async with Node(config, told_nothing_since=["d"]):
                pass
        async with Node(config, told_nothing_since=["c"]) as node:
            await until(lambda: node._parts.neighbourhood.joined.is_set())


async def test_another_signing_key_is_refused_by_the_state(tmp_path: Path) -> None:
    """Blocks end by the origin, and others know what was released by it."""
    two = Neighbours(tmp_path, "a", "b")
    config = two.config("a", "b")
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
    config = two.config("a", "b")
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


async def test_a_state_that_may_be_old_takes_nothing_in_before_a_neighbour_answers(
    tmp_path: Path,
) -> None:
    """Its samples would be lost with it, though they were acknowledged."""
    two = Neighbours(tmp_path, "a", "b")
    config, state, old = two.config("a", "b"), tmp_path / "a" / "state", tmp_path / "old"
    a = origin_in(two, "a")
    async with Node(config) as node:  # A new state has nothing that could be old.
        await node.take([0.25] * 20)
    copytree(state, old)
    async with Node(two.config("b", "a")) as b, Node(config) as node:
        await until(lambda: node._parts.neighbourhood.joined.is_set())
        await node.take([0.25] * 200)
        await until(lambda: (mine := of(b, a)) is not None and mine.count > 100)
    rmtree(state)
    copytree(old, state)
    async with Node(config) as node:
        with refused(LocalProtocolError, "sample"):
            await node.take([0.5])
        assert node.troubles()
        async with Node(two.config("b", "a")):
            with refused(StaleStateError, "state"):
                async with asyncio.timeout(PATIENCE):
                    await node.failed()
    assert Overview.of(state).taken == 20


async def test_a_restart_takes_samples_in_as_soon_as_one_neighbour_has_answered(
    tmp_path: Path,
) -> None:
    three = Neighbours(tmp_path, "a", "b", "c")
    config = three.config("a", "b", "c")
    for _ in range(2):
        async with Node(three.config("b", "a")), Node(config) as node:
            await until(lambda: not node._parts.neighbourhood.unsure)
            await node.take([0.25])
    assert Overview.of(config.state).taken == 2
