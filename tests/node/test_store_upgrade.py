"""A state outlives its version and its algorithm: whole or not at all, never by a look."""

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest

from colme.cli.app import run
from colme.errors import ConfigError, SnapshotError, StaleStateError, StoreError
from colme.node.config import NodeConfig
from colme.node.node import Node
from colme.node.owner.answer import why_alone
from colme.node.state import Commit, Overview, RequestId, Store, backup, restore, upgrades
from colme.node.state.database import FILE, SCHEMA
from colme.node.wire.codec import Standing
from colme.protocol.agent import Agent
from colme.protocol.board.identity import InProcess
from colme.protocol.events import Part
from colme.protocol.upgrades import upgraded
from colme.relay import Relay
from colme.rules.release import Profile
from support.boarded import changed, of, origin_in
from support.driven import driven
from support.neighbours import Neighbours
from support.old_states import FILES, PAPER, RELAY, paper_of, put_into, settings_of, story_of
from support.refusing import refused
from support.stored import commit, content, opened, rounds
from support.waiting import PATIENCE, until


def each(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("old", paths, ids=lambda path: f"{path.parent.name} {path.stem}")


ONE = next(path for path in PAPER if path.parent.name == "v0.1.0")


def query(path: Path, statement: str) -> list[Any]:
    """As it is in a file, which stays as it is."""
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        return connection.execute(statement).fetchall()


def schema(path: Path) -> int:
    return int(query(path, "PRAGMA user_version")[0][0])


def noised(folder: Path) -> list[tuple[int, int]]:
    """The samples of each entry of the ledger, in order."""
    entries = Overview.of(folder, entries=10_000).last_entries[::-1]
    return [(entry.first, entry.last) for entry in entries]


def require_each_once(folder: Path) -> None:
    """As one who adds up the ledger would."""
    samples = [sample for first, last in noised(folder) for sample in range(first, last + 1)]
    assert samples == list(range(1, Overview.of(folder).ledger.samples + 1))


def test_there_is_a_state_of_every_schema_that_has_an_upgrade() -> None:
    """Of 2 there is none: no version had it, and 1 goes through it."""
    assert {schema(path) for path in [*FILES, RELAY]} == {*upgrades.UPGRADES} - {2}
    assert max(upgrades.UPGRADES) + 1 == SCHEMA


def test_a_state_between_two_versions_is_brought_up_too(tmp_path: Path) -> None:
    folder, other = put_into(tmp_path / "two", ONE), put_into(tmp_path / "one", ONE)
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        upgrades.UPGRADES[1](connection)
        connection.execute("PRAGMA user_version = 2")
    opened_states = []
    for one in (folder, other):
        with closing(Store.open(one, paper_of(ONE))) as store:
            opened_states.append(content(store))
    assert opened_states[0] == opened_states[1]


def test_nothing_of_an_old_state_is_lost(tmp_path: Path) -> None:
    old = ONE
    folder = put_into(tmp_path / "state", old)
    ((epoch, released, told, standings, marks),) = query(
        old, "SELECT epoch, released, told, standings, marks FROM state, boot"
    )
    listed = query(old, "SELECT first, last FROM ledger ORDER BY last")
    for starts in (1, 2):
        with closing(Store.open(folder, paper_of(old))) as store:
            assert store.epoch == epoch + starts
            assert store.snapshot == upgraded(story_of(old)["snapshot"])
            assert store.released == released
            assert store.told == json.loads(told)
            assert store.standings == {
                name: Standing(epoch=epoch, round=number)
                for name, (epoch, number) in json.loads(standings).items()
            }
            assert store.marks == json.loads(marks)
            assert (store.covered, store.releases) == (listed[-1][1], len(listed))
        assert noised(folder) == listed
        assert schema(folder / FILE) == SCHEMA


@each(PAPER)
async def test_a_driver_goes_on_after_its_round_and_noises_no_sample_twice(
    tmp_path: Path, old: Path
) -> None:
    before = Overview.of(put_into(tmp_path / "state", old))

    settings = paper_of(old)
    async with driven(tmp_path / "state", settings=settings, last_round=60) as one:
        assert one.driver.agent.round == before.round == 45
        one.driver.start(heard=0)
        await until(lambda: one.driver.ended)
        assert min(post.round for post in one.posts) == 46
    assert one.driver.agent.counts.taken == before.taken + 15
    listed = [(entry.first, entry.last) for entry in before.last_entries[::-1]]
    after = noised(tmp_path / "state")
    new = after[after.index(listed[-1]) + 1 :]
    assert new[0][0] == before.ledger.samples + 1
    require_each_once(tmp_path / "state")


@each(FILES)
def test_a_look_leaves_the_file_as_it_is(
    tmp_path: Path, old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = put_into(tmp_path / "state", old)
    assert run(["state", "show", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert f"a: epoch {1 if schema(old) == 1 else 2}, round 45" in shown
    assert f"algorithm: {'tracking' if old.stem.startswith('tracking') else ''}" in shown
    assert "source file:/data/a.csv: read up to 900" in shown
    assert "last sent: a noised mean of " in shown
    assert f"released: {query(old, 'SELECT max(last) FROM ledger')[0][0]}" in shown
    assert (folder / FILE).read_bytes() == old.read_bytes()


@each(PAPER)
def test_a_backup_of_it_is_one_that_its_own_version_can_restore(tmp_path: Path, old: Path) -> None:
    """Whoever backs up before an update can go back."""
    folder, copy = put_into(tmp_path / "state", old), tmp_path / "copy"
    backup(folder, copy)
    assert (folder / FILE).read_bytes() == old.read_bytes()
    assert schema(copy) == schema(old)
    restore(copy, tmp_path / "elsewhere")
    assert Overview.of(tmp_path / "elsewhere").from_backup
    with closing(Store.open(tmp_path / "elsewhere", paper_of(old))) as store:
        assert store.from_backup
        assert store.snapshot == upgraded(story_of(old)["snapshot"])


def fail(*_: object) -> None:
    raise sqlite3.OperationalError("killed here")


def after_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = upgrades.UPGRADES[1]

    def step(connection: sqlite3.Connection) -> None:
        whole(connection)
        fail()

    monkeypatch.setattr(upgrades, "UPGRADES", {1: step})


MIDWAY: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "before the tables": lambda patch: patch.setattr(upgrades, "UPGRADES", {1: fail}),
    "after the tables": after_the_tables,
    "before the snapshot": lambda patch: patch.setattr(upgrades, "upgraded", fail),
    "before it is read": lambda patch: patch.setattr("colme.node.state.store.read", fail),
}


@pytest.mark.parametrize("killed", MIDWAY.values(), ids=list(MIDWAY))
def test_an_upgrade_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: Callable[[pytest.MonkeyPatch], None]
) -> None:
    folder = put_into(tmp_path / "state", ONE)
    with monkeypatch.context() as patch:
        killed(patch)
        with pytest.raises(StoreError, match="killed here"):
            Store.open(folder, paper_of(ONE))
    assert (folder / FILE).read_bytes() == ONE.read_bytes()
    assert schema(folder / FILE) == 1
    Store.open(folder, paper_of(ONE)).close()
    assert schema(folder / FILE) == SCHEMA


def test_an_old_state_that_is_damaged_is_told_so_without_its_content(tmp_path: Path) -> None:
    folder = put_into(tmp_path / "state", ONE)
    secret = "31415926"
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as connection:
        text = json.dumps({"version": 3, "state": {"total": int(secret)}})
        connection.execute("UPDATE state SET snapshot = ?", (text,))
    before = (folder / FILE).read_bytes()
    for look in (lambda: Store.open(folder, paper_of(ONE)), lambda: Overview.of(folder)):
        with pytest.raises(StoreError, match=r"damaged \(no upgrade") as caught:
            look()
        assert secret not in str(caught.value)
    assert (folder / FILE).read_bytes() == before


def as_of_the_future(folder: Path, what: str) -> None:
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as connection:
        if what == "schema":
            connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
        else:
            connection.execute(
                "UPDATE part SET content = json_set(content, '$.version', 99) WHERE name = 'head'"
            )


@pytest.mark.parametrize("what", ["schema", "version"])
def test_a_state_of_a_later_version_is_refused_and_kept(tmp_path: Path, what: str) -> None:
    """In words that are safe: a new state, fed the same samples, would noise them a second time."""
    folder = tmp_path / "state"
    with closing(opened(folder)) as store:
        commit(store, next(rounds()))
    backup(folder, tmp_path / "older")
    as_of_the_future(folder, what)
    before = (folder / FILE).read_bytes()
    looks: list[Callable[[], object]] = [lambda: opened(folder), lambda: Overview.of(folder)]
    if what == "schema":
        looks += [
            lambda: backup(folder, tmp_path / "copy"),
            lambda: restore(tmp_path / "older", folder),
        ]
    for look in looks:
        with pytest.raises(StoreError, match="a newer colme wrote it; go on with that") as caught:
            look()
        assert "folder" not in str(caught.value)
    assert (folder / FILE).read_bytes() == before


def test_an_old_state_is_of_the_algorithm_that_opens_it_from_then_on(tmp_path: Path) -> None:
    """0.1.0 did not say which; from the next commit on it is known."""
    folder, mine = put_into(tmp_path / "state", ONE), paper_of(ONE)
    assert Overview.of(folder).algorithm is None
    with closing(Store.open(folder, mine)) as store:
        assert store.snapshot is not None
        agent = Agent.restore(mine, store.snapshot)
        commit(store, Commit(snapshot=agent.snapshot({Part.STREAM})))
    assert Overview.of(folder).algorithm == "paper"


@each(FILES)
def test_a_state_of_rounds_is_not_opened_by_relay_before_it_is_changed(
    tmp_path: Path, old: Path
) -> None:
    folder = put_into(tmp_path / "state", old)
    with refused(ConfigError, "agreed.algorithm") as caught:
        Store.open(folder, settings_of(old))
    assert (caught.value.field, caught.value.seen) == ("agreed.algorithm", "relay")
    assert (folder / FILE).read_bytes() == old.read_bytes()


@each([path for path in FILES if path.stem == "paper-squares"])
def test_a_variance_that_is_not_as_it_was_is_refused_before_anything_is_written(
    tmp_path: Path, old: Path
) -> None:
    """Earlier versions let `paper` release squares: relay goes on from there."""
    folder = put_into(tmp_path / "state", old)
    with refused(ConfigError, "privacy.sigma2"):
        Store.open(folder, paper_of(old))
    assert (folder / FILE).read_bytes() == old.read_bytes()


def test_parts_of_two_versions_never_meet_in_a_state(tmp_path: Path) -> None:
    first, second = next(rounds()), replace(next(rounds()), entry=None)
    alone = {name: value for name, value in second.snapshot.items() if name != "exchange"}
    with closing(opened(tmp_path)) as store:
        with refused(SnapshotError, "snapshot"):
            commit(store, replace(second, snapshot=alone))
        commit(store, first)
        commit(store, replace(second, snapshot=alone))
        with refused(SnapshotError, "snapshot"):
            commit(store, replace(second, snapshot=alone | {"version": 6}))


async def test_a_state_in_rounds_goes_on_in_relay(tmp_path: Path) -> None:
    """No sample is noised a second time, and none that waits is lost."""
    privacy: dict[str, Any] = {"epsilon": 4, "sigma2": 0.01}

    one = Neighbours(tmp_path, "a", "b")
    a = origin_in(one, "a")
    source = {"kind": "http"}
    rounds = one.in_rounds(
        "a",
        agreed={"rounds": "free", "algorithm": "paper"},
        pace={"deadline": 0.05},
        privacy=privacy,
    ).model_copy(update={"source": one.config("a").source})
    async with Node(rounds) as node:
        await node.take([0.25] * 100)
        await until(lambda: node.status().samples.released > 0)
        answer = await node.estimate()
        assert (answer.alone, answer.records, answer.why) == (0.25, 0, why_alone(0, 0))
    before = Overview.of(rounds.state)
    config = one.config("a", "b", privacy=privacy, source=source)
    with refused(ConfigError, "agreed.algorithm"):
        async with Node(config):
            pass
    assert changed(config).goes_on
    now = Overview.of(config.state)
    assert (now.algorithm, now.taken, now.ledger) == ("relay", before.taken, before.ledger)
    assert now.last_entries == before.last_entries
    async with Node(one.config("b", "a", privacy=privacy)) as b, Node(config) as node:
        assert (await node.estimate()).alone == 0.25
        await until(lambda: of(b, a) is not None)
        await node.take([0.25] * 400)
        await until(lambda: of(b, a).count > 100)  # type: ignore[union-attr]
        record = of(b, a)
        assert record is not None
        assert record.past_count >= before.ledger.samples
        assert record.past_draws >= before.ledger.blocks


each_old = pytest.mark.parametrize("old", FILES, ids=lambda path: f"{path.parent.name} {path.stem}")


def naming_nothing(four: Neighbours, old: Path) -> NodeConfig:
    """The node of a state of 0.1.0, as one who has never named an algorithm configures it."""
    profile = settings_of(old).profile
    sigma2 = None if settings_of(old).algorithm.release_squares else profile.sigma2
    privacy = {"epsilon": 4, "sigma2": sigma2}
    return four.config("a", *"bcd", agreed={"bounds": [0, 1]}, privacy=privacy)


def naming(config: NodeConfig, algorithm: str, *, last: int | None = 50) -> NodeConfig:
    """The same node in free rounds, up to one of them."""
    agreed = config.agreed.model_copy(update={"algorithm": algorithm, "rounds": "free"})
    pace = config.pace.model_copy(update={"deadline": 0.05, "last_round": last})
    return config.model_copy(update={"agreed": agreed, "pace": pace})


@each_old
def test_a_stored_state_of_rounds_goes_on_in_relay_by_its_operators_word_alone(
    tmp_path: Path, old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of `paper` and of `tracking`, which was retired, of every version: with its ledger whole."""
    config = naming_nothing(Neighbours(tmp_path, *"abcd"), old)
    put_into(config.state, old)
    before = Overview.of(config.state, entries=1_000)

    async def start() -> None:
        async with Node(config) as node:
            assert node.status().algorithm == "relay"

    with refused(ConfigError, "agreed.algorithm") as caught:
        asyncio.run(start())
    assert (caught.value.field, caught.value.seen) == ("agreed.algorithm", "relay")
    assert (config.state / FILE).read_bytes() == old.read_bytes()
    assert changed(config).goes_on
    asyncio.run(start())
    now = Overview.of(config.state, entries=1_000)
    assert (now.algorithm, now.taken, now.ledger) == ("relay", before.taken, before.ledger)
    assert now.last_entries == before.last_entries
    assert run(["state", "show", str(config.state)]) == 0
    shown = capsys.readouterr().out
    assert "algorithm: relay\nran in rounds, up to round 45\n" in shown
    assert "lost" not in shown


async def test_an_old_state_of_the_rounds_is_known_for_one_in_relay_too(tmp_path: Path) -> None:
    """No record tells of what was released in rounds: how far it had come is remembered all the
    same, through the change of either side.
    """
    two = Neighbours(tmp_path, "a", "b")
    in_relay = [two.config(name, other) for name, other in (("a", "b"), ("b", "a"))]
    in_rounds = [naming(config, "paper", last=None) for config in in_relay]
    state, old = in_rounds[0].state, tmp_path / "old"
    async with Node(in_rounds[1]) as b:
        async with Node(in_rounds[0]) as a:
            await releasing(a, 50, b)
        copytree(state, old)
        before = Overview.of(old)
        async with Node(in_rounds[0]) as a:
            await releasing(a, 300, b)
            # While it is there to tell: what nobody has heard nobody can miss.
            await until(lambda: b.status().neighbours[0].round > before.round)
        newest = Overview.of(state)
    rmtree(state)
    copytree(old, state)
    assert before.ledger.samples < newest.ledger.samples
    assert all(changed(config).goes_on for config in in_relay)
    async with Node(in_relay[1]), Node(in_relay[0]) as a:
        with refused(StaleStateError, "state"):
            async with asyncio.timeout(PATIENCE):
                await a.failed()
    assert Overview.of(state).ledger == before.ledger


async def releasing(node: Node, samples: int, other: Node) -> None:
    """Once both are connected it takes so many samples, and releases some of them."""
    await until(lambda: all_connected(node) and all_connected(other))
    released = node.status().samples.released
    await node.take([0.25] * samples)
    await until(lambda: node.status().samples.released > released + 10)


def all_connected(node: Node) -> bool:
    return all(one.connected for one in node.status().neighbours)


def test_a_state_of_relay_of_the_version_before_goes_on(tmp_path: Path) -> None:
    folder = put_into(tmp_path / "state", RELAY)
    settings = replace(settings_of(RELAY), algorithm=Relay(), identity=InProcess("a"))
    settings = replace(settings, profile=Profile.bounded(0, 1, epsilon=4))
    before = dict(query(RELAY, "SELECT origin, content FROM entry"))
    for requests in ({}, {"one": b"digest"}):
        with closing(Store.open(folder, settings)) as store:
            assert store.requests == requests
            assert {origin: one.content for origin, one in store.entries.items()} == before
            assert (store.taken, store.covered, store.releases) == (20, 20, 1)
            assert store.marks["file:/data/a.csv"] == 900
            if not requests:
                assert store.snapshot is not None
                request = RequestId("one", b"digest")
                commit(store, Commit(snapshot=store.snapshot, requests=[request]))
    assert schema(folder / FILE) == SCHEMA
