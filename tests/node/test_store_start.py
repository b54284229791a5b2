"""A node does not start from a state that it can't keep or that is not its own."""

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import pytest

from colme.errors import ConfigError, StoreError
from colme.rules.release import Profile
from support.refusing import refused
from support.stored import commit, opened, rounds

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


def other_schema(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "state.sqlite")) as connection:
        connection.execute("PRAGMA user_version = 99")


def other_database(folder: Path) -> None:
    (folder / "state.sqlite").unlink()
    (folder / "state.sqlite").touch(mode=0o600)
    with closing(sqlite3.connect(folder / "state.sqlite")) as connection:
        connection.execute("CREATE TABLE somebody (s)")


def torn_page(folder: Path) -> None:
    """One that no start has to read."""
    path = folder / "state.sqlite"
    data = bytearray(path.read_bytes())
    data[-4096:] = b"\xff" * 4096
    path.write_bytes(data)


def ledger_cut(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "state.sqlite", isolation_level=None)) as connection:
        connection.execute("DELETE FROM ledger WHERE last = 2")


def snapshot_cut(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "state.sqlite", isolation_level=None)) as connection:
        connection.execute("UPDATE part SET content = substr(content, 1, 50)")


def epsilon_of_another(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "state.sqlite", isolation_level=None)) as connection:
        connection.execute("UPDATE meta SET epsilon = 0.5")


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "text": (lambda f: (f / "state.sqlite").write_text("not a database" * 99), "damaged.*restore"),
    "pages": (torn_page, "damaged"),
    "ledger": (ledger_cut, r"damaged \(2 samples were released, but the ledger lists 1\)"),
    "epsilon": (
        epsilon_of_another,
        r"damaged \(its promise is epsilon = 0\.5, but the ledger lists 1\)",
    ),
    "snapshot": (snapshot_cut, "damaged"),
    "schema": (
        other_schema,
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
