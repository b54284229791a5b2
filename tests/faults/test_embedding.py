"""A node inside another program: `async with colme.Node(config) as node`."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

import colme
from colme.errors import ConfigError, LocalProtocolError, NetworkError, StoreError
from colme.node.fleet import CONFIG, Member
from colme.node.state import Overview
from support.processes import HTTP, acquainted
from support.refusing import refused
from support.waiting import until

AGREED = "bounds = [0, 1]"


def neighbours(folder: Path) -> list[Member]:
    """Two nodes whose samples are fed by the program."""
    return acquainted(folder, 2, HTTP | {"agreed": AGREED})


def as_fields(member: Member) -> dict[str, Any]:
    """The configuration as plain data, with no owner's side."""
    fields = tomllib.loads((member.folder / CONFIG).read_text())
    for name in ("identity", "state"):
        fields[name] = str(member.folder / fields[name])
    for one in fields["neighbours"]:
        one["certificate"] = str(member.folder / one["certificate"])
    return fields | {"owner": False}


async def test_two_nodes_in_one_process_learn_from_each_other(tmp_path: Path) -> None:
    """One is made from a dict, the other from its file."""
    here, there = neighbours(tmp_path)

    fields = as_fields(here)
    async with colme.Node(fields) as a, colme.Node(there.folder / CONFIG) as b:
        assert (a.name, b.name) == (here.name, there.name)
        with refused(LocalProtocolError, "estimate"):
            await a.estimate()
        for n in range(200):
            a.observe(0.4 + n % 2 / 10)
            b.observe(0.4 + n % 2 / 10)
        await a.observe(0.45)
        assert Overview.of(here.config.state).taken == 201, "stored, once awaited"
        await until(lambda: a.status().records == b.status().records == 2)
        await until(lambda: a.status().board == b.status().board)
        first = await a.estimate()
        assert first.alone == pytest.approx(0.45)
        assert (first.samples, (await b.estimate()).samples) == (201, 200)
        assert first.low <= first.value <= first.high
        assert a.status().neighbours[0].connected
        assert a.troubles() == b.troubles() == []
    # Left, they are gone: the same nodes can be entered again.
    async with colme.Node(str(there.folder / CONFIG)) as b:
        assert b.status().epoch == 2
        assert (await b.estimate()).samples == 200


async def test_a_program_that_fails_leaves_a_state_that_can_be_used(tmp_path: Path) -> None:
    member, _ = neighbours(tmp_path)

    async def failing() -> None:
        async with colme.Node(as_fields(member)) as node:
            node.observe(0.5)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await failing()
    assert Overview.of(member.config.state).taken == 1, "taken in, so stored"
    async with colme.Node(as_fields(member)) as node:
        assert (await node.estimate()).samples == 1


async def test_a_start_that_is_refused_leaves_nothing_behind(tmp_path: Path) -> None:
    """The state is free for the next attempt, and nobody listens."""
    member, other = neighbours(tmp_path)

    taken = as_fields(member) | {"listen": other.config.listen}
    async with colme.Node(as_fields(other)):
        with refused(NetworkError, "listen"):
            await colme.Node(taken).__aenter__()
        with pytest.raises(StoreError, match="in use by another process"):
            await colme.Node(as_fields(other)).__aenter__()
        async with colme.Node(as_fields(member)) as node:
            await until(lambda: node.status().neighbours[0].connected)
            assert node.status().epoch == 2


async def test_made_up_data_and_real_samples_do_not_mix(tmp_path: Path) -> None:
    """The noise of made-up data may be repeatable."""
    member, _ = acquainted(tmp_path, 2)

    async with colme.Node(as_fields(member)) as node:
        with refused(LocalProtocolError, "sample"):
            node.observe(0.5)


def test_a_configuration_that_is_wrong_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    member, _ = neighbours(tmp_path)
    with refused(ConfigError, "privacy.epsilon"):
        colme.Node(as_fields(member) | {"privacy": {"epsilon": 0}})
    with refused(ConfigError, "configuration"):
        colme.Node(tmp_path / "nowhere.toml")
    assert not member.config.state.exists()
