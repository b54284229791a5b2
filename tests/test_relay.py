"""`relay` as a whole: real agents whose releases travel, and the answers that they make of them."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from colme.algorithms import named
from colme.errors import ConfigError, LocalProtocolError, UnknownOption
from colme.inference import answers
from colme.inference.answers import posterior
from colme.network import Network
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.board.identity import InProcess
from colme.protocol.board.messages import RecordsMessage
from colme.protocol.events import Begin, Received
from colme.protocol.settings import Settings
from colme.relay import Relay
from colme.rules.release import Profile
from support.boards import NOTHING_HELD, foreign, record_of, written
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


def test_without_a_sample_there_is_no_answer() -> None:
    settings = Settings(
        name="a", identity=InProcess("a"), neighbours=(), profile=PROFILE, algorithm=Relay()
    )
    agent = Agent(settings)
    with refused(LocalProtocolError, "estimate"):
        _ = agent.estimate


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
    before = record_of(agent.boards)
    stored = agent.snapshot()
    del stored["exchange"]
    other = replace(settings, profile=replace(settings.profile, sigma2=0.05))
    again = Agent.restore(other, stored)
    again.step(Begin(1, ()))
    assert record_of(again.boards) == before
    again.step(Received("b", NOTHING_HELD))
    again.observe(0.25)
    again.step(Begin(2, (7,)))
    assert record_of(again.boards).variance == 0.05


def test_records_under_other_bounds_are_passed_on_but_not_mixed() -> None:
    """An agent far away answers as if such a record were not there, unless it mixes any bounds."""
    network = lived(60)
    for _ in range(AGENTS):
        network.run_round()
    settings, before = network.agents["03"].settings, network.agents["03"].snapshot()
    told = written("stranger", bounds=(0.0, 10.0))
    network.agents["00"].step(Received("01", RecordsMessage((told,))))
    for _ in range(AGENTS):
        network.run_round()
    after = network.agents["03"].snapshot()
    assert told in network.agents["03"].boards.board.records
    expected = Agent.restore(settings, before).estimate
    assert replace(Agent.restore(settings, after).estimate, round=expected.round) == expected
    any_bounds = replace(settings, algorithm=Relay(any_bounds=True))
    assert Agent.restore(any_bounds, after).estimate.value != expected.value


def test_records_of_another_version_are_passed_on_and_kept_apart() -> None:
    network = lived(60)
    told = foreign("stranger")
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


def test_the_answer_is_told_who_was_admitted_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that it could not tell an original from its copies."""
    told: list[Any] = []

    def watched(*arguments: Any, **options: Any) -> Any:
        told.append(options["admitted"])
        return posterior(*arguments, **options)

    monkeypatch.setattr(answers, "posterior", watched)
    settings = Settings(
        name="a",
        identity=InProcess("a"),
        neighbours=("b",),
        profile=Profile.bounded(0, 1, epsilon=1),
        algorithm=Relay(),
    )
    agent = Agent(settings)
    agent.observe(0.5)
    agent.step(Received("b", RecordsMessage((written("x"), written("b")))))
    assert agent.estimate.value == 0.5
    assert told == [{written("b").origin: 0, written("x").origin: 1}]
