"""`relay` as a whole: real agents whose releases travel, and the answers that they make of them."""

import json
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

from colme.algorithms import named
from colme.errors import ConfigError, LocalProtocolError, UnknownOption
from colme.network import Network
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.board.identity import InProcess
from colme.protocol.board.messages import RecordsMessage
from colme.protocol.board.record import Foreign, Record
from colme.protocol.events import Begin, Received
from colme.protocol.settings import Settings
from colme.relay import Relay
from colme.rules.release import Profile
from support.boards import NOTHING_HELD, written
from support.refusing import refused

PROFILE = Profile.bounded(0, 1, epsilon=4.0)
AGENTS = 30
NAMES = [f"{number:02d}" for number in range(AGENTS)]
RING = {
    name: (NAMES[number - 1], NAMES[(number + 1) % AGENTS]) for number, name in enumerate(NAMES)
}
MEANS = dict(zip(NAMES, [0.3, 0.3, 0.7] * (AGENTS // 3), strict=True))


def lived(rounds: int, *, seed: int = 5, algorithm: Relay | None = None) -> Network:
    """Agents on a ring, one sample a round: two thirds around 0.3 and the others around 0.7."""
    network = Network.of_equals(
        RING, profile=PROFILE, noise=SeededLaplace(seed), algorithm=algorithm or Relay()
    )
    generator = np.random.default_rng(seed)
    for _ in range(rounds):
        spread = generator.uniform(-0.25, 0.25, AGENTS).tolist()
        network.run_round({name: MEANS[name] + x for name, x in zip(NAMES, spread, strict=True)})
    return network


@pytest.mark.slow
def test_a_ring_of_agents_does_better_together_than_alone() -> None:
    """Neighbours on it are mostly not alike, and those alike are far apart: paths of others serve.

    Over 30 agents and 3 seeds the ratio of squared errors, 0.2, has a standard error of about 0.05.
    """
    together, alone = 0.0, 0.0
    for seed in (5, 6, 7):
        network = lived(150, seed=seed)
        for name in NAMES:
            estimate = network.estimate(name)
            together += (estimate.value - MEANS[name]) ** 2
            alone += (estimate.alone - MEANS[name]) ** 2
            assert estimate.low < estimate.value < estimate.high
            assert 0 <= estimate.trust <= 1
    assert together < 0.5 * alone


def test_every_release_reaches_everybody_one_hop_a_round() -> None:
    network = lived(40)
    boards = [network.agents[name].boards.board for name in NAMES]
    assert {len(board) for board in boards} == {AGENTS}
    for _ in range(AGENTS // 2):
        network.run_round()
    records = {board.records for board in boards}
    assert len(records) == 1
    sent: list[int] = []
    for name in NAMES:
        agent = network.agents[name]
        sent.append(len(agent.step(Begin(network.round + 1, ())).send))
    assert sum(sent) == 0, "nothing new: nothing sent"


def test_answers_are_repeated_by_a_restored_agent_and_its_board_may_be_lost() -> None:
    network = lived(120)
    agent = network.agents["00"]
    stored = json.loads(json.dumps(agent.snapshot()))
    again = Agent.restore(agent.settings, stored)
    cold = Agent.restore(agent.settings, stored)
    assert again.estimate == cold.estimate
    assert again.snapshot() == agent.snapshot()
    del stored["exchange"]
    alone = Agent.restore(agent.settings, stored)
    assert len(alone.boards.board) == 0
    assert alone.estimate.value == alone.estimate.alone == agent.estimate.alone
    # Its own record comes back from what must not be lost, the others' from its neighbours.
    network.agents = {**network.agents, "00": alone}
    for _ in range(AGENTS):
        network.run_round()
    assert alone.boards.board.records == network.agents["01"].boards.board.records
    assert len(alone.boards.board) == AGENTS


def test_records_under_other_bounds_are_passed_on_but_not_mixed() -> None:
    """A half with bounds of its own joins: each answers as if it were not there."""
    mine, other = (Profile.bounded(0, high, epsilon=inf) for high in (1, 10))
    half = NAMES[:15]
    joined: dict[str, dict[str, tuple[str, ...]]] = {
        "all": {**RING},
        "half": {name: tuple(peer for peer in RING[name] if peer in half) for name in half},
    }
    networks = {}
    for case, neighbours in joined.items():
        network = networks[case] = Network(
            (
                Agent(
                    Settings(
                        name=name,
                        identity=InProcess(name),
                        neighbours=peers,
                        profile=mine if name in half else other,
                        algorithm=Relay(),
                    )
                )
                for name, peers in neighbours.items()
            ),
            SeededLaplace(1),
        )
        generator = np.random.default_rng(1)
        for _ in range(100):
            samples = dict(zip(NAMES, generator.uniform(0, 0.5, AGENTS).tolist(), strict=True))
            network.run_round({name: samples[name] for name in neighbours})
        for _ in range(AGENTS):
            network.run_round()
    mixed, apart = networks["all"].agents["07"], networks["half"].agents["07"]
    assert (len(mixed.boards.board), len(apart.boards.board)) == (AGENTS, 15)
    assert mixed.estimate == apart.estimate
    any_bounds = replace(mixed.settings, algorithm=Relay(any_bounds=True))
    assert Agent.restore(any_bounds, mixed.snapshot()).estimate != mixed.estimate


@pytest.mark.parametrize("agents", [1, 2, 3, 5])
def test_fewer_than_six_answer_alone(agents: int) -> None:
    names = NAMES[:agents]
    network = Network.of_equals(
        {name: [peer for peer in names if peer != name] for name in names},
        profile=PROFILE,
        noise=SeededLaplace(2),
        algorithm="relay",
    )
    generator = np.random.default_rng(2)
    for _ in range(100):
        network.run_round({name: float(generator.uniform(0.2, 0.6)) for name in names})
    for name in names:
        estimate = network.estimate(name)
        assert estimate.value == estimate.alone
        assert not estimate.collaborative


def test_before_a_first_release_an_agent_answers_with_its_own_mean() -> None:
    network = Network.of_equals(
        RING, profile=replace(PROFILE, epsilon=0.1), noise=SeededLaplace(3), algorithm="relay"
    )
    network.run_round(dict.fromkeys(NAMES, 0.25))
    estimate = network.estimate("00")
    assert estimate.value == estimate.alone == 0.25
    with refused(LocalProtocolError, "estimate"):
        _ = Agent(network.agents["00"].settings).estimate


def test_it_has_a_name_and_options_and_says_what_it_does_not_have() -> None:
    assert named("relay", release_squares=False) == Relay(release_squares=False)
    with refused(UnknownOption, "rule"):
        named("relay", rule="tight")
    agent = Agent(
        Settings(
            name="a", identity=InProcess("a"), neighbours=(), profile=PROFILE, algorithm=Relay()
        )
    )
    with refused(LocalProtocolError, "rounds", seen="relay"):
        _ = agent.accepted


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "7", None, True])
def test_a_capacity_is_a_whole_number(wrong: Any) -> None:
    with refused(ConfigError, "capacity"):
        Relay(capacity=wrong)


@pytest.mark.parametrize("wrong", [-1, 1.5, "1", None, True, 2**62 + 1])
def test_an_incarnation_is_a_whole_number(wrong: Any) -> None:
    """Or it would be found out when a record is signed, after noise was spent."""
    with refused(ConfigError, "incarnation"):
        Settings(
            name="a",
            identity=InProcess("a"),
            neighbours=(),
            profile=PROFILE,
            algorithm=Relay(),
            incarnation=wrong,
        )


def test_a_board_of_absurd_claims_is_answered_from() -> None:
    """Most records claim as many samples as can be written down."""
    network = lived(40)
    agent = network.agents["00"]
    before = agent.estimate
    claims = tuple(
        written(f"liar {n}", count=2**62, past_count=n * 2**40, past_draws=min(n, 1))
        for n in range(2 * AGENTS)
    )
    agent.step(Received("01", RecordsMessage(claims)))
    assert 0 <= agent.estimate.value <= 1
    assert agent.estimate.alone == before.alone


def test_a_variance_declared_anew_does_not_contradict_what_was_signed() -> None:
    """Nor where the board is lost: two records of one place that differ would bar the agent."""
    settings = Settings(
        name="a",
        identity=InProcess("a"),
        neighbours=("b",),
        profile=Profile.bounded(0, 1, epsilon=4.0, sigma2=0.1),
        algorithm=Relay(release_squares=False),
    )
    agent = Agent(settings)
    agent.observe(0.5)
    agent.step(Begin(1, (7,)))
    before = agent.boards.board.get(agent.boards.origin)
    stored = agent.snapshot()
    del stored["exchange"]
    other = replace(settings, profile=replace(settings.profile, sigma2=0.05))
    again = Agent.restore(other, stored)
    again.step(Begin(1, ()))
    assert again.boards.board.get(again.boards.origin) == before
    again.step(Received("b", NOTHING_HELD))
    again.observe(0.25)
    again.step(Begin(2, (7,)))
    record = again.boards.board.get(again.boards.origin)
    assert isinstance(record, Record)
    assert record.variance == 0.05


def test_records_of_another_version_are_passed_on_and_kept_apart() -> None:
    network = lived(60)
    stranger = InProcess("stranger")
    told = Foreign(
        version=2, key=stranger.key, incarnation=0, sequence=3, body=b"?", signature=bytes(64)
    )
    told = replace(told, signature=stranger.sign(told.content()))
    before = network.estimate("03")
    network.agents["00"].step(Received("01", RecordsMessage((told,))))
    for _ in range(AGENTS):
        network.run_round()
    agent = network.agents["03"]
    assert agent.boards.board.get(told.origin) == told
    assert len(agent.boards.board.records) == AGENTS
    restored = Agent.restore(agent.settings, agent.snapshot())
    assert restored.boards.board.get(told.origin) == told
    assert agent.estimate.alone == before.alone
