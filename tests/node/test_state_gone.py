"""The file of the state is removed or replaced under a running node: it acknowledges nothing."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from shutil import copyfile, rmtree

import pytest

from colme.errors import StaleStateError
from colme.node.node import Node
from colme.node.state import Commit
from colme.node.state.database import FILE, logs_of
from colme.protocol.agent import Agent
from colme.protocol.events import Part
from support.neighbours import Neighbours
from support.owned import served
from support.stored import SETTINGS, life, opened


def replaced(path: Path) -> None:
    copyfile(path, path.with_name("copy"))
    path.with_name("copy").rename(path)


GONE: dict[str, Callable[[Path], object]] = {
    "the folder is deleted": rmtree,
    "the folder is renamed": lambda folder: folder.rename(folder.with_name("elsewhere")),
    "the file is deleted": lambda folder: (folder / FILE).unlink(),
    "the file is replaced": lambda folder: replaced(folder / FILE),
    "the log is deleted": lambda folder: (folder / f"{FILE}-wal").unlink(),
}


@pytest.mark.parametrize("happened", GONE)
async def test_nothing_is_acknowledged_once_the_state_is_gone(
    tmp_path: Path, happened: str
) -> None:
    config = Neighbours(tmp_path, "a").config("a")
    node = Node(config)
    async with node, served(node) as client:  # type: ignore[arg-type]
        await node.take([0.25])
        GONE[happened](config.state)
        heard = await client.ask("/samples", "POST", "[0.5]")
        assert heard.code in (409, 503)
        with pytest.raises(StaleStateError) as caught:
            await node.failed()
        assert str(config.state) in str(caught.value)
        assert (await client.ask("/readyz")).code == 503
        assert (await client.ask("/samples", "POST", "[0.5]")).code == 409


async def test_a_state_with_fewer_samples_is_not_gone_on_with_after_an_outage(
    tmp_path: Path,
) -> None:
    """They were acknowledged: a disk that brings back less has lost them."""
    agent = Agent(SETTINGS)
    commits = life(agent, begun=False)
    with closing(opened(tmp_path)) as store:
        await store.commit(next(commits))
        with (
            closing(sqlite3.connect(tmp_path / FILE)) as now,
            closing(sqlite3.connect(tmp_path / "copy")) as copy,
        ):
            now.backup(copy)
        agent.observe(0.5)
        await store.commit(Commit(snapshot=agent.snapshot({Part.STREAM})))
        for log in logs_of(tmp_path / FILE):
            log.unlink(missing_ok=True)
        (tmp_path / "copy").rename(tmp_path / FILE)
        with pytest.raises(StaleStateError):
            await store.reload()
