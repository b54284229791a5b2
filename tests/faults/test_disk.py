"""A full disk, for real: nothing is acknowledged that is not stored, and it mends itself."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import colme
from colme.errors import StoreError
from colme.node import driver as driver
from colme.node.fleet import Member
from colme.node.state import Commit, Overview, Store
from support.elsewhere import PATIENCE
from support.processes import (
    HTTP,
    Nodes,
    acquainted,
    ask,
    command,
    counted,
    require_each_sample_noised_once,
)
from support.waiting import until

FULL = "disk full"


class Disk:
    """A disk of 16 MiB in memory, for a node's state."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._filler = folder / "something large"
        self.mounts = [folder]

    def hold(self, member: Member) -> Member:
        """Put a node's state on it."""
        member.config.state.mkdir()
        subprocess.run(["mount", "--bind", self._folder, member.config.state], check=True)
        self.mounts.append(member.config.state)
        return member

    def fill(self) -> None:
        """Leave no room for a byte."""
        with suppress(OSError), self._filler.open("ab", buffering=0) as file:
            while True:
                file.write(bytes(2**12))

    def free(self) -> None:
        """Make room again."""
        self._filler.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs", str(folder)]
    try:
        mounted = os.geteuid() == 0 and subprocess.run(["mount", *options]).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("only who may mount can have a small disk")
    made = Disk(folder)
    try:
        yield made
    finally:
        for mount in reversed(made.mounts):
            subprocess.run(["umount", "--lazy", mount], check=True)


def trouble(nodes: Nodes, member: Member) -> str | None:
    """What it complains of, if it is the disk."""
    return next((one for one in nodes.status(member).troubles if FULL in one), None)


def test_a_node_with_a_full_disk_rests_and_returns_by_itself(tmp_path: Path, disk: Disk) -> None:
    victim, other = acquainted(tmp_path / "nodes", 2, HTTP)
    disk.hold(victim)
    acknowledged = 0
    with Nodes(victim, other) as nodes:
        nodes.ready()
        assert ask(other, "/samples", [0.5] * 100)[0] == 200
        disk.fill()
        code = 200
        while code == 200 and acknowledged < 10_000:
            code, text = ask(victim, "/samples", 0.5)
            acknowledged += code == 200
        assert code == 503
        assert FULL in text
        nodes.until("trouble", lambda: trouble(nodes, victim))
        code, text = ask(victim, "/readyz")
        assert code == 503
        assert FULL in text
        assert ask(victim, "/livez")[0] == 200
        resting = nodes.round(victim)
        nodes.release(other)
        assert ask(victim, "/samples", 0.5)[0] == 503
        assert nodes.round(victim) == resting
        assert counted(victim, "store_failures_total") > 0
        assert Overview.of(victim.config.state).taken == acknowledged

        disk.free()
        nodes.ready()
        assert nodes.status(victim).samples.taken == acknowledged
        nodes.release(victim)
        nodes.agree(2)
        assert nodes.status(victim).epoch == 1, "it was not away"
        nodes.stop(victim)
    require_each_sample_noised_once(victim)


def test_a_file_is_read_on_once_there_is_room_again(tmp_path: Path, disk: Disk) -> None:
    data = tmp_path / "data"
    data.write_text("0.5\n" * 10)
    source = f'kind = "file"\npath = "{data}"\npoll = 0.01'
    (member,) = acquainted(tmp_path / "nodes", 1, {"source": source})
    disk.hold(member)
    with Nodes() as nodes:
        nodes.members = (member,)
        nodes.start(member, "--first-lines", "take")
        nodes.ready()
        nodes.until("10 rows", lambda: nodes.status(member).samples.taken == 10)
        disk.fill()
        with data.open("a") as file:
            file.write("0.5\n" * 10)
        nodes.until("trouble", lambda: trouble(nodes, member))
        nodes.until("tried again", lambda: counted(member, "store_failures_total") > 1)
        disk.free()
        nodes.ready()
        nodes.until("20 rows", lambda: nodes.status(member).samples.taken >= 20)
        assert nodes.status(member).samples.taken == 20
        nodes.stop(member)
    require_each_sample_noised_once(member)


async def test_rows_are_taken_once_even_if_the_disk_only_says_that_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit whose last step fails may be there after all: to take its rows again would leak."""
    commit = Store.commit
    failed: list[Commit] = []

    async def commit_and_fail_once(store: Store, one: Commit) -> None:
        await commit(store, one)
        if one.marks.get(f"file:{data}") and not failed:
            failed.append(one)
            raise StoreError("state", "I/O error", "a disk that works")

    async def program() -> None:
        taking = colme.Node(member.config, first_lines="take")
        async with asyncio.timeout(PATIENCE), taking as node:
            await until(lambda: failed and not node.troubles())
            with data.open("a") as file:
                file.write("0.5\n")
            await until(lambda: node.status().samples.taken >= 11)
            assert node.status().samples.taken == 11

    data = tmp_path / "data"
    data.write_text("0.5\n" * 10)
    source = f'kind = "file"\npath = "{data}"\npoll = 0.01'
    (member,) = acquainted(tmp_path / "nodes", 1, {"source": source})
    monkeypatch.setattr(Store, "commit", commit_and_fail_once)
    await program()


async def test_a_node_that_waits_for_its_disk_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end does not wait for the next attempt, which is an hour away here."""

    async def fail(_store: Store, _one: Commit) -> None:
        raise StoreError("state", FULL, "free space")

    async def program() -> None:
        async with asyncio.timeout(PATIENCE), colme.Node(member.config) as node:
            await until(lambda: any(FULL in one for one in node.troubles()))

    (member,) = acquainted(tmp_path / "nodes", 1)
    monkeypatch.setattr(Store, "commit", fail)
    monkeypatch.setattr(driver, "FIRST_RETRY", 3600)
    await program()


@pytest.mark.parametrize("new", [True, False], ids=["new", "old"])
def test_a_full_disk_at_the_start(new: bool, tmp_path: Path, disk: Disk) -> None:
    (member,) = acquainted(tmp_path / "nodes", 1)
    disk.hold(member)
    with Nodes(member) as nodes:
        if new:
            nodes.kill(member)
        else:
            nodes.ready()
            nodes.stop(member)
        disk.fill()
        ended = subprocess.run(command(member), capture_output=True, text=True, timeout=PATIENCE)
        assert ended.returncode == 2, ended.stderr
        assert ended.stderr.startswith("colme: state: saw ")
        assert ended.stderr.count("\n") == 1
        assert "free space" in ended.stderr
        disk.free()
        nodes.start(member)
        nodes.ready()
        assert nodes.status(member).epoch == 1 + (not new)
