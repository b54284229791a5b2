"""Copies of a state: made beside a running node, known as copies, brought back whole."""

import asyncio
import json
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from colme.cli.app import run
from colme.errors import StoreError
from colme.node.state import Overview, backup, database, restore, seal_of
from colme.node.state.database import FILE
from colme.node.wire.codec import Standing
from colme.privacy.ledger import Ledger
from support.refusing import refused
from support.stored import commit, opened, rounds


def stored_and_copied(folder: Path, commits: int = 1) -> None:
    """A state in `a`, at rest, and a backup of it in `copy`."""
    with closing(opened(folder / "a")) as store:
        commit(store, *islice(rounds(), commits))
    backup(folder / "a", folder / "copy")


def test_a_running_state_is_copied_as_of_its_last_commit(tmp_path: Path) -> None:
    """Into one file of the owner's alone; the state itself is not marked."""
    file = tmp_path / "copy"
    first, second = islice(rounds(), 2)
    with closing(opened(tmp_path / "a")) as store:
        commit(store, first)
        backup(tmp_path / "a", file)
        commit(store, second)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "copy"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    restore(file, tmp_path / "b")
    with closing(opened(tmp_path / "b")) as copy:
        assert (copy.snapshot, copy.marks, copy.covered) == (first.snapshot, first.marks, 1)
        assert (copy.from_backup, copy.epoch) == (True, 2)
    with closing(opened(tmp_path / "a")) as store:
        assert (store.from_backup, store.covered) == (False, 2)


def test_a_copy_is_one_until_the_neighbours_have_confirmed_it(tmp_path: Path) -> None:
    opened(tmp_path / "a").close()
    backup(tmp_path / "a", tmp_path / "copy")
    restore(tmp_path / "copy", tmp_path / "a")
    with closing(opened(tmp_path / "a")) as store:
        assert store.from_backup
    with closing(opened(tmp_path / "a")) as store:
        asyncio.run(store.confirmed())
        assert not store.from_backup
    with closing(opened(tmp_path / "a")) as store:
        assert not store.from_backup


def test_a_backup_overwrites_nothing(tmp_path: Path) -> None:
    opened(tmp_path / "a").close()
    (tmp_path / "copy").write_text("mine")
    with refused(StoreError, "backup", seen=f"{tmp_path / 'copy'}: it exists"):
        backup(tmp_path / "a", tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == "mine"


def test_what_is_no_state_is_not_copied_and_leaves_no_traces(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="missing"):
        backup(tmp_path / "nowhere", tmp_path / "copy")
    (tmp_path / "text").write_text("not a database" * 99)
    with refused(StoreError, "backup"):
        restore(tmp_path / "text", tmp_path / "b")
    opened(tmp_path / "a").close()
    with pytest.raises(StoreError, match="no such file"):
        backup(tmp_path / "a", tmp_path / "nowhere" / "copy")
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["lock"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "text"]


def test_a_running_nodes_state_is_not_replaced(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "a")) as store:
        backup(tmp_path / "a", tmp_path / "copy")
        with pytest.raises(StoreError, match="in use"):
            restore(tmp_path / "copy", tmp_path / "a")
        commit(store, next(rounds()))
        assert store.covered == 1


@pytest.mark.parametrize("content", ["not a database" * 99, ""])
def test_a_damaged_or_an_empty_state_is_replaced(tmp_path: Path, content: str) -> None:
    """A power failure may leave an empty file of a new one."""
    stored_and_copied(tmp_path)
    (tmp_path / "a" / FILE).write_text(content)
    kept = restore(tmp_path / "copy", tmp_path / "a")
    with closing(opened(tmp_path / "a")) as store:
        assert store.covered == 1
    assert (kept is None) == (content == "")
    assert kept is None or kept.read_text() == content, "somebody may be able to mend it"


def test_a_running_state_is_shown_by_its_counts(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        assert Overview.of(tmp_path).ledger == Ledger(epsilon=1, samples=0, blocks=0, waiting=0)
        commit(store, *islice(rounds(), 7))
        overview = Overview.of(tmp_path, entries=2)
    assert (overview.name, overview.epoch, overview.round, overview.taken) == ("me", 1, 7, 7)
    assert overview.ledger == Ledger(epsilon=1, samples=7, blocks=7, waiting=0)
    assert overview.releases == 7
    assert [entry.last for entry in overview.last_entries] == [7, 6]
    assert overview.standings == {"b": Standing(epoch=1, round=7)}
    assert overview.marks == {"file": 70}


def test_the_digest_of_a_file_is_not_shown(tmp_path: Path) -> None:
    """Few samples can be guessed, and compared with it."""
    with closing(opened(tmp_path)) as store:
        commit(store, replace(next(rounds()), marks={"file:a": 1, seal_of("file:a"): 2}))
    assert Overview.of(tmp_path).marks == {"file:a": 1}


def test_the_command_line_shows_copies_and_restores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = str(tmp_path / "a"), str(tmp_path / "copy")
    with closing(opened(tmp_path / "a")) as store:
        commit(store, *islice(rounds(), 3))
        assert run(["state", "show", folder]) == 0
        text = capsys.readouterr().out
        assert run(["state", "show", folder, "--json"]) == 0
        plain = capsys.readouterr().out
        assert run(["state", "backup", folder, file]) == 0
        assert run(["state", "restore", file, folder]) == 2
        assert "in use by another process" in capsys.readouterr().err
        assert store.snapshot is not None
        exact = store.snapshot["stream"]
    assert "me: epoch 1, round 3" in text
    assert "samples taken in: 3, released: 3, waiting: 0" in text
    assert "last sent: a noised mean of " in text
    assert "releases made: 3" in " ".join(text.split())
    assert "neighbour b: epoch 1, round 3" in text
    assert "source file: read up to 30" in text
    for private in (exact["total"], exact["lattice"]["sum"]):
        assert str(private) not in text + plain
    answer = json.loads(plain)
    assert (answer["round"], answer["releases"], answer["ledger"]["epsilon"]) == (3, 3, 1)
    assert run(["state", "restore", file, folder]) == 0
    assert run(["state", "show", folder]) == 0
    assert "restored from a backup" in capsys.readouterr().out


def test_a_state_that_is_not_there_is_not_made_by_looking(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["state", "show", str(tmp_path)]) == 2
    assert "missing" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_looking_changes_nothing(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        commit(store, next(rounds()))
    before = (tmp_path / "state.sqlite").read_bytes()
    Overview.of(tmp_path)
    assert (tmp_path / "state.sqlite").read_bytes() == before
    with closing(sqlite3.connect(tmp_path / "state.sqlite")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_however_often_one_restores_nothing_that_was_there_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second restore of an old backup would else leave nothing but old states."""
    folder, old = tmp_path / "a", tmp_path / "old"
    with closing(opened(folder)) as store:
        commit(store, next(rounds()))
        backup(folder, old)
    with closing(opened(folder)) as store:
        commit(store, *islice(rounds(), 1, 3))
    for number in range(1, 4):
        assert run(["state", "restore", str(old), str(folder)]) == 0
        kept = folder / f"replaced-{number}.sqlite"
        assert f"what was there is {kept}" in capsys.readouterr().out
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    (folder / "replaced-2.sqlite").unlink()  # By its owner; its number is not given again.
    restore(folder / "replaced-1.sqlite", folder)
    assert (folder / "replaced-4.sqlite").exists()
    assert (Overview.of(folder).round, Overview.of(folder).from_backup) == (3, True)


def test_a_restore_leaves_no_log_of_what_it_replaces(tmp_path: Path) -> None:
    """SQLite would play it into the copy: a mixture of two states."""
    stored_and_copied(tmp_path, 3)
    logs = [tmp_path / "a" / f"{FILE}-{log}" for log in ("wal", "shm", "journal")]
    (tmp_path / "a" / FILE).unlink()
    for log in logs:
        log.write_bytes(b"of another state")
    restore(tmp_path / "copy", tmp_path / "a")
    assert not any(log.exists() for log in logs)
    assert Overview.of(tmp_path / "a").taken == 3


@pytest.mark.parametrize("code", [sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM])
def test_a_state_that_can_not_be_copied_now_is_not_taken_for_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """It may be the newest there is: nothing is restored over it."""
    stored_and_copied(tmp_path, 3)
    before, checked = (tmp_path / "a" / FILE).read_bytes(), database.require_state

    def out_of_luck(connection: sqlite3.Connection, path: Path) -> None:
        if path.name == FILE:
            error = sqlite3.OperationalError("out of luck")
            error.sqlite_errorcode = code
            raise error
        checked(connection, path)

    monkeypatch.setattr(database, "require_state", out_of_luck)
    with pytest.raises(StoreError, match="not usable now"):
        restore(tmp_path / "copy", tmp_path / "a")
    assert (tmp_path / "a" / FILE).read_bytes() == before


CUT_OFF = """
import os, sys
from pathlib import Path
from colme.node.state import restore

left = int(sys.argv[1])

def power_failure(event, _):
    global left
    if event in ("os.rename", "os.remove"):
        left -= 1
        if left < 0:
            os._exit(9)

sys.addaudithook(power_failure)
restore(Path(sys.argv[2]), Path(sys.argv[3]))
"""
"""A restore that ends before it has renamed or removed more than so many files."""


def left_by_a_killed_node(folder: Path) -> None:
    """Three rounds, the last two of them in the log alone; a backup beside it has the first."""
    path = folder / FILE
    with closing(opened(folder)) as store:
        commit(store, next(rounds()))
        backup(folder, folder.with_name("copy"))
        commit(store, *islice(rounds(), 1, 3))
        left = {end: Path(f"{path}{end}").read_bytes() for end in ("", "-wal", "-shm")}
    for end, data in left.items():
        Path(f"{path}{end}").write_bytes(data)
        Path(f"{path}{end}").chmod(0o600)


def test_wherever_a_restore_is_cut_off_there_is_a_whole_state(tmp_path: Path) -> None:
    """The one before with all that was in its log, or the copy, marked as one: never none, which
    the next start would take for a first one."""
    for steps in range(20):
        folder = tmp_path / str(steps) / "a"
        folder.parent.mkdir()
        left_by_a_killed_node(folder)
        done = subprocess.run(
            [sys.executable, "-c", CUT_OFF, str(steps), str(folder.with_name("copy")), str(folder)],
            check=False,
        )
        with closing(opened(folder)) as store:
            assert (store.covered, store.from_backup) in ((3, False), (1, True)), steps
        assert not list(folder.glob("*.partial*")), "swept by the start"
        if done.returncode == 0:
            break
        assert done.returncode == 9
    assert steps >= 2


@pytest.mark.parametrize("left", ["replaced-1.sqlite", "state-x.partial", f"{FILE}-wal"])
def test_a_folder_whose_state_is_gone_is_not_taken_for_a_new_one(tmp_path: Path, left: str) -> None:
    """An empty state would take the same samples in again."""
    folder = tmp_path / "a"
    with closing(opened(folder)) as store:
        commit(store, next(rounds()))
    backup(folder, tmp_path / "copy")
    (folder / FILE).rename(folder / left)
    for empty in (False, True):
        if empty:
            (folder / FILE).touch(0o600)
        with pytest.raises(StoreError, match=f"{left}.*colme state restore FILE {folder}"):
            opened(folder)
        assert (folder / FILE).exists() == empty
        assert (folder / left).exists()
    restore(tmp_path / "copy", folder)
    with closing(opened(folder)) as store:
        assert (store.covered, store.from_backup) == (1, True)


def test_the_newest_of_the_states_that_are_left_is_named(tmp_path: Path) -> None:
    opened(tmp_path).close()
    for number in (2, 10):
        (tmp_path / f"replaced-{number}.sqlite").touch()
    (tmp_path / FILE).unlink()
    with pytest.raises(StoreError, match=r"the newest of these, replaced-10\.sqlite"):
        opened(tmp_path)


def test_what_others_left_unfinished_is_swept_but_no_backup_in_the_making(tmp_path: Path) -> None:
    opened(tmp_path).close()
    for name in ("state-x.partial", "state-x.partial-journal", "backup-x.partial"):
        (tmp_path / name).touch()
    opened(tmp_path).close()
    assert [one.name for one in tmp_path.glob("*.partial*")] == ["backup-x.partial"]


def test_what_is_no_backup_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "north.toml").write_text("[agreed]\n" * 99)
    for name, seen in {
        "nope.bak": "no such file",
        ".": "a folder",
        "north.toml": "damaged (file is not a database)",
    }.items():
        with refused(StoreError, seen=f"{tmp_path / name}: {seen}") as caught:
            restore(tmp_path / name, tmp_path / "a")
        assert caught.value.expected == "a file as colme state backup wrote it"
        assert (tmp_path / "a").exists() == (name == "north.toml")


def test_a_state_that_somebody_reads_is_not_replaced_meanwhile(tmp_path: Path) -> None:
    """Its log can't be ended then; nothing is lost, and the restore works afterwards."""
    folder = tmp_path / "a"
    left_by_a_killed_node(folder)
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM meta").fetchall()
        with pytest.raises(StoreError, match="locked"):
            restore(tmp_path / "copy", folder)
        assert (Overview.of(folder).taken, Overview.of(folder).from_backup) == (3, False)
    restore(tmp_path / "copy", folder)
    assert Overview.of(folder).taken == 1
