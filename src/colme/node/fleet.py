"""A fleet: real nodes in processes of their own, with certificates and TLS, on made-up data."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from socket import create_server
from time import monotonic, sleep
from typing import Any

import numpy as np
import tomli_w

from colme.algorithms import ALGORITHMS, ALIASES, resolved
from colme.errors import ConfigError, NetworkError, NodeError, one_of
from colme.graph import Graph
from colme.node.config import NodeConfig
from colme.node.owner.client import OwnerClient
from colme.node.owner.status import Status
from colme.node.trust.identity import Identity
from colme.protocol.rounds.paper import Paper
from colme.sim.graphs import random_classes, random_regular

CONFIG = "node.toml"
LOG = "node.log"
SAMPLES = "samples.txt"

START_SECONDS = 120.0
"""In which all nodes must have begun."""
LOOK_SECONDS = 0.2
"""How often the fleet is looked at; its rounds wait for nobody's look."""
DEADLINE_SECONDS = 60.0
"""Long enough for a crowded machine: a fleet is to show what happens when nobody fails."""
STOP_SECONDS = 15.0
INTERVAL_SECONDS = 0.05
"""Between two ticks of a node that relays: a fleet is to be quick."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Who is in the fleet, what they see and how long they run."""

    agents: int = 12
    degree: int = 4
    rounds: int = 200
    means: tuple[float, ...] = (0.2, 0.4, 0.8)
    sigma: float = 0.1
    samples: int = 10
    """Of each node, in each round."""
    epsilon: float = 4.0
    algorithm: str = resolved("recommended")
    seed: int = 1
    scripted_noise: bool = False
    """Noise that can be repeated, to compare the fleet with agents in memory."""
    from_files: bool = False
    """Samples are what is written to `SAMPLES` beside each configuration, not made up by nodes."""

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            known = [*ALIASES, *ALGORITHMS]
            raise ConfigError("--algorithm", self.algorithm, one_of(self.algorithm, known))

    @property
    def in_rounds(self) -> bool:
        """Whether nodes wait for each other; else each goes at its own pace."""
        return self.algorithm == Paper.name

    @property
    def bounds(self) -> tuple[float, float]:
        """Public bounds of everybody's data."""
        reach = self.sigma * 3**0.5
        return min(self.means) - reach, max(self.means) + reach

    def name(self, agent: int) -> str:
        """Names sort as numbers do."""
        return f"node{agent:03d}"

    def draw(self) -> tuple[Graph, list[float]]:
        """Who knows whom, and everybody's true mean."""
        generator = np.random.default_rng(self.seed)
        graph = random_regular(self.agents, self.degree, generator)
        classes = random_classes(self.agents, len(self.means), generator)
        return graph, [self.means[c] for c in classes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A node of the fleet: its truth, and where its files are."""

    name: str
    truth: float
    folder: Path
    config: NodeConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A node as its owner sees it now; None where it has not said yet."""

    member: Member
    status: Status | None
    estimate: dict[str, Any] | None

    @property
    def round(self) -> int:
        """The last round begun."""
        return 0 if self.status is None else self.status.round

    @property
    def over(self) -> bool:
        """Whether its last round has ended."""
        return self.status is not None and self.status.ended is not None


def prepare(plan: Plan, folder: Path) -> list[Member]:
    """Identities and configurations, on free ports of this machine."""
    graph, truth = plan.draw()
    names = [plan.name(a) for a in range(plan.agents)]
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ConfigError("--out", str(folder), "a new or empty folder")
    for name in names:
        Identity.create(name, folder / name / "identity", now=datetime.now(UTC))
    ports = _free_ports(2 * plan.agents)
    members = []
    for a, name in enumerate(names):
        fields = _configuration(plan, a, truth[a], ports, graph.neighbours(a).tolist())
        path = folder / name / CONFIG
        path.write_text(tomli_w.dumps(fields))
        config = NodeConfig.load(path)
        members.append(Member(name=name, truth=truth[a], folder=folder / name, config=config))
    return members


def _configuration(
    plan: Plan, agent: int, mean: float, ports: Sequence[int], neighbours: Sequence[int]
) -> dict[str, Any]:
    return {
        "identity": "identity",
        "state": "state",
        "listen": f"127.0.0.1:{ports[2 * agent]}",
        "agreed": {"bounds": list(plan.bounds), "algorithm": plan.algorithm}
        | ({"rounds": "free"} if plan.in_rounds else {}),
        "privacy": {"epsilon": plan.epsilon, "sigma2": plan.sigma**2},
        "pace": {
            "deadline": DEADLINE_SECONDS,
            "interval": INTERVAL_SECONDS,
            "last_round": plan.rounds,
        },
        "source": _source(plan, agent, mean),
        "owner": {"listen": f"127.0.0.1:{ports[2 * agent + 1]}"},
        "neighbours": [
            {
                "name": plan.name(b),
                "address": f"127.0.0.1:{ports[2 * b]}",
                "certificate": f"../{plan.name(b)}/identity/identity.crt",
            }
            for b in neighbours
        ],
    }


def _source(plan: Plan, agent: int, mean: float) -> dict[str, Any]:
    if plan.from_files:
        return {"kind": "file", "path": SAMPLES}
    seed = plan.seed * 1_000_003 + agent
    made_up = {"mean": mean, "sigma": plan.sigma, "seed": seed, "per_round": plan.samples}
    noise = {"noise_seed": seed} if plan.scripted_noise else {}
    return {"kind": "synthetic", **made_up, **noise}


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens at; held together, so that no two are the same."""
    with ExitStack() as held:
        sockets = [held.enter_context(create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


def ask(member: Member, *, at_rest: bool) -> Sight:
    """Ask a node as its owner does; it may not have started yet.

    From a board it is no small thing to compute an answer, and it begins where the last one ended:
    asked for once, at rest, it is what agents in memory answer.
    """
    status = estimate = None
    # Its owner's side may not be there yet, or no more.
    with suppress(NodeError):
        client = OwnerClient(member.config)
        status = client.status()
        if status.board is None or at_rest:
            estimate = client.estimate()
    return Sight(member=member, status=status, estimate=estimate)


class Fleet:
    """The processes of a fleet, from entering the block to leaving it."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = members
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "Fleet":
        # To end the command must end its nodes, too.
        self._before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            for member in self.members:
                self.start(member)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGTERM, self._before)
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, member: Member) -> None:
        """Start a node, or start it again."""
        with (member.folder / LOG).open("ab") as log:
            self._processes[member.name] = subprocess.Popen(
                [sys.executable, "-m", "colme", "node", "--config", member.folder / CONFIG],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def process(self, member: Member) -> "subprocess.Popen[bytes]":
        """Its process."""
        return self._processes[member.name]

    def look(self, *, at_rest: bool = False) -> list[Sight]:
        """All nodes as they are now; a NodeError if one has ended."""
        for member in self.members:
            code = self.process(member).poll()
            if code is not None:
                raise NodeError(member.name, f"exit code {code}: {_last_line(member)}", "it to run")
        return [ask(member, at_rest=at_rest) for member in self.members]

    def watch(self) -> Iterator[list[Sight]]:
        """Looks from now until the last round of all has ended."""
        began = monotonic()
        while True:
            sights = self.look()
            yield sights
            if all(sight.over for sight in sights) and _are_at_rest(sights):
                if any(sight.estimate is None for sight in sights):
                    yield self.look(at_rest=True)
                return
            if monotonic() - began > START_SECONDS and not all(one.round for one in sights):
                idle = [one.member.name for one in sights if not one.round]
                raise NetworkError("fleet", f"no round in {START_SECONDS:g} s: {idle}", "a round")
            sleep(LOOK_SECONDS)


def _are_at_rest(sights: Sequence[Sight]) -> bool:
    """In rounds all end together; boards go on until all are the same."""
    return len({sight.status.board for sight in sights if sight.status is not None}) == 1


def _last_line(member: Member) -> str:
    lines = (member.folder / LOG).read_text(errors="replace").splitlines()
    return lines[-1] if lines else "no word"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a fleet came to."""

    algorithm: str
    agents: list[dict[str, Any]]
    mse_local: float
    mse_estimate: float
    rounds_per_second: float


def outcome(sights: Sequence[Sight], rounds: int) -> Outcome:
    """Errors against the truth, which no node knows, and the speed from the last start on."""
    agents = []
    began, ended = [], []
    for sight in sights:
        status, estimate = sight.status, sight.estimate
        assert status is not None
        assert status.began is not None
        assert status.ended is not None
        assert estimate is not None
        began.append(status.began)
        ended.append(status.ended)
        agents.append(
            {
                "name": sight.member.name,
                "truth": sight.member.truth,
                **{name: estimate[name] for name in ("value", "low", "high", "alone")},
                "class_size": status.class_size,
                "records": estimate["records"],
                "rounds": sight.round,
            }
        )
    truth = np.array([one["truth"] for one in agents])
    return Outcome(
        algorithm=sights[0].status.algorithm if sights[0].status else "",
        agents=agents,
        mse_local=float(np.mean((np.array([one["alone"] for one in agents]) - truth) ** 2)),
        mse_estimate=float(np.mean((np.array([one["value"] for one in agents]) - truth) ** 2)),
        rounds_per_second=rounds / (max(ended) - max(began)),
    )
