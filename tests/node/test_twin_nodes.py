"""Whoever looks at a node from outside learns nothing of its samples but what it has released."""

import asyncio
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from colme.node import config, log
from colme.node.node import Node
from colme.privacy import mechanism
from colme.privacy.mechanism import SeededLaplace
from support.logged import Logged, logging
from support.neighbours import Neighbours
from support.partner import Partner, paired
from support.twins import Reckoning, Samples, changed, stream

ROUNDS = 60
MINE = stream(ROUNDS, seed=50)
THEIRS = stream(ROUNDS, seed=51)
TWINS = {
    "all clamped": changed(MINE, lambda _, x: 9.0),
    "none clamped, elsewhere": changed(MINE, lambda place, _: 0.8 + place % 16 / 100),
}
CASES: dict[str, dict[str, Any]] = {
    "variance unknown": {"privacy": {"epsilon": 6}},
    "variance known": {"privacy": {"epsilon": 6, "sigma2": 0.02}},
    "paper": {"privacy": {"epsilon": 6, "sigma2": 0.02}, "agreed": {"algorithm": "paper"}},
}

OF_THE_MOMENT = re.compile(r"process_|colme_commit_seconds|\w+_created[ {]")
"""Series that differ from run to run."""


class Drawn:
    """Stands where OpenDP does, so that all of a node is as it is but for the draws themselves."""

    def __init__(self, draws: Iterator[int] | None) -> None:
        self.values: list[int] = []
        self.scales: list[float] = []
        self._told = draws
        self._random = SeededLaplace(52)

    def __call__(self, scale: float) -> Any:
        def draw(_: int) -> int:
            self.scales.append(scale)
            self.values.append(self._random(scale) if self._told is None else next(self._told))
            return self.values[-1]

        return draw


@dataclass(frozen=True)
class Seen:
    """All that others can see of a node, and what its owner's machines can of its counts."""

    frames: list[bytes]
    scales: list[float]
    metrics: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    status: list[dict[str, Any]] = field(default_factory=list)

    def look_at(self, node: Node, logged: Logged) -> None:
        """Add what there is to see now."""
        lines = node.metrics.text().decode().splitlines()
        self.metrics.extend(line for line in lines if not OF_THE_MOMENT.match(line))
        self.status.append(public(asdict(node.status())))
        # In no order: what both ends of a session do, they do at the same time.
        self.log.extend(sorted(json.dumps(line | {"time": 0}) for line in logged.lines()))


@pytest.fixture
def logged(capsys: pytest.CaptureFixture[str]) -> Iterator[Logged]:
    with logging(capsys) as lines:
        yield lines


@dataclass
class Stage:
    """Where nodes live one after another: same names, addresses and folders."""

    folder: Path
    logged: Logged
    patch: pytest.MonkeyPatch
    changes: Mapping[str, Any]

    def __post_init__(self) -> None:
        self.neighbours = Neighbours(self.folder, "a", "b")

    def lived(self, samples: Samples, draws: Iterator[int] | None = None) -> tuple[Seen, Drawn]:
        """What a node shows that takes in these samples and is restarted halfway."""
        told = paired(self.neighbours, **{key: dict(one) for key, one in self.changes.items()})
        shutil.rmtree(told.state, ignore_errors=True)
        noise = Drawn(draws)
        self.patch.setattr(mechanism, "_noised", noise)
        # Every line, not the first of each kind alone: that is for peace, and no protection.
        self.patch.setattr(log, "Throttle", lambda _clock: lambda _logger, _method, event: event)
        partner = Partner(told, self.neighbours, THEIRS)
        seen = Seen(partner.heard, noise.scales)
        for half in (samples[: ROUNDS // 2], samples[ROUNDS // 2 :]):
            log.configure(config.Log(format="json", level="debug"), name="nobody")
            self.logged.forget()
            node = Node(told)
            asyncio.run(partner.live_with(node, half, partial(seen.look_at, node, self.logged)))
        return seen, noise


def public(status: dict[str, Any]) -> dict[str, Any]:
    """Without what is the owner's alone, and the time."""
    samples = {name: count for name, count in status["samples"].items() if name != "clamped"}
    return status | {"samples": samples, "began": None, "ended": None}


@pytest.mark.parametrize("case", CASES)
def test_where_noise_makes_up_for_other_samples_nodes_can_not_be_told_apart(
    case: str, tmp_path: Path, logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes, metrics, log and status are the same, and so is what the noise is asked for."""
    stage = Stage(tmp_path, logged, monkeypatch, CASES[case])
    mine, drawn = stage.lived(MINE)
    settings = paired(stage.neighbours, **CASES[case]).settings("a")
    reckoning = Reckoning.of(settings)
    assert len(drawn.values) == len(list(chain(*reckoning.numbers(MINE)))) > 30
    assert len(mine.frames) > 3 * ROUNDS
    draws = iter(drawn.values)
    by_round = [[next(draws) for _ in numbers] for numbers in reckoning.numbers(MINE)]
    for twin in TWINS.values():
        made_up = reckoning.made_up(by_round, MINE, twin)
        other, _ = stage.lived(twin, chain.from_iterable(made_up))
        for name, seen in asdict(mine).items():
            assert getattr(other, name) == seen, name
