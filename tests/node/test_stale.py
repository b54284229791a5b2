"""An old state is noticed whenever a neighbour is reached, and a new one is never mistaken for it.

"What each neighbour has been told is stored" (`rounds.journal`): rounds begun alone, before
anybody could say that the state is an old one, do not make it look like the newest.
"""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest

from colme.errors import ConfigError, LocalProtocolError, StaleStateError
from colme.node.config import FileSource, HttpSource, NodeConfig, Source
from colme.node.contact import NEVER
from colme.node.node import Node
from colme.node.session import link
from colme.node.state import Overview, backup, restore
from colme.node.wire import Standing
from support.neighbours import Neighbours
from support.waiting import PATIENCE, until

CLOCK = {"interval": 0.1}
FREE = {"rounds": "free"}
PACES: dict[str, dict[str, Any]] = {
    "clock": {"agreed": CLOCK},
    "free": {"agreed": FREE, "pace": {"deadline": 0.1}},
}
SAMPLES = {"per_round": 5}


@pytest.fixture(autouse=True)
def call_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(link, "LONGEST_PAUSE", 0.1)


def config(two: Neighbours, name: str, other: str, pace: str = "clock") -> NodeConfig:
    return two.config(name, other, source=SAMPLES, **PACES[pace])


def state(two: Neighbours, name: str = "a") -> Path:
    return two.folder / name / "state"


def heard(node: Node, peer: str) -> float:
    """Messages that a node has had from a neighbour since it started."""
    series = f'colme_messages_received_total{{peer="{peer}"}} '
    lines = node.metrics.text().decode().splitlines()
    return sum(float(line.removeprefix(series)) for line in lines if line.startswith(series))


def remembered(folder: Path) -> Standing:
    """What is stored of a in another's state."""
    return Overview.of(folder).standings.get("a", NEVER)


async def together(a: Node, b: Node, rounds: int = 1) -> None:
    """Both hear the other for some rounds, and what b has heard of a is stored."""
    now = a.status().round, b.status().round
    before = heard(a, "b"), heard(b, "a")
    await until(lambda: heard(a, "b") > before[0] and heard(b, "a") > before[1])
    await until(lambda: a.status().round > now[0] + rounds)
    await until(lambda: b.status().round > now[1] + rounds)
    assert a.status().neighbours[0].connected
    known = a.status().round
    await until(lambda: remembered(b.config.state).round >= known)


async def ended(node: Node) -> None:
    """By its neighbour's memory."""
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(StaleStateError, match="Going on would noise samples twice"):
            await node.failed()


async def grow_apart(two: Neighbours, pace: str = "clock") -> None:
    """`old` is a's state of before, copied while it stood still; it has released more since."""
    a, b = config(two, "a", "b", pace), config(two, "b", "a", pace)
    async with Node(b) as other:
        async with Node(a) as node:
            await together(node, other)
        copytree(state(two), two.folder / "old")
        async with Node(a) as node:
            await together(node, other)
            await until(lambda: samples_noised(state(two)) > samples_noised(two.folder / "old"))
            await together(node, other)


def samples_noised(folder: Path) -> int:
    return Overview.of(folder).ledger.samples


def put_back(two: Neighbours, what: str) -> None:
    rmtree(state(two))
    if what == "an old one":
        copytree(two.folder / "old", state(two))


@pytest.mark.parametrize(
    ("what", "pace"), [("an old one", "clock"), ("an old one", "free"), ("none", "clock")]
)
def test_an_old_state_is_noticed_though_it_had_begun_rounds_alone(
    what: str, pace: str, tmp_path: Path
) -> None:
    async def whole() -> None:
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

    asyncio.run(whole())


@pytest.mark.parametrize("what", ["an old one", "none"])
def test_a_state_that_is_refused_stays_as_it_is(what: str, tmp_path: Path) -> None:
    """However often it is tried; only the starts are counted."""

    async def whole() -> None:
        two = Neighbours(tmp_path, "a", "b")
        await grow_apart(two, "free")
        put_back(two, what)
        # However slow this machine is, no round begins before the neighbour has been heard.
        patient = two.config("a", "b", source=SAMPLES, agreed=FREE, pace={"deadline": PATIENCE})
        async with Node(config(two, "b", "a", "free")) as b:
            seen = []
            for _ in range(2):
                async with Node(patient) as a:
                    await ended(a)
                    now = b.status().round
                    await until(lambda: b.status().round > now + 3)  # noqa: B023 (awaited here)
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

    asyncio.run(whole())


@pytest.mark.parametrize("pace", PACES)
def test_quick_restarts_are_never_taken_for_an_old_state(pace: str, tmp_path: Path) -> None:
    async def whole() -> None:
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

    asyncio.run(whole())


def test_what_was_stored_as_told_but_never_sent_is_no_false_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def whole() -> None:
        two = Neighbours(tmp_path, "a", "b")
        a, b = config(two, "a", "b"), config(two, "b", "a")
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

    asyncio.run(whole())


def with_source(two: Neighbours, source: Source) -> NodeConfig:
    return config(two, "a", "b").model_copy(update={"source": source})


def test_after_a_loss_samples_wait_for_every_neighbours_word(tmp_path: Path) -> None:
    async def whole() -> None:
        two = Neighbours(tmp_path, "a", "b")
        await grow_apart(two)
        before = Overview.of(state(two))
        rmtree(state(two))
        http = with_source(two, HttpSource(kind="http"))
        async with AsyncExitStack() as stack:
            a = await stack.enter_async_context(Node(http, state_lost=True))
            await until(lambda: a.status().neighbours[0].last_error)
            with pytest.raises(LocalProtocolError, match="every neighbour's word"):
                a.observe(0.5)
            with pytest.raises(LocalProtocolError, match="every neighbour's word"):
                await a.take([0.5, 0.6])
            assert a.status().round == a.status().samples.taken == 0
            b = await stack.enter_async_context(Node(config(two, "b", "a")))
            await until(lambda: a._parts.neighbourhood.joined.is_set())
            await a.take([0.5])
            assert Overview.of(state(two)).taken == 1
            await together(a, b)
            now = Overview.of(state(two))
            assert now.epoch > before.epoch
            assert now.floor >= before.round - 1

    asyncio.run(whole())


def test_after_a_loss_a_file_that_has_lines_is_not_read(tmp_path: Path) -> None:
    """How far it had been read is lost, so its samples could be noised twice; a new one is fine."""

    async def whole() -> None:
        two = Neighbours(tmp_path, "a", "b")
        path = tmp_path / "samples"
        path.write_text("0.5\n")
        lost = with_source(two, FileSource(kind="file", path=path, poll=0.01))
        with pytest.raises(ConfigError, match="a new file") as caught:
            await Node(lost, state_lost=True).__aenter__()
        assert caught.value.field == "source.path"
        with pytest.raises(ConfigError, match="lost with the state"):
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

    asyncio.run(whole())


def test_a_loss_does_not_go_on_from_the_place_that_a_start_without_the_word_has_stored(
    tmp_path: Path,
) -> None:
    """The file was hidden then, as by a mount that is missing: its place was the beginning."""

    async def whole() -> None:
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
                with pytest.raises(
                    ConfigError, match=r"an empty state.*Move .*/state away"
                ) as caught:
                    await Node(lost, state_lost=True, first_lines=word).__aenter__()
                assert caught.value.field == "--state-lost"
            state(two).rename(tmp_path / "away")
            async with Node(lost, state_lost=True, first_lines="skip") as a:
                await until(lambda: Overview.of(state(two)).marks.get(f"file:{path}") == 200)
                assert a.status().samples.taken == 0
            async with Node(lost) as a:
                await until(lambda: a.status().neighbours[0].connected)
            with pytest.raises(ConfigError, match="say it again; else start without it"):
                await Node(lost, state_lost=True).__aenter__()

    asyncio.run(whole())


def test_a_state_after_a_loss_knows_it_without_the_word(tmp_path: Path) -> None:
    """It began after its neighbours' memory, stopped, and is then given a file."""

    async def whole() -> None:
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
                with pytest.raises(ConfigError, match="lost with the state of before"):
                    await Node(fed, first_lines=word).__aenter__()
            async with Node(fed, first_lines="skip"):
                await until(lambda: Overview.of(state(two)).marks.get(f"file:{path}") == 4)

    asyncio.run(whole())


def test_whoever_has_an_old_state_is_told_of_those_that_were_replaced(tmp_path: Path) -> None:
    """One of them may be the newest: it must not be removed with the folder that it is in."""

    async def whole() -> None:
        two = Neighbours(tmp_path, "a", "b")
        async with Node(config(two, "b", "a")) as b:
            async with Node(config(two, "a", "b")) as a:
                await together(a, b)
            backup(state(two), tmp_path / "old")
            async with Node(config(two, "a", "b")) as a:
                await together(a, b)
            newest = Overview.of(state(two))
            restored_from(two, tmp_path / "old")
            kept = state(two) / "replaced-1.sqlite"
            words = f"{kept} (start {newest.epoch}, round {newest.round})"
            (state(two) / "replaced-2.sqlite").write_text("damaged")
            async with Node(config(two, "a", "b")) as a:
                with pytest.raises(StaleStateError) as caught:
                    await a.failed()
                assert words in str(caught.value)
                assert "replaced-2.sqlite (not readable)" in str(caught.value)
            with pytest.raises(ConfigError) as refused:
                await Node(config(two, "a", "b"), state_lost=True).__aenter__()
            assert words in str(refused.value)
            restored_from(two, kept)
            async with Node(config(two, "a", "b")) as a:
                await together(a, b)

    asyncio.run(whole())


async def knowing(two: Neighbours, *others: str) -> None:
    """Node a has told each of these, one after the other, and each remembers it."""
    for other in others:
        async with Node(config(two, "a", other)) as a, Node(config(two, other, "a")) as one:
            now = a.status().round
            await until(lambda: remembered(one.config.state).round > now)  # noqa: B023 (awaited)


def restored_from(two: Neighbours, copy: Path) -> None:
    restore(copy, state(two))
    assert Overview.of(state(two)).from_backup


def test_a_restored_state_is_not_confirmed_by_those_who_can_not_know(tmp_path: Path) -> None:
    """It has told c, and c alone was told more since: b's word says nothing of that."""

    async def whole() -> None:
        three = Neighbours(tmp_path, "a", "b", "c")
        await knowing(three, "c", "b")
        backup(state(three), tmp_path / "old")
        await knowing(three, "c")
        restored_from(three, tmp_path / "old")
        expected = r"nothing since this backup was made: --told-nothing-since c\. If you do not"
        with pytest.raises(ConfigError, match=expected) as caught:
            await Node(config(three, "a", "b")).__aenter__()
        # That c has left is no remedy: it keeps what it was told.
        assert "gone" not in str(caught.value)
        assert f"move {state(three)} away" in str(caught.value)
        assert str(caught.value).endswith("--state-lost and, for a file, --first-lines skip")
        assert (caught.value.field, caught.value.seen) == ("neighbours", "no c")
        assert Overview.of(state(three)).from_backup
        # Asked, it says what b could not know.
        both = three.config("a", "b", "c", source=SAMPLES, **PACES["clock"])
        async with Node(config(three, "c", "a")), Node(both) as a:
            await ended(a)

    asyncio.run(whole())


def test_whoever_was_told_nothing_since_need_not_be_asked(tmp_path: Path) -> None:
    """By the owner's word, for this restored state alone."""

    async def whole() -> None:
        three = Neighbours(tmp_path, "a", "b", "c")
        await knowing(three, "c", "b")
        backup(state(three), tmp_path / "newest")
        restored_from(three, tmp_path / "newest")
        with pytest.raises(ConfigError, match="--told-nothing-since: saw 'd', expected one of c"):
            await Node(config(three, "a", "b"), told_nothing_since=["c", "d"]).__aenter__()
        async with Node(config(three, "a", "b"), told_nothing_since=["c"]) as a:
            await until(lambda: a.status().neighbours[0].last_error)
            assert Overview.of(state(three)).from_backup, "b is asked still"
            async with Node(config(three, "b", "a")) as b:
                await together(a, b)
        assert not Overview.of(state(three)).from_backup
        with pytest.raises(ConfigError, match="--told-nothing-since: saw 'c', expected no such"):
            await Node(config(three, "a", "b"), told_nothing_since=["c"]).__aenter__()

    asyncio.run(whole())
