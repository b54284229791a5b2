"""After a loss: samples and files wait for the owner's word and for every neighbour's."""

from contextlib import AsyncExitStack
from pathlib import Path
from shutil import rmtree

import pytest

from colme.errors import ConfigError, LocalProtocolError
from colme.node.config import FileSource, HttpSource, NodeConfig, Source
from colme.node.node import Node
from colme.node.state import Overview
from support.neighbours import Neighbours
from support.refusing import refused
from support.remembering import (
    config,
    ended,
    grow_apart,
    state,
    together,
)
from support.waiting import until

pytestmark = pytest.mark.usefixtures("call_again_soon")


def with_source(two: Neighbours, source: Source) -> NodeConfig:
    return config(two, "a", "b").model_copy(update={"source": source})


async def test_after_a_loss_samples_wait_for_every_neighbours_word(tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")
    await grow_apart(two)
    before = Overview.of(state(two))
    rmtree(state(two))
    http = with_source(two, HttpSource(kind="http"))
    async with AsyncExitStack() as stack:
        a = await stack.enter_async_context(Node(http, state_lost=True))
        await until(lambda: a.status().neighbours[0].last_error)
        with refused(LocalProtocolError, "sample"):
            a.observe(0.5)
        with refused(LocalProtocolError, "sample"):
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
