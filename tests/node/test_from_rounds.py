"""A state that ran in rounds goes on in relay by its owner's word, and never without it."""

import asyncio
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest

from colme.cli.app import run
from colme.errors import ConfigError, StaleStateError
from colme.node.config import NodeConfig
from colme.node.node import Node
from colme.node.state import Overview
from colme.node.state.database import FILE
from support.boarded import changed, of, origin_in
from support.neighbours import Neighbours
from support.old_states import FILES, put_into, settings_of
from support.refusing import refused
from support.waiting import PATIENCE, until


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
