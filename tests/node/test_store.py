"""What a node has taken in, noised and sent outlives any crash, and nothing is noised twice."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from colme.errors import StoreError
from colme.node.state import Commit, Store
from colme.node.wire import Standing
from colme.rules.release import Profile
from support.stored import commit, opened, rounds


def content(store: Store) -> tuple[Any, ...]:
    return (
        store.snapshot,
        store.released,
        store.standings,
        store.marks,
        store.covered,
        store.releases,
    )


def in_its_thread(store: Store, statement: str) -> None:
    store._lane.call(lambda: store._connection.execute(statement).close())


def run_python(program: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_a_new_state_is_empty_and_its_owners_alone(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "deep" / "state")) as store:
        assert content(store) == (None, None, {}, {}, 0, 0)
        assert (store.epoch, store.floor, store.from_backup) == (1, 0, False)
        commit(store, next(rounds()))
        folder = tmp_path / "deep" / "state"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        assert modes.keys() == {"lock", "state.sqlite", "state.sqlite-wal", "state.sqlite-shm"}
        assert set(modes.values()) == {0o600}


def test_all_that_was_committed_is_there_after_a_restart_and_as_read_before(tmp_path: Path) -> None:
    first, second = islice(rounds(), 2)
    with closing(opened(tmp_path)) as store:
        commit(store, first, replace(second, released=None, standings={"c": second.standings["b"]}))
        before = content(store)
    assert before == (
        second.snapshot,
        first.released,
        {"b": Standing(epoch=1, round=1), "c": Standing(epoch=1, round=2)},
        {"file": 20},
        2,
        2,
    )
    with closing(opened(tmp_path)) as store:
        assert content(store) == before


def test_every_start_has_an_epoch_of_its_own_even_if_it_does_nothing(tmp_path: Path) -> None:
    epochs = []
    for _ in range(3):
        with closing(opened(tmp_path)) as store:
            epochs.append(store.epoch)
    assert epochs == [1, 2, 3]


def test_an_infinite_epsilon_is_kept(tmp_path: Path) -> None:
    profile = Profile.bounded(0, 1, epsilon=float("inf"))
    for _ in range(2):
        opened(tmp_path, profile=profile).close()


def test_one_process_at_a_time(tmp_path: Path) -> None:
    holder = run_python(
        "import sys; from pathlib import Path; from support.stored import opened\n"
        "store = opened(Path(sys.argv[1]))\n"
        "print('held', flush=True); sys.stdin.read()",
        tmp_path,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=r"in use by another process.*stopped first"):
            opened(tmp_path)
        holder.kill()
    opened(tmp_path).close()


def test_one_store_at_a_time_within_a_process_too(tmp_path: Path) -> None:
    """And a refused attempt does not loosen the first one's lock for other processes."""
    with closing(opened(tmp_path)):
        with pytest.raises(StoreError, match="in use"):
            opened(tmp_path)
        other = run_python(
            "import sys; from pathlib import Path; from support.stored import opened\n"
            "from colme.errors import StoreError\n"
            "try: opened(Path(sys.argv[1]))\n"
            "except StoreError as error: print(error)",
            tmp_path,
        )
        assert "in use" in other.communicate()[0]


def test_what_a_commit_returned_for_outlives_a_kill(tmp_path: Path) -> None:
    writer = run_python(
        "import asyncio, sys; from pathlib import Path\n"
        "from support.stored import opened, rounds\n"
        "store = opened(Path(sys.argv[1]))\n"
        "async def main():\n"
        "    for number, commit in enumerate(rounds(), 1):\n"
        "        await store.commit(commit)\n"
        "        print(number, flush=True)\n"
        "asyncio.run(main())",
        tmp_path,
    )
    with writer:
        assert writer.stdout is not None
        for number in range(1, 51):
            assert writer.stdout.readline() == f"{number}\n"
        writer.kill()
        printed = 50 + writer.stdout.read().count("\n")
    with closing(opened(tmp_path)) as store:
        assert store.covered in (printed, printed + 1)
        whole = next(islice(rounds(), store.covered - 1, None))
        assert content(store) == (
            whole.snapshot,
            whole.released,
            whole.standings,
            whole.marks,
            store.covered,
            store.covered,
        )


@contextmanager
def no_room_to_write() -> Iterator[None]:
    """The system refuses to write to any file: a real I/O error, for root too."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def large(one: Commit) -> Commit:
    """So large that it needs pages the file does not have yet."""
    return replace(one, released=bytes(100_000), marks={"other": 1})


FAILURES = {
    "disk full": "PRAGMA max_page_count = 1",
    "read-only": "PRAGMA query_only = ON",
}


@pytest.mark.parametrize(("word", "cause"), FAILURES.items(), ids=list(FAILURES))
def test_a_commit_that_fails_leaves_the_state_as_it_was(
    tmp_path: Path, word: str, cause: str
) -> None:
    """SQLite itself raises both: no page may be added, nothing may be written."""
    first, second = islice(rounds(), 2)
    with closing(opened(tmp_path)) as store:
        commit(store, first)
        before = content(store)
        in_its_thread(store, cause)
        with pytest.raises(StoreError, match=word):
            commit(store, large(second))
        assert content(store) == before
        asyncio.run(store.reload())
        assert content(store) == before
        commit(store, large(second))
        assert store.covered == 2


def test_reload_fails_for_as_long_as_nothing_can_be_written(tmp_path: Path) -> None:
    first, second = islice(rounds(), 2)
    with closing(opened(tmp_path)) as store:
        commit(store, first)
        before, epoch = content(store), store.epoch
        with no_room_to_write():
            with pytest.raises(StoreError, match="I/O error"):
                commit(store, second)
            with pytest.raises(StoreError, match="I/O error"):
                asyncio.run(store.reload())
        asyncio.run(store.reload())
        assert (content(store), store.epoch) == (before, epoch)
        commit(store, second)
        assert store.covered == 2


def test_a_disk_that_takes_nothing_is_found_out_at_the_start(tmp_path: Path) -> None:
    with no_room_to_write(), pytest.raises(StoreError, match="I/O error"):
        opened(tmp_path)
    opened(tmp_path).close()


def test_a_state_that_another_program_writes_to_is_locked(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        with closing(sqlite3.connect(tmp_path / "state.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="locked"):
                commit(store, next(rounds()))
        commit(store, next(rounds()))
