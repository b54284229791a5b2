"""Repeatable noise never meets real samples, in whatever order a state was started from.

"Whoever knows the seed can take the noise off again" (`SeededLaplace`).
"""

import asyncio
import re
from pathlib import Path

import pytest

from colme.errors import ConfigError
from colme.node.config import HttpSource, NodeConfig, SyntheticSource
from colme.node.node import Node
from colme.node.samples.feeds import make_noise
from colme.node.session.rehearsal import check
from colme.node.state import Overview
from colme.privacy.mechanism import SecureLaplace
from support.neighbours import Neighbours
from support.refusing import refused
from support.waiting import until


def trial(folder: Path) -> NodeConfig:
    """Made-up samples, seeded noise."""
    seeded = {"noise_seed": 5, "per_round": 10}
    return Neighbours(folder, "a").in_rounds("a", source=seeded, agreed={"rounds": "free"})


def real(config: NodeConfig) -> NodeConfig:
    return config.model_copy(update={"source": HttpSource(kind="http")})


async def stopped_before_its_first_round(config: NodeConfig) -> None:
    """With something stored of it already, as a neighbour's welcome makes it."""
    async with Node(config) as node:
        node._parts.driver.stop()
        await node._parts.driver.observe([])
    assert Overview.of(config.state).round == 0


async def fed(config: NodeConfig) -> None:
    async with Node(config) as node:
        node._parts.driver.stop()  # They wait for a round, and for their noise.
        await node.take([0.5] * 58)
    assert Overview.of(config.state).ledger.waiting == 58


async def test_a_trial_that_never_began_a_round_leaves_its_mark(tmp_path: Path) -> None:
    """Else its state could take real samples in, and be a trial's again when they are noised."""
    config = trial(tmp_path)
    await stopped_before_its_first_round(config)
    with refused(ConfigError, "source"):
        await Node(real(config)).__aenter__()
    async with Node(config) as node:
        await until(lambda: node.status().samples.released > 0)


@pytest.mark.parametrize("samples", [True, False])
async def test_a_state_begun_for_real_samples_is_never_a_trials(
    tmp_path: Path, samples: bool
) -> None:
    config = trial(tmp_path)
    await (fed if samples else stopped_before_its_first_round)(real(config))
    with refused(ConfigError, "source"):
        await Node(config).__aenter__()
    unseeded = config.source.model_copy(update={"noise_seed": None})
    assert isinstance(unseeded, SyntheticSource)
    async with Node(config.model_copy(update={"source": unseeded})):
        pass  # Secure noise, whatever the samples.


async def test_a_mark_of_before_does_not_hide_that_a_file_was_read(tmp_path: Path) -> None:
    """0.1.0 let a trial's state take real samples in: it has the mark, and a place in a file."""
    config = trial(tmp_path)
    await stopped_before_its_first_round(config)
    async with Node(config) as node:
        node._parts.driver.stop()
        await node._parts.driver.observe([0.5], {"file:/data": 4})
    with refused(ConfigError, "source"):
        await Node(config).__aenter__()


TOO_SMALL = {"squares": {"epsilon": 1.2e-4}, "sums": {"epsilon": 5.7e-11, "sigma2": 0.02}}
"""Of what is released: just below what 64 bits allow."""

each = pytest.mark.parametrize("privacy", TOO_SMALL.values(), ids=list(TOO_SMALL))


def alone(folder: Path, **privacy: float) -> NodeConfig:
    return Neighbours(folder, "a").config("a", privacy={"sigma2": None} | privacy)


@each
def test_a_node_does_not_start(tmp_path: Path, privacy: dict[str, float]) -> None:
    """It would take samples in and stop for ever at its first release."""
    config = alone(tmp_path, **privacy)
    with refused(ConfigError, "privacy.epsilon"):
        asyncio.run(Node(config).__aenter__())
    assert not config.state.exists()


@each
def test_check_says_it_too(tmp_path: Path, privacy: dict[str, float]) -> None:
    with refused(ConfigError, "privacy.epsilon"):
        asyncio.run(check(alone(tmp_path, **privacy)))


@each
def test_the_epsilon_that_is_named_works(tmp_path: Path, privacy: dict[str, float]) -> None:
    """And is close to the smallest that does: every scale that the agent asks for is drawn."""
    with pytest.raises(ConfigError) as caught:
        asyncio.run(check(alone(tmp_path / "refused", **privacy)))
    (words,) = re.findall(r"at least (\S+):", caught.value.expected)
    named = float(words)
    assert privacy["epsilon"] < named < 1.03 * privacy["epsilon"]
    config = alone(tmp_path / "named", **{**privacy, "epsilon": named})
    assert asyncio.run(check(config)) == []
    noise = make_noise(config.source, config.settings("a"))
    assert isinstance(noise, SecureLaplace)


def test_no_privacy_needs_no_noise(tmp_path: Path) -> None:
    assert asyncio.run(check(alone(tmp_path, epsilon=float("inf")))) == []
