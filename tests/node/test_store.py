"""What a node has taken in, noised and sent outlives any crash, and nothing is noised twice."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import pytest

from colme.errors import StoreError
from colme.rules.release import Profile
from support.stored import commit, content, opened, rounds


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
        nothing = {
            "told": {},
            "standings": {},
            "marks": {},
            "covered": 0,
            "releases": 0,
            "floor": 0,
        }
        assert content(store) == {"snapshot": None, "released": None} | nothing
        assert (store.epoch, store.from_backup) == (1, False)
        commit(store, next(rounds()))
        folder = tmp_path / "deep" / "state"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        assert modes.keys() == {"lock", "state.sqlite", "state.sqlite-wal", "state.sqlite-shm"}
        assert set(modes.values()) == {0o600}


def test_an_infinite_epsilon_is_kept(tmp_path: Path) -> None:
    profile = Profile.bounded(0, 1, epsilon=float("inf"))
    for _ in range(2):
        opened(tmp_path, profile=profile).close()


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
        assert (store.snapshot, store.released) == (whole.snapshot, whole.released)
        assert (store.standings, store.marks) == (whole.standings, whole.marks)
        assert store.releases == store.covered


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
