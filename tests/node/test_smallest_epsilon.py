"""Noise that can't be drawn is refused before a sample is taken in, and by `--check`."""

import asyncio
import re
from pathlib import Path

import pytest

from colme.errors import ConfigError
from colme.node.config import NodeConfig
from colme.node.node import Node
from colme.node.samples.feeds import make_noise
from colme.node.session.rehearsal import check
from colme.privacy.mechanism import SecureLaplace
from colme.protocol.board.identity import InProcess
from support.boarded import relaying
from support.neighbours import Neighbours
from support.refusing import refused

TOO_SMALL = {"squares": {"epsilon": 1.2e-4}, "sums": {"epsilon": 5.7e-11, "sigma2": 0.02}}
"""Of what is released: just below what 64 bits allow."""

each = pytest.mark.parametrize("privacy", TOO_SMALL.values(), ids=list(TOO_SMALL))


def alone(folder: Path, **privacy: float) -> NodeConfig:
    return relaying(Neighbours(folder, "a"), "a", privacy={"sigma2": None} | privacy)


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
    noise = make_noise(config.source, config.settings("a", InProcess("a")))
    assert isinstance(noise, SecureLaplace)


def test_no_privacy_needs_no_noise(tmp_path: Path) -> None:
    assert asyncio.run(check(alone(tmp_path, epsilon=float("inf")))) == []
