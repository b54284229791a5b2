"""A state's promises and its ledger tell of the same epsilons, or it is no state to go on from."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from colme.errors import StoreError
from colme.node.state import Overview, Store, change
from colme.node.state.database import FILE
from colme.protocol.agent import Agent
from colme.rules.release import Profile
from support.stored import SETTINGS, commit, life

STRICTER = replace(SETTINGS, profile=Profile.bounded(0, 1, epsilon=0.5))


def test_a_log_that_was_played_into_another_state_is_noticed(tmp_path: Path) -> None:
    """By its epsilon: what was kept was copied by hand over the state of a node that was killed."""
    folder = tmp_path / "state"
    Store.open(folder, SETTINGS).close()
    kept = change(folder, STRICTER, drop_waiting=False).kept
    with closing(Store.open(folder, STRICTER)) as store:
        commit(store, *islice(life(Agent(STRICTER), begun=False), 4))
        log = (folder / f"{FILE}-wal").read_bytes()
    (folder / FILE).write_bytes(kept.read_bytes())
    (folder / f"{FILE}-wal").touch(0o600)
    (folder / f"{FILE}-wal").write_bytes(log)
    for settings in (SETTINGS, STRICTER):
        with pytest.raises(StoreError, match=r"epsilon = 1, but the ledger lists 0\.5"):
            Store.open(folder, settings)


def test_each_promise_that_has_ended_is_held_to_its_epsilon_too(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with closing(Store.open(folder, SETTINGS)) as store:
        commit(store, *islice(life(Agent(SETTINGS), begun=False), 4))
    change(folder, STRICTER, drop_waiting=False)
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as connection:
        connection.execute("UPDATE ledger SET epsilon = 2")
    with pytest.raises(StoreError, match="epsilon = 1, but the ledger lists 2"):
        Overview.of(folder)
