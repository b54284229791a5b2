"""The names of algorithms: an alias stands for one thing, in library, simulator and node."""

from colme.algorithms import named
from colme.errors import ConfigError
from colme.network import Network
from colme.node.config import Agreed
from colme.node.fleet import Plan
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.settings import Settings
from colme.relay import Relay
from colme.rules.release import Profile
from support.refusing import refused

PROFILE = Profile.bounded(0, 1, epsilon=1)


def test_what_is_recommended_is_relay() -> None:
    assert named("recommended") == named("relay") == Relay()
    assert Settings.recommended("me", (), PROFILE).algorithm == Relay()
    pair = Network.of_equals({"a": ["b"], "b": ["a"]}, profile=PROFILE, noise=SeededLaplace(1))
    assert {one.settings.algorithm for one in pair.agents.values()} == {Relay()}


def test_a_node_and_a_fleet_mean_the_same_by_it() -> None:
    nothing, alias = Agreed(bounds=(0, 1)), Agreed(bounds=(0, 1), algorithm="recommended")
    assert nothing.algorithm == alias.algorithm == Plan().algorithm == Relay.name


def test_a_name_that_nobody_has_is_refused() -> None:
    with refused(ConfigError, "algorithm", seen="relais"):
        named("relais")
