"""What every store of a node's state must meet, however the state came to be there.

What was committed is read back; a commit that fails leaves what was; the ledger only grows, and no
sample is in it twice; one process at a time; an older state is refused. To add a way in which a
state comes to be is to add to `KINDS`.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from shutil import copyfile

import pytest

from colme.errors import ColmeError, LedgerError, SnapshotError, StaleStateError, StoreError
from colme.node.state import Commit, Overview, Store, backup, change, restore
from colme.node.state.database import FILE
from colme.protocol.agent import Agent
from colme.protocol.settings import Settings
from colme.rules.release import Profile
from support.old_states import PAPER, paper_of, put_into
from support.stored import SETTINGS, commit, content, life


@dataclass
class Kept:
    """A state in a folder, or a folder where one is to be."""

    folder: Path
    settings: Settings = SETTINGS

    def open(self) -> Store:
        """As a node does."""
        return Store.open(self.folder, self.settings)

    def commits(self, store: Store) -> Iterator[Commit]:
        """What the agent in it stores from now on."""
        if store.snapshot is None:
            return life(Agent(self.settings), begun=False)
        return life(Agent.restore(self.settings, store.snapshot), begun=True)


def fresh(folder: Path) -> Kept:
    return Kept(folder / "state")


def restored(folder: Path) -> Kept:
    first = Kept(folder / "first")
    with closing(first.open()) as store:
        commit(store, *islice(first.commits(store), 4))
    backup(first.folder, folder / "copy")
    restore(folder / "copy", folder / "state")
    return Kept(folder / "state")


def changed(folder: Path) -> Kept:
    """Under another epsilon than its first samples, some of which had their noise."""
    first = Kept(folder / "state", replace(SETTINGS, profile=Profile.bounded(0, 1, epsilon=0.5)))
    with closing(first.open()) as store:
        commit(store, *islice(first.commits(store), 5))
    change(first.folder, SETTINGS, drop_waiting=True)
    return Kept(first.folder)


def upgraded(old: Path) -> Callable[[Path], Kept]:
    return lambda folder: Kept(put_into(folder / "state", old), paper_of(old))


KINDS: dict[str, Callable[[Path], Kept]] = {
    "fresh": fresh,
    "restored": restored,
    "changed": changed,
    **{f"of {path.parent.name}, {path.stem}": upgraded(path) for path in PAPER},
}


@pytest.fixture(params=KINDS.values(), ids=list(KINDS))
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    made: Kept = request.param(tmp_path)
    return made


def in_its_thread(store: Store, statement: str) -> None:
    store._thread.call(lambda: store._connection.execute(statement).close())


def test_what_was_committed_is_read_back(kept: Kept) -> None:
    """Part by part as it is written, whole as it is read; and what a commit leaves out stays."""
    with closing(kept.open()) as store:
        before = content(store)
        for one in islice(kept.commits(store), 6):
            commit(store, one)
            expected = {
                "snapshot": (before["snapshot"] or {}) | dict(one.snapshot),
                "released": one.released or before["released"],
                "told": before["told"] | dict(one.told),
                "standings": before["standings"] | dict(one.standings),
                "marks": before["marks"] | dict(one.marks),
                "covered": one.entry.last if one.entry else before["covered"],
                "releases": before["releases"] + (one.entry is not None),
                "floor": before["floor"],
            }
            assert content(store) == expected
            asyncio.run(store.reload())
            assert content(store) == expected
            before = expected
    with closing(kept.open()) as store:
        assert content(store) == before
        assert Agent.restore(kept.settings, store.snapshot or {}).snapshot() == before["snapshot"]


def test_every_start_has_an_epoch_of_its_own_even_if_it_does_nothing(kept: Kept) -> None:
    epochs = []
    for _ in range(3):
        with closing(kept.open()) as store:
            epochs.append(store.epoch)
    assert epochs == [epochs[0], epochs[0] + 1, epochs[0] + 2]


def large(one: Commit) -> Commit:
    """So large that it needs pages the file does not have yet."""
    return replace(one, released=bytes(100_000), marks={"other": 1})


FAILURES = {"disk full": "PRAGMA max_page_count = 1", "read-only": "PRAGMA query_only = ON"}


@pytest.mark.parametrize(("word", "cause"), FAILURES.items(), ids=list(FAILURES))
def test_a_commit_that_fails_leaves_what_was(kept: Kept, word: str, cause: str) -> None:
    """SQLite itself raises both: no page may be added, nothing may be written."""
    with closing(kept.open()) as store:
        commits = kept.commits(store)
        commit(store, *islice(commits, 3))
        before, release = content(store), large(next(commits))
        in_its_thread(store, cause)
        with pytest.raises(StoreError, match=word):
            commit(store, release)
        assert content(store) == before
    with closing(kept.open()) as store:
        assert content(store) == before
        commit(store, release)
        assert release.entry is not None
        assert store.covered == release.entry.last


Change = Callable[[Commit, Commit], Commit]
"""What is wrong, made from the last commit and the next: both are of a round."""

WRONG: dict[str, tuple[Change, type[ColmeError], str]] = {
    "the same again": (lambda last, _: last, LedgerError, "noised twice"),
    "an overlap": (
        lambda last, after: replace(after, entry=replace(after.entry, first=last.entry.first)),  # type: ignore[type-var,union-attr]
        LedgerError,
        "noised twice",
    ),
    "a gap": (
        lambda _, after: replace(after, entry=replace(after.entry, first=after.entry.last)),  # type: ignore[type-var,union-attr]
        LedgerError,
        "never listed",
    ),
    "a release that is not listed": (
        lambda _, after: replace(after, entry=None),
        LedgerError,
        "as the ledger lists",
    ),
    "an entry without its release": (
        lambda last, after: replace(last, entry=after.entry),
        LedgerError,
        "as the ledger lists",
    ),
    "an entry alone": (
        lambda _, after: replace(after, snapshot={"version": after.snapshot["version"]}),
        LedgerError,
        "as the ledger lists",
    ),
    "no number": (
        lambda _, after: replace(after, snapshot={**after.snapshot, "bounds": [float("nan"), 1]}),
        SnapshotError,
        "finite numbers",
    ),
}


@pytest.mark.parametrize(("change", "kind", "words"), WRONG.values(), ids=list(WRONG))
def test_the_ledger_only_grows_and_what_is_refused_leaves_nothing_behind(
    kept: Kept, change: Change, kind: type[ColmeError], words: str
) -> None:
    with closing(kept.open()) as store:
        sample, last, more, after = islice(kept.commits(store), 4)
        commit(store, sample, last, more)
        before = content(store)
        with pytest.raises(kind, match=words):
            commit(store, replace(change(last, after), marks={"file": 99}))
        assert content(store) == before
        asyncio.run(store.reload())
        assert content(store) == before
        commit(store, after)
    overview = Overview.of(kept.folder, entries=10_000)
    entries = overview.last_entries[::-1]
    noised = [sample for one in entries for sample in range(one.first, one.last + 1)]
    promised = [
        sample for one in overview.past for sample in range(one.first, one.first + one.released)
    ]
    base = overview.past[-1].last if overview.past else 0
    promised += range(base + 1, base + overview.ledger.samples + 1)
    assert noised == promised


def holding(folder: Path, program: str) -> "subprocess.Popen[str]":
    """Another process, which has the name of the folder as its argument."""
    return subprocess.Popen(
        [sys.executable, "-c", f"import sys\nfrom pathlib import Path\n{program}", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_one_process_at_a_time(kept: Kept) -> None:
    """However that one ends, the next one can have it."""
    kept.folder.mkdir(exist_ok=True)
    lock = "from colme.node.state.database import Lock\nlock = Lock.take(Path(sys.argv[1]))\n"
    with holding(kept.folder, f"{lock}print('held', flush=True)\nsys.stdin.read()") as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=r"in use by another process.*stopped first"):
            kept.open()
        holder.kill()
    with closing(kept.open()):
        # A refused attempt in this process does not loosen its lock for others.
        with pytest.raises(StoreError, match="in use"):
            kept.open()
        told = "from colme.errors import StoreError\n"
        attempt = f"{lock.splitlines()[0]}\ntry: Lock.take(Path(sys.argv[1]))\n"
        other = holding(kept.folder, f"{told}{attempt}except StoreError as e: print(e)")
        assert "in use" in other.communicate()[0]
    kept.open().close()


def test_an_older_state_is_refused(kept: Kept) -> None:
    """A disk that was put back while the node ran: to go on from it would noise samples twice."""
    path, older = kept.folder / FILE, kept.folder / "older"
    with closing(kept.open()) as store:
        commits = kept.commits(store)
        commit(store, *islice(commits, 2))
        in_its_thread(store, "PRAGMA wal_checkpoint(TRUNCATE)")
        copyfile(path, older)
        commit(store, *islice(commits, 2))
        newest = content(store)
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            (kept.folder / name).unlink()
        older.rename(path)
        for _ in range(2):
            with pytest.raises(StaleStateError, match="would noise samples twice"):
                asyncio.run(store.reload())
            assert content(store) == newest
