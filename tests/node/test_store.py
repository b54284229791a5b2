"""A store.

A commit outlives all that can happen to it, and a start is refused where it can't go on.
"""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import pytest

from colme.errors import (
    ConfigError,
    LocalProtocolError,
    MessageError,
    StoreError,
)
from colme.node.state import Store
from colme.node.wire.codec import Standing
from colme.rules.release import Profile
from support.refusing import refused
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


NOBODY = 65534


@contextmanager
def without_privileges() -> Iterator[None]:
    """Root may write everywhere; here it is nobody."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.name == "nt", reason="folders have no such mode there")
@pytest.mark.parametrize("begun", [False, True])
def test_a_folder_that_may_not_be_written_is_refused(begun: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        with without_privileges():
            if begun:
                opened(folder).close()
            folder.chmod(0o500)
            with pytest.raises(StoreError, match=r"permission denied|read-only"):
                opened(folder)
            folder.chmod(0o700)


def written(statement: str) -> Callable[[Path], None]:
    """A damage: somebody's SQL is run on the state."""

    def run(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "state.sqlite", isolation_level=None)) as connection:
            connection.execute(statement)

    return run


def other_database(folder: Path) -> None:
    (folder / "state.sqlite").unlink()
    (folder / "state.sqlite").touch(mode=0o600)
    written("CREATE TABLE somebody (s)")(folder)


def torn_page(folder: Path) -> None:
    """One that no start has to read."""
    path = folder / "state.sqlite"
    data = bytearray(path.read_bytes())
    data[-4096:] = b"\xff" * 4096
    path.write_bytes(data)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "text": (lambda f: (f / "state.sqlite").write_text("not a database" * 99), "damaged.*restore"),
    "pages": (torn_page, "damaged"),
    "ledger": (
        written("DELETE FROM ledger WHERE last = 2"),
        r"damaged \(2 samples were released, but the ledger lists 1\)",
    ),
    "epsilon": (
        written("UPDATE meta SET epsilon = 0.5"),
        r"damaged \(its promise is epsilon = 0\.5, but the ledger lists 1\)",
    ),
    "snapshot": (written("UPDATE part SET content = substr(content, 1, 50)"), "damaged"),
    "schema": (
        written("PRAGMA user_version = 99"),
        "schema: saw 99, expected at most 4: a newer colme wrote it; go on with that v",
    ),
    "other": (other_database, "not a node's state"),
}


@pytest.mark.parametrize(("damage", "text"), DAMAGE.values(), ids=list(DAMAGE))
def test_a_damaged_state_is_refused_and_left_alone(
    tmp_path: Path, damage: Callable[[Path], object], text: str
) -> None:
    with closing(opened(tmp_path)) as store:
        commit(store, *islice(rounds(), 2))
    damage(tmp_path)
    before = (tmp_path / "state.sqlite").read_bytes()
    for _ in range(2):
        with pytest.raises(StoreError, match=text):
            opened(tmp_path)
    assert (tmp_path / "state.sqlite").read_bytes() == before


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"a file.*expected a folder"):
        opened(tmp_path / "file")
    with pytest.raises(StoreError, match="file"):
        opened(tmp_path / "file" / "below")


def test_a_state_belongs_to_one_name_one_epsilon_and_its_bounds(tmp_path: Path) -> None:
    """With another epsilon or other bounds, the noise in it would not be what it says."""
    opened(tmp_path).close()
    with refused(ConfigError, "name", seen="you"):
        opened(tmp_path, name="you")
    with refused(ConfigError, "privacy.epsilon", seen=2):
        opened(tmp_path, profile=Profile.bounded(0, 1, epsilon=2))
    with refused(ConfigError, "agreed.bounds", seen=(0, 2)):
        opened(tmp_path, profile=Profile.bounded(0, 2, epsilon=1))
    with closing(opened(tmp_path)) as store:
        assert store.epoch == 2


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
