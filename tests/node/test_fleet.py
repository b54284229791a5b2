"""A fleet of real processes is the algorithm in memory, to the last bit; and its command."""

import json
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse
from inspect import signature
from math import inf
from pathlib import Path
from socket import create_server

import pytest

from colme.cli.app import run
from colme.cli.fleet import fleet
from colme.errors import NodeError
from colme.node.config import NodeConfig, SyntheticSource, split_address
from colme.node.fleet import Fleet, Member, Outcome, Plan, outcome, prepare
from colme.node.fleet_page import FleetPage
from colme.node.samples.feeds import Synthetic, make_noise
from colme.node.state import Overview
from colme.node.trust.identity import Identity
from colme.node.trust.tls import Trust, signing_settings
from colme.pages.assets import POLICY
from colme.protocol.agent import Agent
from colme.protocol.events import Begin, Received
from colme.protocol.messages import Message

PLAN = Plan(
    agents=6, degree=3, rounds=40, means=(0.5, 0.6), samples=3, epsilon=4, scripted_noise=True
)


def in_memory(members: Sequence[Member], rounds: int, *, after: int = 0) -> dict[str, Agent]:
    """The same agents, keys, data and noise, delivered as `colme.Network` does.

    `after` so many more rounds without samples all boards are at rest.
    """
    agents = {}
    for one in members:
        pins = {other.name: other.certificate for other in one.config.neighbours}
        trust = Trust(Identity.load(one.config.identity), one.config.identity, pins)
        agents[one.name] = Agent(signing_settings(one.config, trust))
    sources = {one.name: synthetic(one.config) for one in members}
    noise = {one.name: make_noise(one.config.source, agents[one.name].settings) for one in members}
    for number in range(1, rounds + after + 1):
        in_flight = deque[tuple[str, str, Message]]()
        for name, agent in agents.items():
            for sample in sources[name].samples(number) if number <= rounds else ():
                agent.observe(sample)
            begin = Begin(number, tuple(noise[name](scale) for scale in agent.draws_due))
            in_flight.extend((name, *sent) for sent in agent.step(begin).send)
        while in_flight:
            sender, receiver, message = in_flight.popleft()
            effects = agents[receiver].step(Received(sender, message))
            in_flight.extend((receiver, *sent) for sent in effects.send)
    return agents


def synthetic(config: NodeConfig) -> Synthetic:
    assert isinstance(config.source, SyntheticSource)
    return Synthetic(config.source)


def in_processes(members: Sequence[Member], rounds: int) -> Outcome:
    with Fleet(members) as fleet:
        *_, last = fleet.watch()
    return outcome(last, rounds)


@pytest.mark.slow
def test_a_fleet_ends_with_the_very_numbers_of_agents_in_memory(tmp_path: Path) -> None:
    members = prepare(replace(PLAN, algorithm="paper"), tmp_path / "fleet")
    agents = in_memory(members, PLAN.rounds)
    expected = {name: agent.estimate for name, agent in agents.items()}
    seen = in_processes(members, PLAN.rounds)
    assert {one["name"]: one["value"] for one in seen.agents} == {
        name: one.value for name, one in expected.items()
    }
    assert {one["name"]: (one["alone"], one["class_size"]) for one in seen.agents} == {
        name: (one.alone, one.class_size) for name, one in expected.items()
    }
    assert all(one["rounds"] == PLAN.rounds for one in seen.agents)
    assert seen.algorithm == "paper"
    assert any(one.collaborative for one in expected.values()), "else this compares local means"
    assert {one.class_size for one in expected.values()} == {2, 3}, "both classes are found"


@pytest.mark.slow
def test_boards_of_a_fleet_are_those_of_agents_in_memory(tmp_path: Path) -> None:
    """However ticks fell: all boards are the same at rest, and answers to 1e-6 of sigma."""
    plan = Plan(
        agents=8,
        degree=3,
        rounds=30,
        means=(0.5, 0.6),
        samples=10,
        epsilon=4,
        scripted_noise=True,
        algorithm="relay",
    )
    members = prepare(plan, tmp_path / "fleet")
    agents = in_memory(members, plan.rounds, after=plan.rounds)
    boards = {agent.boards.board.fingerprint for agent in agents.values()}
    assert len(boards) == 1
    with Fleet(members) as fleet:
        *_, last = fleet.watch()
    assert {one.status.board for one in last if one.status} == boards
    assert {one.status.records for one in last if one.status} == {plan.agents}
    seen = outcome(last, plan.rounds)
    for one, agent in zip(seen.agents, agents.values(), strict=True):
        assert abs(one["value"] - agent.estimate.value) < 1e-6 * plan.sigma
    assert any(one["value"] != one["alone"] for one in seen.agents), "else nothing is shared"


def test_the_command_starts_what_a_plan_starts() -> None:
    """Its defaults are written twice, since `--help` does not import a fleet."""
    planned = Plan()
    assert planned.samples == 10, "said in the help of --rounds"
    for name in ("agents", "degree", "rounds", "epsilon", "seed"):
        assert signature(fleet).parameters[name].default == getattr(planned, name)
    assert signature(fleet).parameters["means"].default == ",".join(map(str, planned.means))


@pytest.mark.slow
def test_the_command_prints_one_object_and_keeps_what_it_is_told_to_keep(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    size = ["--agents", "3", "--degree", "2", "--rounds", "30", "--means", "0.5"]
    command = [sys.executable, "-m", "colme", "fleet", *size, "--json", "--out", str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("\n") == 1
    printed = json.loads(ended.stdout)
    kinds = {"algorithm", "agents", "mse_local", "mse_estimate", "rounds_per_second"}
    assert printed.keys() == kinds
    assert printed["algorithm"] == "relay"
    for agent in printed["agents"]:
        assert agent.keys() == {
            "name",
            "truth",
            "value",
            "low",
            "high",
            "alone",
            "class_size",
            "records",
            "rounds",
        }
        assert agent["truth"] == 0.5
        assert agent["rounds"] >= 30, "ticks, which go on while there is news"
    squares = [(agent["value"] - agent["truth"]) ** 2 for agent in printed["agents"]]
    assert printed["mse_estimate"] == pytest.approx(sum(squares) / 3)
    assert printed["rounds_per_second"] > 0
    for agent in printed["agents"]:
        of_it = folder / agent["name"]
        assert NodeConfig.load(of_it / "node.toml").pace.last_round == 30
        assert (of_it / "identity" / "identity.pem").is_file()
        assert '"event": "started"' in (of_it / "node.log").read_text()
        stored = Overview.of(of_it / "state")
        assert (stored.name, stored.taken) == (agent["name"], 300)
        assert 0 < stored.round <= agent["rounds"], "a tick without news is not stored"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--out {full}", "--out: saw '{full}', expected a new or empty folder"),
        ("--agents 4 --degree 4", "degree: saw 4, expected "),
        ("--agents 5 --degree 3", "degree: saw 3, expected an even one"),
        ("--means 0.2,x", "--means"),
        ("--algorithm papr", "--algorithm: saw 'papr', expected 'paper', perhaps"),
        ("--epsilon 0", "epsilon"),
    ],
)
def test_what_can_never_be_is_one_line_and_code_2(
    options: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "something").touch()
    full = str(tmp_path)
    assert run(["fleet", *(part.format(full=full) for part in options.split())]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("colme: ")
    assert printed.err.count("\n") == 1
    assert words.format(full=full) in printed.err
    assert [path.name for path in tmp_path.iterdir()] == ["something"]


def test_a_node_that_dies_ends_the_fleet_with_its_last_words(tmp_path: Path) -> None:
    members = prepare(Plan(agents=2, degree=1, means=(0.5,)), tmp_path / "fleet")
    unlucky = members[1]
    with (
        create_server(split_address(unlucky.config.listen)),
        pytest.raises(NodeError, match="a free port of this machine") as raised,
        Fleet(members) as fleet,
    ):
        for _ in fleet.watch():
            pass
    assert raised.value.field == unlucky.name
    assert "exit code 2" in str(raised.value)
    assert all(fleet.process(member).poll() is not None for member in members)


def asked(page: FleetPage, path: str, **headers: str) -> tuple[HTTPResponse, bytes]:
    host = page.address.removeprefix("http://").rstrip("/")
    connection = HTTPConnection(host, timeout=30)
    try:
        connection.request("GET", path, headers={"Host": host, **headers})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def test_nodes_that_do_not_answer_are_silent_and_other_hosts_get_nothing(tmp_path: Path) -> None:
    plan = Plan(agents=3, degree=2, means=(0.5,), epsilon=inf)
    members = prepare(plan, tmp_path / "fleet")
    with FleetPage(plan, members) as page:
        response, body = asked(page, "/fleet")
        told = json.loads(body)
        assert response.headers["Content-Security-Policy"] == POLICY
        assert told["plan"]["epsilon"] == "inf"
        assert [one["name"] for one in told["nodes"]] == [member.name for member in members]
        assert {(one["status"], one["estimate"], one["truth"]) for one in told["nodes"]} == {
            (None, None, 0.5)
        }
        assert asked(page, "/")[0].status == 200
        assert asked(page, "/page/fleet/page.js")[0].status == 200
        assert asked(page, "/page/assets.py")[0].status == 404
        for path in ("/", "/fleet"):
            response, body = asked(page, path, Host="evil.example")
            assert response.status == 421
            assert b"node" not in body
