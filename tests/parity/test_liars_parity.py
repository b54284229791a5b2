"""Agents that lie are the same in the simulator and in a network of real agents.

A whole study runs as it always does; what it drew is played again by real agents, of which the
liars release what the lie says. Real agents round samples to their lattice, by 1e-6 of a range.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from colme.network import Network
from colme.protocol.agent import Agent
from colme.protocol.algorithm import Algorithm
from colme.protocol.board.identity import InProcess
from colme.protocol.rounds.paper import Paper
from colme.protocol.settings import Settings
from colme.rules.decision import DecisionRule, Situation
from colme.rules.release import Profile, Release, laplace_scale
from colme.sim.batch import Batch
from colme.sim.engines import PaperTable, Record
from colme.sim.scenario import Scenario
from colme.sim.simulation import Prepared
from support.watching import Watching, watched
from support.worlds import accepted_in, adjacency_of, agent_name, estimates

AGENTS, ROUNDS, EPSILON, SEED = 12, 100, 8.0, 5
TOLERANCE = 1e-3  # of a sum of squared errors of about 0.01: the lattice moves answers by 1e-6


def scenario(algorithm: str, liars: dict[str, Any]) -> Scenario:
    """Classes near enough for edges to come and go."""
    return Scenario.build(
        agents=AGENTS,
        graph={"degree": 4},
        means=[0.2, 0.3, 0.8],
        data={"sigma": 0.1},
        epsilon=EPSILON,
        rounds=ROUNDS,
        runs=1,
        seed=SEED,
        liars={"share": 0.25} | liars,
        algorithms=[algorithm],
    )


def told(study: Scenario, t: int, mean: float, truth: float, sd: float) -> float:
    """By hand."""
    lie: Any = study.liars
    by_kind: dict[str, Callable[[], float]] = {
        "bias": lambda: mean + lie.by,
        "off": lambda: truth + lie.deviations * sd,
        "constant": lambda: lie.value,
        "false-class": lambda: mean - truth + lie.mean,
    }
    return by_kind[lie.kind]()


@dataclass
class Lying:
    """What an agent's own data seem to be: set before every round."""

    profile: Profile
    times: int
    no_variance: bool
    lie: float = 0.0
    count: int = 0
    draws: int = 0

    def release(self, rule: DecisionRule) -> Release | None:
        if self.count == 0:
            return None
        count, draws = self.times * self.count, self.times * self.draws
        return Release(
            count=count,
            mean=self.lie,
            variance=0.0 if self.no_variance else self.profile.released_variance(count, draws),
            beta=rule.parameter(self.profile, count, draws),
        )


def algorithm_of(study: Prepared) -> Algorithm:
    table = study.scenario.algorithms[0]
    assert isinstance(table, PaperTable)
    situation = Situation(agents=AGENTS, degree=study.mean_degree, epsilon=EPSILON)
    rule = table.rule_in(situation)
    assert rule is not None
    return Paper(rule=rule)


LIES: dict[str, dict[str, Any]] = {
    "bias": {"kind": "bias", "by": 0.05},
    "off": {"kind": "off", "deviations": -1.5},
    "constant": {"kind": "constant", "value": 0.25},
    "false class": {"kind": "false-class", "mean": 0.25},
    "no variance": {"kind": "bias", "by": 0.02, "no_variance": True},
    "many samples": {"kind": "bias", "by": 0.02, "count_times": 50},
}


@pytest.mark.parametrize("algorithm", ["bernstein", "tight"])
@pytest.mark.parametrize("lie", LIES)
def test_honest_agents_hear_what_real_ones_would(algorithm: str, lie: str) -> None:
    """Accepted sets and who answers alone, exactly; errors to the lattice; in every round."""
    study, batch, seen = watched(scenario(algorithm, LIES[lie]), runs=1)
    record: Record = batch.engines[0].measured()[study.cells[0]]
    played = list(replayed(study, batch, seen))
    assert study.recorded.tolist() == list(range(1, ROUNDS + 1))
    for name in ("size", "local", "missed", "mixed_up"):
        np.testing.assert_array_equal(record[name][:, 0], [one[name] for one in played], name)
    errors = [one["error"] for one in played]
    np.testing.assert_allclose(record["error"][:, 0], errors, rtol=TOLERANCE)
    assert len({one["size"] for one in played}) > 1, "the case must have edges that come or go"


def replayed(study: Prepared, batch: Batch, seen: Watching) -> Iterator[dict[str, float]]:
    world, setting = batch.world, study.setting
    honest, truth = world.honest[:, 0], world.truth[:, 0] + setting.centre
    profiles = [
        replace(one, bounds=(float(mean) + one.bounds[0], float(mean) + one.bounds[1]))
        for one, mean in zip(world.profiles(0)[0], truth, strict=True)
    ]
    algorithm = algorithm_of(study)
    noise: deque[int] = deque()
    agents = [
        Agent(
            Settings(
                name=agent_name(a),
                identity=InProcess(agent_name(a)),
                neighbours=tuple(map(agent_name, world.graph.neighbours(a).tolist())),
                profile=profiles[a],
                algorithm=algorithm,
            )
        )
        for a in range(AGENTS)
    ]
    lying = study.scenario.liars
    assert lying is not None
    liars = {
        a: Lying(profiles[a], int(lying.count_times), lying.no_variance)
        for a in np.flatnonzero(~honest).tolist()
    }
    for a, liar in liars.items():
        agents[a].rounds._own.release = liar.release  # type: ignore[method-assign]
    network = Network(agents, lambda _: noise.popleft())
    data = seen.data[..., 0]
    counts = np.arange(1, ROUNDS + 1)[:, None]
    samples = np.diff(counts * data, axis=0, prepend=0) + setting.centre
    units = np.diff(counts * seen.noise[..., 0], axis=0, prepend=0)
    alike = truth[:, None] == truth
    edges = adjacency_of(world.graph) & honest[:, None] & honest
    scale = laplace_scale(profiles[0].half_range, EPSILON) / profiles[0].lattice_step
    for t in range(1, ROUNDS + 1):
        noise.extend(np.rint(units[t - 1] * scale).astype(int).tolist())
        for a, liar in liars.items():
            mean, sd = data[t - 1, a] + setting.centre, profiles[a].released_variance(t, t)
            liar.lie = told(study.scenario, t, mean, float(truth[a]), sd**0.5)
            liar.count, liar.draws = t, t
        network.run_round(samples[t - 1].tolist())
        accepted = accepted_in(network)
        answers = [agent.estimate for agent in agents]
        yield {
            "error": float(((estimates(network) - truth) ** 2)[honest].sum()),
            "size": sum(answers[a].class_size for a in np.flatnonzero(honest)),
            "local": sum(answers[a].trust == 0 for a in np.flatnonzero(honest)),
            "missed": int((edges & alike & ~accepted).sum()),
            "mixed_up": int((edges & ~alike & accepted).sum()),
        }
