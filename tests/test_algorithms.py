"""The names of algorithms: an alias stands for one thing, and in a node for what a node runs."""

import pytest

from colme.algorithms import ALGORITHMS, IN_ROUNDS, NODE_ALIASES, named, resolved
from colme.errors import ConfigError
from colme.network import Network
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.settings import Settings
from colme.relay import Relay
from colme.rules.release import Profile

PROFILE = Profile.bounded(0, 1, epsilon=1)


def test_what_is_recommended_is_relay() -> None:
    assert named("recommended") == named("relay") == Relay()
    assert Settings.recommended("me", (), PROFILE).algorithm == Relay()
    pair = Network.of_equals({"a": ["b"], "b": ["a"]}, profile=PROFILE, noise=SeededLaplace(1))
    assert {one.settings.algorithm for one in pair.agents.values()} == {Relay()}


def test_a_node_means_by_it_what_it_meant_before() -> None:
    """Whose configuration names no algorithm has a state of tracking, and neighbours who agreed."""
    assert resolved("recommended", NODE_ALIASES) == "tracking"
    assert set(NODE_ALIASES.values()) <= set(IN_ROUNDS) < set(ALGORITHMS)


def test_a_name_that_nobody_has_is_refused() -> None:
    with pytest.raises(ConfigError, match="algorithm: saw 'relais', expected 'relay', perhaps"):
        named("relais")
