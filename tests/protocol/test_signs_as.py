"""Who signs an agent's records: named by the transport, or the agent is refused."""

import pytest

from colme.algorithms import named
from colme.errors import ConfigError
from colme.network import Network
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.board.identity import BoardIdentity, InProcess
from colme.protocol.settings import Settings
from colme.relay import Relay
from colme.rules.release import Profile
from colme.signing import Ed25519
from support.refusing import refused

PROFILE = Profile.bounded(0, 1, epsilon=1)


def test_an_agent_that_relays_over_a_transport_needs_an_identity() -> None:
    """A name is no secret: whoever knows it could sign in its place."""
    settings = Settings(name="a", neighbours=("b",), profile=PROFILE, algorithm=Relay())
    with refused(ConfigError, "identity"):
        Agent(settings)
    with refused(ConfigError, "identity"):
        Agent(Settings.recommended("a", ("b",), PROFILE))


@pytest.mark.parametrize("identity", [InProcess("a"), Ed25519.from_bytes(bytes(32))])
def test_one_that_is_named_is_taken(identity: BoardIdentity) -> None:
    agent = Agent(Settings.recommended("a", ("b",), PROFILE, identity=identity))
    assert agent.settings.signs_as is identity


def test_rounds_sign_nothing_and_a_network_knows_all_of_its_agents() -> None:
    Agent(Settings(name="a", neighbours=("b",), profile=PROFILE, algorithm=named("paper")))
    network = Network.of_equals(
        {"a": ["b"], "b": ["a"]}, profile=PROFILE, noise=SeededLaplace(1), algorithm=Relay()
    )
    assert isinstance(network.agents["a"].settings.identity, InProcess)
