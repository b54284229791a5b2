"""Another promise for a state: what was noised stays noised once, and is known to have been.

The remedy that errors name where bounds, epsilon or algorithm are not those of the state.
"""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from colme.cli.app import run
from colme.errors import ConfigError, StoreError
from colme.node.config import NodeConfig
from colme.node.fleet import CONFIG, Member
from colme.node.node import Node
from colme.node.state import Commit, Overview, Store, backup, change, restore
from colme.node.state.database import FILE
from colme.privacy.ledger import Past
from colme.protocol.agent import Agent
from colme.protocol.events import Begin
from colme.protocol.rounds.paper import Paper
from colme.protocol.settings import Settings
from colme.relay import Relay
from colme.rules.release import Blocks, Profile
from support.boarded import changed, of, orders, origin_in
from support.neighbours import Neighbours
from support.old_states import FILES, put_into, settings_of
from support.processes import acquainted, rewritten
from support.refusing import refused
from support.stored import SETTINGS, commit, content, life
from support.waiting import until

WIDER = replace(SETTINGS, profile=Profile.bounded(-1, 2, epsilon=1))
BLOCKS = replace(SETTINGS, algorithm=Paper(schedule=Blocks(1.0)))
"""Which releases in blocks: some samples wait."""


def begun(folder: Path, settings: Settings, commits: int) -> Overview:
    """A state with so many commits of an agent that tells b of its rounds."""
    with closing(Store.open(folder, settings)) as store:
        commit(store, *islice(life(Agent(settings), begun=False), commits))
    return Overview.of(folder)


def test_what_was_released_keeps_its_promise_and_the_rest_is_dropped_by_word(
    tmp_path: Path,
) -> None:
    folder, stricter = (
        tmp_path / "state",
        replace(BLOCKS, profile=replace(BLOCKS.profile, epsilon=0.5)),
    )
    before = begun(folder, BLOCKS, 4)
    assert before.ledger.waiting > 0
    bytes_before = (folder / FILE).read_bytes()
    with pytest.raises(ConfigError, match=r"samples that wait.*expected none, or --drop-waiting"):
        change(folder, stricter, drop_waiting=False)
    assert (folder / FILE).read_bytes() == bytes_before
    assert not list(folder.glob("replaced*"))

    done = change(folder, stricter, drop_waiting=True)
    assert (done.released, done.dropped) == (before.ledger.samples, before.ledger.waiting)
    now = Overview.of(folder, entries=100)
    (past,) = now.past
    assert past == Past(
        first=1,
        last=before.taken,
        released=before.ledger.samples,
        blocks=before.ledger.blocks,
        bounds=(0, 1),
        epsilon=1,
        ended=past.ended,
    )
    assert (now.taken, now.ledger.epsilon, now.ledger.samples, now.floor) == (0, 0.5, 0, 2)
    assert (now.marks, now.standings) == (before.marks, before.standings)
    assert {one.epsilon for one in now.last_entries} == {1}

    with closing(Store.open(folder, stricter)) as store:
        assert store.taken == before.taken, "it is no empty state, whose loss could be believed"
        assert store.told == {"b": 2}
        commit(store, *islice(life(Agent(stricter), begun=False), 2))
    now = Overview.of(folder, entries=100)
    newest, *others = now.last_entries
    assert (newest.first, newest.epsilon) == (before.taken + 1, 0.5)
    assert max(one.last for one in others) == before.ledger.samples
    assert now.ledger.samples == newest.last - before.taken


def test_what_was_there_is_kept_as_a_backup(tmp_path: Path) -> None:
    """Marked as one: the neighbours decide whether it may be gone on from."""
    folder = tmp_path / "state"
    begun(folder, SETTINGS, 4)
    with closing(Store.open(folder, SETTINGS)) as store:
        before = content(store)
    kept = change(folder, WIDER, drop_waiting=False).kept
    change(folder, SETTINGS, drop_waiting=False)
    assert sorted(path.name for path in folder.glob("replaced*")) == [
        "replaced-1.sqlite",
        "replaced-2.sqlite",
    ]
    restore(kept, folder)
    with closing(Store.open(folder, SETTINGS)) as store:
        assert content(store) == before
        assert store.from_backup


def test_a_restored_backup_stays_one_whatever_its_promise(tmp_path: Path) -> None:
    """It may be an old one: a change does not make it the newest."""
    begun(tmp_path / "a", SETTINGS, 4)
    backup(tmp_path / "a", tmp_path / "copy")
    restore(tmp_path / "copy", tmp_path / "a")
    change(tmp_path / "a", WIDER, drop_waiting=False)
    assert Overview.of(tmp_path / "a").from_backup


def test_what_can_not_be_changed(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    begun(folder, SETTINGS, 2)
    before = (folder / FILE).read_bytes()
    with refused(ConfigError, "name", seen="you"):
        change(folder, replace(WIDER, name="you"), drop_waiting=True)
    with refused(ConfigError, "configuration"):
        change(folder, SETTINGS, drop_waiting=True)
    with closing(Store.open(folder, SETTINGS)), pytest.raises(StoreError, match="in use"):
        change(folder, WIDER, drop_waiting=True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="missing"):
        change(tmp_path / "empty", WIDER, drop_waiting=True)
    assert not list((tmp_path / "empty").iterdir())
    assert (folder / FILE).read_bytes()[:100] == before[:100]
    assert Overview.of(folder).past == ()


def test_a_promise_that_held_for_no_sample_is_not_kept(tmp_path: Path) -> None:
    """Neither before the first sample nor between two changes."""
    Store.open(tmp_path, SETTINGS).close()
    change(tmp_path, WIDER, drop_waiting=False)
    assert Overview.of(tmp_path).past == ()
    begun(tmp_path, WIDER, 2)
    no_privacy = replace(SETTINGS, profile=Profile.bounded(0, 1, epsilon=float("inf")))
    change(tmp_path, no_privacy, drop_waiting=True)
    change(tmp_path, SETTINGS, drop_waiting=True)
    assert [one.epsilon for one in Overview.of(tmp_path).past] == [1]
    begun(tmp_path, SETTINGS, 2)
    change(tmp_path, no_privacy, drop_waiting=True)
    begun(tmp_path, no_privacy, 2)
    change(tmp_path, SETTINGS, drop_waiting=True)
    first, second, third = Overview.of(tmp_path).past
    assert (second.first, third.first) == (first.last + 1, second.last + 1)
    assert [one.epsilon for one in (first, second, third)] == [1, 1, float("inf")]


@pytest.mark.parametrize("old", FILES, ids=lambda path: path.stem)
def test_a_state_of_an_earlier_version_can_be_changed(tmp_path: Path, old: Path) -> None:
    folder, settings = put_into(tmp_path / "state", old), settings_of(old)
    before = Overview.of(folder)
    wider = replace(settings, profile=Profile.bounded(0, 2, epsilon=4))
    change(folder, wider, drop_waiting=True)
    now = Overview.of(folder)
    assert [one.released for one in now.past] == [before.ledger.samples]
    assert (now.marks, now.standings, now.floor) == (before.marks, before.standings, before.round)
    with closing(Store.open(folder, wider)) as store:
        assert store.snapshot is None


def test_the_variance_and_the_algorithm_change_the_same_way(tmp_path: Path) -> None:
    begun(tmp_path, SETTINGS, 2)
    learned = replace(SETTINGS, algorithm=Relay())
    with refused(ConfigError, "agreed.algorithm"):
        Store.open(tmp_path, learned)
    done = change(tmp_path, learned, drop_waiting=True)
    assert [one.setting for one in done.differences] == ["agreed.algorithm", "privacy.sigma2"]
    Store.open(tmp_path, learned).close()


def fed_by(two: Neighbours, path: Path, **privacy: float) -> NodeConfig:
    source = {"kind": "file", "path": path, "poll": 0.01}
    return two.config("a", "b", privacy=privacy, source=source)


async def test_a_node_goes_on_among_its_neighbours_and_reads_no_line_twice(tmp_path: Path) -> None:
    """Same file, same neighbour, another epsilon: what a new folder would have noised again.

    Blocks count from 1 again: in the same incarnation the node's own records would stop it.
    """
    two, path = Neighbours(tmp_path, "a", "b"), tmp_path / "samples"
    path.touch()
    before, after = fed_by(two, path, epsilon=4), fed_by(two, path, epsilon=2)
    origin = origin_in(two, "a")

    async with Node(two.config("b", "a")) as b:
        async with Node(before) as a:
            path.write_text("0.5\n" * 442)
            await until(lambda: a.status().samples.taken == 442)
            await until(lambda: a.status().samples.released > 400)
            await until(lambda: of(b, origin) is not None)
        stored = Overview.of(before.state)
        with refused(ConfigError, "privacy.epsilon"):
            await Node(after).__aenter__()
        assert not changed(after, drop_waiting=True).goes_on
        with path.open("a") as file:
            file.write("0.25\n" * 100)
        async with Node(after) as a:
            await until(lambda: a.status().samples.released > 0)
            await until(lambda: a.status().samples.taken == 100)
            assert (await a.estimate()).alone == 0.25, "not a line of before"
            await until(lambda: of(b, origin).epsilon == 2)  # type: ignore[union-attr]
            assert orders(b)[origin][0] == 1
            words = a.status().privacy
            assert not b._parts.failure.done()
    assert "epsilon = 2 for each sample" in words
    assert "before that, samples 1 to 442 under epsilon = 4" in words
    now = Overview.of(after.state, entries=1000)
    noised = [n for one in now.last_entries for n in range(one.first, one.last + 1)]
    assert len(noised) == len(set(noised)) == stored.ledger.samples + now.ledger.samples
    with refused(ConfigError, "--state-lost"):
        await Node(after, state_lost=True).__aenter__()


@pytest.mark.parametrize("exposed", ["folder", "file", "link"])
def test_a_state_that_others_could_change_is_not_changed(tmp_path: Path, exposed: str) -> None:
    """As a node would not start with it."""
    folder = tmp_path / "state"
    begun(folder, SETTINGS, 2)
    if exposed == "folder":
        folder.chmod(0o777)
    elif exposed == "file":
        (folder / FILE).chmod(0o644)
    else:
        (folder / FILE).rename(tmp_path / FILE)
        (folder / FILE).symlink_to(tmp_path / FILE)
    before = sorted(folder.iterdir())
    with pytest.raises(StoreError, match=r"chmod|symbolic link"):
        change(folder, WIDER, drop_waiting=True)
    assert sorted(folder.iterdir()) == before
    with closing(sqlite3.connect(folder / FILE)) as connection:
        assert connection.execute("SELECT lower, upper FROM meta").fetchone() == (0, 1)


def test_what_was_sent_under_the_promise_of_before_is_not_shown_as_the_last(
    tmp_path: Path,
) -> None:
    assert begun(tmp_path, SETTINGS, 4).sent is not None
    change(tmp_path, WIDER, drop_waiting=False)
    assert Overview.of(tmp_path).sent is None


def with_a_state(folder: Path) -> Member:
    """A node in rounds that has released something."""
    (member,) = acquainted(folder, 1, algorithm="paper")
    begun(member.config.state, member.config.settings(member.name), 3)
    return member


def test_an_epsilon_that_no_noise_can_be_drawn_for_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    member = with_a_state(tmp_path)
    before = (member.config.state / FILE).read_bytes()
    member = rewritten(member, {"privacy": "epsilon = 1e-12\nsigma2 = 0.01"})
    config = str(member.folder / CONFIG)
    assert run(["state", "change", "--config", config, "--drop-waiting"]) == 2
    assert "larger noise can't be drawn exactly" in capsys.readouterr().err
    assert (member.config.state / FILE).read_bytes() == before
    assert not list(member.config.state.glob("replaced*"))


def test_who_gives_privacy_up_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    member = with_a_state(tmp_path)
    member = rewritten(member, {"privacy": "epsilon = inf\nsigma2 = 0.01"})
    config = str(member.folder / CONFIG)
    assert run(["state", "change", "--config", config, "--drop-waiting"]) == 0
    assert "no privacy" in capsys.readouterr().out


def test_a_change_before_the_first_sample_is_not_shown_as_a_loss(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = Agent(SETTINGS)
    agent.step(Begin(1, ()))
    with closing(Store.open(tmp_path, SETTINGS)) as store:
        commit(store, Commit(snapshot=agent.snapshot()))
    change(tmp_path, WIDER, drop_waiting=False)
    assert Overview.of(tmp_path).floor > 0
    assert run(["state", "show", str(tmp_path)]) == 0
    assert "or the promise was changed" in " ".join(capsys.readouterr().out.split())


def test_the_command_line_says_what_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    member = with_a_state(tmp_path)
    member = rewritten(member, {"privacy": "epsilon = 0.25\nsigma2 = 0.01"})
    config, folder = str(member.folder / CONFIG), str(member.config.state)
    assert run(["state", "change", "--config", config]) == 2
    assert "--drop-waiting" in capsys.readouterr().err
    assert run(["state", "change", "--config", config, "--drop-waiting"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "privacy.epsilon: 0.25, before 4.0" in told
    assert f"What was there is {member.config.state / 'replaced-1.sqlite'}" in told
    assert run(["state", "show", folder]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "epsilon = 0.25 for each sample" in shown
    assert "before that, samples 1 to 120 under epsilon = 4" in shown
    assert "each noised once, under its own epsilon" in shown
    assert run(["state", "show", folder, "--json"]) == 0
    (past,) = json.loads(capsys.readouterr().out)["past"]
    assert (past["last"], past["epsilon"]) == (120, 4)


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
