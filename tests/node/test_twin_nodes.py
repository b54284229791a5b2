"""Whoever looks at a node from outside learns nothing of its samples but what it has released.

And the noise is that of the epsilon which the node has promised.
"""

import asyncio
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from colme.node import config, log
from colme.node.driver import Driver
from colme.node.node import Node
from colme.node.state import Overview
from colme.node.trust.tls import signing_settings
from colme.node.wire.codec import encode, parse_frame, parts_of, release_in
from colme.privacy import mechanism
from colme.privacy.mechanism import SecureLaplace, SeededLaplace
from colme.protocol.board.messages import BoardMessage
from colme.rules.release import EVERY_SAMPLE, Profile
from support.boarded import boarded, settings_of, somebody
from support.boards import written
from support.logged import Logged
from support.neighbours import Neighbours
from support.partner import Partner, paired
from support.twins import LATTICE, Numbers, Reckoning, Samples, changed, stream, twins
from support.waiting import until

ROUNDS = 60
MINE = stream(ROUNDS, seed=50)
THEIRS = stream(ROUNDS, seed=51)
TWINS = {
    "all clamped": changed(MINE, lambda _, x: 9.0),
    "none clamped, elsewhere": changed(MINE, lambda place, _: 0.8 + place % 16 / 100),
}
PRIVACY: dict[str, dict[str, Any]] = {
    "variance unknown": {"epsilon": 6, "sigma2": None},
    "variance known": {"epsilon": 6, "sigma2": 0.02},
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


@dataclass
class Stage:
    """Where nodes live one after another: same names, addresses and folders."""

    folder: Path
    logged: Logged
    patch: pytest.MonkeyPatch
    algorithm: str
    privacy: Mapping[str, Any]

    def __post_init__(self) -> None:
        self.neighbours = Neighbours(self.folder, "a", "b")
        if self.algorithm == "paper":
            self.config = paired(self.neighbours, privacy=self.privacy)
        else:
            pace = {"interval": 3600}
            self.config = self.neighbours.config("a", pace=pace, privacy=self.privacy)
        self.settings = signing_settings(self.config, self.neighbours.trust("a"))

    def lived(self, samples: Samples, draws: Iterator[int] | None = None) -> tuple[Seen, Drawn]:
        """What a node shows that takes in these samples and is restarted halfway."""
        shutil.rmtree(self.config.state, ignore_errors=True)
        noise = Drawn(draws)
        self.patch.setattr(mechanism, "_noised", noise)
        # Every line, not the first of each kind alone: that is for peace, and no protection.
        self.patch.setattr(log, "Throttle", lambda _clock: lambda _logger, _method, event: event)
        partner = Partner(self.config, self.neighbours, THEIRS)
        live_with = partner.live_with if self.algorithm == "paper" else live_alone
        seen = Seen(partner.heard, noise.scales)
        for half in (samples[: ROUNDS // 2], samples[ROUNDS // 2 :]):
            log.configure(config.Log(format="json", level="debug"), name="nobody")
            self.logged.forget()
            node = Node(self.config)
            asyncio.run(live_with(node, half, partial(seen.look_at, node, self.logged)))
        return seen, noise


async def live_alone(node: Node, samples: Samples, look: Callable[[], None]) -> None:
    """A sync after each taking of samples; what it says to neighbours is looked at further down."""
    async with node:
        driver = node._parts.driver
        await until(lambda: driver.began is not None)
        for mine in samples:
            await node.take(mine)
            await tick(driver)
        look()


async def tick(driver: Driver) -> None:
    """Sync now, and not when it is due."""
    driver._forget_timer()
    driver._begin(driver.agent.round + 1)
    await driver.flush()


def public(status: dict[str, Any]) -> dict[str, Any]:
    """Without what is the owner's alone, and the time."""
    samples = {name: count for name, count in status["samples"].items() if name != "clamped"}
    return status | {"samples": samples, "began": None, "ended": None}


@pytest.mark.parametrize("algorithm", ["relay", "paper"])
@pytest.mark.parametrize("privacy", PRIVACY.values(), ids=list(PRIVACY))
def test_where_noise_makes_up_for_other_samples_nodes_can_not_be_told_apart(
    algorithm: str,
    privacy: Mapping[str, Any],
    tmp_path: Path,
    logged: Logged,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bytes, metrics, log and status are the same, and so is what the noise is asked for."""
    stage = Stage(tmp_path, logged, monkeypatch, algorithm, privacy)
    mine, drawn = stage.lived(MINE)
    reckoning = Reckoning.of(stage.settings)
    assert len(drawn.values) == len(list(chain(*reckoning.numbers(MINE)))) > 30
    assert algorithm == "relay" or len(mine.frames) > 3 * ROUNDS
    draws = iter(drawn.values)
    by_round = [[next(draws) for _ in numbers] for numbers in reckoning.numbers(MINE)]
    for twin in TWINS.values():
        made_up = reckoning.made_up(by_round, MINE, twin)
        other, _ = stage.lived(twin, chain.from_iterable(made_up))
        for name, seen in asdict(mine).items():
            assert getattr(other, name) == seen, name


TICKS = 10


def shown(metrics: bytes) -> list[str]:
    """What does not tell of this machine's time."""
    lines = metrics.decode().splitlines()
    of_time = ("commit_seconds", "process_", "_created")
    return [line for line in lines if not any(word in line for word in of_time)]


async def life(folder: Path, samples: Samples, draws: Numbers, *, squares: bool) -> list[object]:
    """All that others see of it, tick by tick, with a restart in the middle."""
    half = len(samples) // 2
    first = await start(folder, samples[:half], draws[:half], squares=squares)
    return [*first, *await start(folder, samples[half:], draws[half:], squares=squares)]


async def start(folder: Path, samples: Samples, draws: Numbers, *, squares: bool) -> list[object]:
    seen: list[object] = []
    due = iter([draw for one in draws for draw in one])
    async with boarded(folder, interval=3600, squares=squares, noise=lambda _: next(due)) as one:
        one.driver.start(0)
        await until(lambda: one.driver.began is not None)
        one.answer("b")
        one.answer("c")
        for taken in samples:
            await one.driver.observe(taken)
            one.tell("c", written(somebody(len(seen) % 7), sequence=1 + len(seen)))
            await tick(one.driver)
            seen.append(shown(one.metrics.text()))
        seen += [
            (said.peer, [encode(part, 1) for part in parts_of(said.message)])
            for said in one.posts
            if isinstance(said.message, BoardMessage)
        ]
        assert one.failures == []
        assert next(due, None) is None, "all draws were taken, each once"
    return seen


@pytest.mark.parametrize("squares", [False, True])
def test_other_samples_show_in_nothing(tmp_path: Path, squares: bool) -> None:
    reckoning = Reckoning.of(settings_of(squares=squares))
    mine = stream(TICKS, seed=3)
    numbers = reckoning.numbers(mine)
    draws = [[1000 + 17 * n for n in range(len(one))] for one in numbers]
    assert sum(map(len, draws)) > 5
    expected = asyncio.run(life(tmp_path / "mine", mine, draws, squares=squares))
    for number, (name, other) in enumerate(twins(mine)):
        made_up = reckoning.made_up(draws, mine, other)
        seen = asyncio.run(life(tmp_path / f"{number}", other, made_up, squares=squares))
        assert seen == expected, name


EPSILON = 0.7
BOUNDS = (-3.0, 11.0)
FEW_ROUNDS = 14
SAMPLES = changed(stream(FEW_ROUNDS, seed=60), lambda _, x: -3 + 14 * x)


@dataclass
class Overlooked:
    """OpenDP as it is, with an eye on what it is asked for and what it draws."""

    scales: list[float] = field(default_factory=list)
    draws: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._measurement = mechanism._noised

    def __call__(self, scale: float) -> Any:
        measurement = self._measurement(scale)

        def draw(exact: int) -> int:
            assert exact == 0
            self.scales.append(scale)
            self.draws.append(measurement(exact))
            return self.draws[-1]

        return draw


def test_the_configured_epsilon_and_bounds_are_those_of_every_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By OpenDP's own privacy map, and by what the neighbour hears: the exact sum and its draws."""
    privacy = {"epsilon": EPSILON, "sigma2": 4.0}
    neighbours = Neighbours(tmp_path, "a", "b")
    config = paired(neighbours, privacy=privacy, agreed={"bounds": BOUNDS})
    opendp = Overlooked()
    monkeypatch.setattr(mechanism, "_noised", opendp)
    partner, node = Partner(config, neighbours, SAMPLES), Node(config)
    told: list[str] = []

    def look() -> None:
        told.append(node.status().privacy)
        told.extend(node.metrics.text().decode().splitlines())

    asyncio.run(partner.live_with(node, SAMPLES, look))
    monkeypatch.undo()

    promised = Profile.bounded(*BOUNDS, epsilon=EPSILON)
    reckoning = Reckoning(promised, EVERY_SAMPLE, squares=False)
    numbers = list(chain(*reckoning.numbers(SAMPLES)))
    assert len(opendp.draws) == len(numbers) > 2
    for scale in set(opendp.scales):
        assert EPSILON * (1 - 1e-15) <= reckoning.dearest([scale]) <= Fraction(EPSILON)
        assert SecureLaplace().promised_epsilon(2 * LATTICE, scale) <= EPSILON

    releases = [
        release_in(data)
        for data in partner.heard[:-1]
        if parse_frame("a", data).WhichOneof("content") == "release"
    ]
    assert releases[-1] is not None
    noisy = sum(numbers) + sum(opendp.draws)
    mean = promised.midpoint + promised.lattice_step * (noisy / releases[-1].count)
    assert releases[-1].mean == mean

    assert told[0].startswith(f"epsilon = {EPSILON:g} for each sample")
    assert f"colme_epsilon {EPSILON}" in told
    overview = Overview.of(config.state, entries=1_000)
    entries = overview.last_entries[::-1]
    assert overview.ledger.epsilon == EPSILON
    assert {entry.epsilon for entry in entries} == {EPSILON}
    assert sum(entry.blocks for entry in entries) == len(numbers)
    assert entries[-1].last == releases[-1].count
