"""Relay in the simulator and a network of real agents are the same, round by round.

Samples and noise are a script on the lattice. Fits are made from scratch: where they begin at
earlier ones, those who share a board share that of one of them, and end within EM's tolerance.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from math import inf
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from colme.network import Network
from colme.protocol.agent import Agent
from colme.protocol.board.identity import InProcess
from colme.protocol.settings import Settings
from colme.relay import Relay
from colme.sim.engines import Chunk, RelayTable
from colme.sim.engines.relay.engine import RelayRun
from colme.sim.kernel.arrays import Array
from colme.sim.scenario import Scenario
from colme.sim.simulation import Prepared
from support.worlds import agent_name

AGENTS = 20
ROUNDS = 150
ASKED = (3, 9, 10, 17, 30, 31, 64, 100, 149, 150)
SIGMA = 0.25
BOUNDS = (-0.5, 1.5)
TOLERANCE = 1e-6 * SIGMA

PATH = list(pairwise(range(AGENTS)))
STAR_AND_PAIR = [*((0, b) for b in range(1, 18)), (18, 19)]
GRAPHS: dict[str, dict[str, Any]] = {
    "regular": {"degree": [4]},
    "complete": {"family": "complete"},
    "path": {"family": "edges", "edges": PATH},
    "star, and a pair apart": {"family": "edges", "edges": STAR_AND_PAIR},
}
PRIVACY: dict[str, dict[str, Any]] = {
    "2": {"epsilon": [2.0]},
    "4": {"epsilon": [4.0]},
    "inf": {"epsilon": [inf]},
    "own": {"epsilon_per_agent": [(1.0, inf, 4.0, 0.5)[a % 4] for a in range(AGENTS)]},
}


class Played:
    """One world: the simulator's player, and everything that real agents need for the same."""

    def __init__(self, graph: str, privacy: str, *, squares: bool, **fields: Any) -> None:
        scenario = Scenario.build(
            agents=AGENTS,
            graph=GRAPHS[graph],
            means=[0.2, 0.8],
            data={"sigma": SIGMA},
            bounds=BOUNDS,
            rounds=ROUNDS,
            runs=2,
            seed=7,
            algorithms=["relay"],
            **PRIVACY[privacy],
            **fields,
        )
        study = Prepared(scenario, scenario.graph.degrees[0])
        self.world = study.batch(0, 1, np.float64).world
        self.squares = squares
        self.centre = study.setting.centre
        self.profiles = [replace(profile, bounds=BOUNDS) for profile in self.world.profiles(0)[0]]
        generator = np.random.default_rng(3)
        step = self.profiles[0].lattice_step
        spread = generator.uniform(-SIGMA, SIGMA, (ROUNDS, AGENTS)) * 3**0.5
        truth = self.world.truth[:, 0] + self.centre
        self.samples = 0.5 + step * np.rint((truth + spread - 0.5) / step)
        scales = np.array([[p.lattice_scale, p.square_lattice_scale] for p in self.profiles]).T
        self.draws = np.rint(generator.laplace(size=(2, ROUNDS, AGENTS)) * scales[:, None]).astype(
            np.int64
        )
        with np.errstate(invalid="ignore"):
            self.units = np.nan_to_num(self.draws / scales[:, None])[..., None]

    def player(self) -> RelayRun:
        """Who plays it in the simulator; everybody is asked."""
        names = [InProcess("").origin_of(agent_name(a)) for a in range(AGENTS)]
        variance = "released" if self.squares else "known"
        table = RelayTable(algorithm="relay", variance=variance, measured=AGENTS, capacity=4096)
        return RelayRun(self.world, names, 0, table)

    def means(self) -> Array:
        """[ROUNDS, AGENTS, 1]: running means, less the centre."""
        counts = np.array([self.world.counts(t) for t in range(ROUNDS + 1)])
        taken = np.diff(counts, axis=0) > 0
        sums = np.cumsum(np.where(taken, self.samples - self.centre, 0.0), axis=0)
        return np.asarray(sums / counts[1:])[..., None]

    def simulated(self, *, chunk: int = 1, warm: bool = False) -> Iterator[tuple[int, Array]]:
        """Everybody's answers, in the rounds in which they are asked."""
        player, means = self.player(), self.means()
        ends = sorted({*range(chunk, ROUNDS + 1, chunk), *ASKED, ROUNDS})
        for before, last in pairwise([0, *ends]):
            part = SimpleNamespace(first=before + 1, last=last, data=means[before:last])
            player.advance(cast(Chunk, part), self.units)
            if last in ASKED:
                if not warm:
                    player._learned.clear()
                (value, margin, size, _), _ = player._answers(last, means[last - 1])
                middle = value + self.centre
                upper = np.minimum(middle + margin, BOUNDS[1]) - middle
                yield last, np.stack((middle, upper, size))[..., 0]

    def real(self) -> Iterator[tuple[int, Array]]:
        """The same by real agents."""
        due: deque[int] = deque()
        network = Network(
            [
                Agent(
                    Settings(
                        name=agent_name(a),
                        identity=InProcess(agent_name(a)),
                        neighbours=tuple(map(agent_name, self.world.graph.neighbours(a).tolist())),
                        profile=profile,
                        algorithm=Relay(release_squares=self.squares),
                    )
                )
                for a, profile in enumerate(self.profiles)
            ],
            lambda _: due.popleft(),
        )
        blocks = [0] * AGENTS
        before = np.zeros(AGENTS, np.int64)
        for t, samples in enumerate(self.samples, start=1):
            counts = self.world.counts(t)
            for a in np.flatnonzero(counts > before).tolist():
                network.observe(agent_name(a), float(samples[a]))
            before = counts
            for a, agent in enumerate(network.agents.values()):
                if agent.draws_due:
                    kinds = len(agent.draws_due)
                    due.extend(self.draws[:kinds, blocks[a], a].tolist())
                    blocks[a] += 1
            network.run_round()
            if t in ASKED:
                for agent in network.agents.values():
                    agent.boards._learned = None
                found = [network.estimate(agent_name(a)) for a in range(AGENTS)]
                yield (
                    t,
                    np.array(
                        [(one.value, one.high - one.value, one.class_size) for one in found]
                    ).T,
                )


def check(played: Played) -> None:
    gained = False
    for (t, ours), (_, theirs) in zip(played.simulated(), played.real(), strict=True):
        where = f"round {t}"
        np.testing.assert_allclose(ours[:2], theirs[:2], rtol=0, atol=TOLERANCE, err_msg=where)
        np.testing.assert_array_equal(np.rint(ours[2]), theirs[2], err_msg=where)
        gained |= bool((theirs[2] > 2).any())
    assert gained, "the case must have something to say"


@pytest.mark.parametrize(
    ("graph", "privacy", "squares"),
    [
        ("regular", "2", False),
        ("regular", "4", True),
        ("regular", "inf", False),
        ("path", "4", False),
        ("path", "inf", True),
        ("path", "own", False),
        ("path", "own", True),
    ],
)
def test_answers_are_those_of_real_agents(graph: str, privacy: str, squares: bool) -> None:
    """Value and interval to 1e-6 of sigma, by the boards that they have in that round."""
    check(Played(graph, privacy, squares=squares))


@pytest.mark.parametrize("graph", ["complete", "star, and a pair apart"])
def test_so_they_are_on_other_graphs(graph: str) -> None:
    """Nobody hears of those to whom there is no path."""
    check(Played(graph, "own", squares=True))


def test_so_they_are_where_everybody_has_a_pace_of_its_own() -> None:
    """From a sample a round to one in ten."""
    paces = [(1.0, 0.5, 0.3, 0.1)[a % 4] for a in range(AGENTS)]
    check(Played("regular", "4", squares=False, pace_per_agent=paces))


def test_chunks_do_not_matter_and_warm_starts_little() -> None:
    """EM ends within its tolerance wherever it begins: a hundredth of a standard deviation."""
    played = Played("regular", "4", squares=False)
    rounds = zip(played.simulated(), played.simulated(chunk=13), strict=True)
    assert all(np.array_equal(one, other) for (_, one), (_, other) in rounds)
    for (_, cold), (_, warm) in zip(played.simulated(), played.simulated(warm=True), strict=True):
        assert np.abs(cold[:2] - warm[:2]).max() < 1e-2 * SIGMA


def test_whoever_is_evaluated_stands_for_all_who_hold_the_same_board() -> None:
    """Over all who could have been asked alone, the average is that of asking everybody."""
    played = Played("regular", "4", squares=False)
    player, means = played.player(), played.means()
    groups = set()
    for before, last in pairwise(range(0, 80, 4)):
        part = SimpleNamespace(first=before + 1, last=last, data=means[before:last])
        player.advance(cast(Chunk, part), played.units)
        weights = []
        for asked in range(AGENTS):
            player._is_evaluated = (np.arange(AGENTS) == asked)[:, None]
            weights.append(player._answers(last, means[last - 1])[1])
            groups.add(np.count_nonzero(weights[-1]))
        np.testing.assert_allclose(np.sum(weights, axis=0), 1)
    assert len(groups) > 2, "some share a board, not always all"
