"""The kernel and the network of real agents are the same algorithm, round by round.

One study holds every algorithm at every epsilon. Each of them is played by real agents too, in the
kernel's lane of that epsilon, whose samples and noise the agents are given as a script.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from colme.network import Network
from colme.rules.consensus import stepped_alpha, theorem_alpha
from colme.rules.decision import DecisionRule, Oracle, Situation
from colme.rules.release import Profile, laplace_scale
from colme.sim.engines import PaperEngine, PaperTable
from colme.sim.engines.paper import kernel_algorithms, own_thresholds
from colme.sim.kernel.arrays import WORD, Array, Edges, KernelState, new_graph, new_schedule, zeros
from colme.sim.kernel.generator import new_stream
from colme.sim.kernel.recording import KernelRecord, new_kernel_record
from colme.sim.kernel.rounds import measure_local, new_state, new_truth, step
from colme.sim.kernel.simd import form_of
from colme.sim.scenario import Scenario
from colme.sim.simulation import Prepared
from support.fed import feed
from support.worlds import Script, accepted_in, agent_name, estimates, join

AGENTS = 10
ROUNDS = 60
LANES = 4
FORM = form_of(np.float64, LANES)
TOLERANCE = 1e-12  # values are of order 1, and the two sides add the same numbers in another order

ALGORITHMS: list[dict[str, Any]] = [
    {"name": f"{rule}, {alpha}", "algorithm": rule, "alpha": alpha}
    for rule in ("oracle", "bernstein", "optimistic", "tight")
    for alpha in ("stepped", "theorem")
]
ALGORITHMS[3]["theta"] = {"scale": 1.9, "exponent": 0.2}  # below 2 from the first round on
IRREGULAR = [*((0, b) for b in range(1, 8)), (1, 2), (2, 3), (3, 5), (5, 8), (4, 7)]  # 9 is alone
GRAPHS = {
    "regular": {"degree": [4]},
    "irregular": {"family": "edges", "edges": IRREGULAR},
    "complete": {"family": "complete"},
}
WORLDS: dict[str, dict[str, Any]] = {
    "common": {"epsilon": [1, 8, math.inf]},
    "per agent": {"epsilon_per_agent": [(2.0, math.inf, 8.0)[a % 3] for a in range(AGENTS)]},
    "own variances": {
        "epsilon": [8, math.inf],
        "means": [0.02, 0.1, 0.5],
        "data": {"distribution": "bernoulli"},
    },
    "own variances, per agent": {
        "epsilon_per_agent": [(2.0, math.inf, 8.0)[a % 3] for a in range(AGENTS)],
        "means": [0.02, 0.1, 0.5],
        "data": {"distribution": "beta"},
    },
}


def study_of(graph: str, world: str) -> Prepared:
    """Classes near enough for edges to come and go; every lane has another placement."""
    fields: dict[str, Any] = {"means": [0.2, 0.3, 0.8], "data": {"sigma": 0.1}}
    scenario = Scenario.build(
        agents=AGENTS,
        graph=GRAPHS[graph],
        rounds=ROUNDS,
        seed=3,
        algorithms=ALGORITHMS,
        **fields | WORLDS[world],
    )
    return Prepared(scenario, scenario.graph.degrees[0])


@dataclass(frozen=True)
class Lane:
    """A world: the agents' classes, their profiles at the epsilon of this number, a script."""

    number: int
    classes: Array
    profiles: list[Profile]
    script: Script

    @classmethod
    def of(cls, scenario: Scenario, number: int) -> "Lane":
        """The scenario's profile of each agent, with the bounds moved around its own mean."""
        classes = scenario.draw_classes(number)
        centres = np.array(scenario.means)[classes]
        by_class = scenario.profiles()[number]
        own = [by_class[c][a % len(by_class[c])] for a, c in enumerate(classes.tolist())]
        profiles = [
            replace(p, bounds=(centre + p.bounds[0], centre + p.bounds[1]))
            for centre, p in zip(centres.tolist(), own, strict=True)
        ]
        return cls(number, classes, profiles, Script.random(profiles, centres, ROUNDS, number))

    def network(self, study: Prepared, algorithm: PaperTable) -> Network:
        """Real agents that live in this world."""
        strictest = min(profile.epsilon for profile in self.profiles)
        situation = Situation(agents=AGENTS, degree=study.mean_degree, epsilon=strictest)

        def rule(a: int) -> DecisionRule:
            mates = np.flatnonzero(self.classes == self.classes[a]).tolist()
            return algorithm.rule_in(situation) or Oracle(frozenset(map(agent_name, mates)))

        draws = iter(self.script.draws.ravel().tolist())
        graph = study.scenario.draw_graph(study.degree, 0)
        alpha = {"stepped": stepped_alpha, "theorem": theorem_alpha}[algorithm.alpha]
        return join(graph, self.profiles, rule, lambda _: next(draws), alpha)


def kernel_rounds(
    study: Prepared, edges: Edges, lanes: list[Lane]
) -> Iterator[tuple[KernelState, KernelRecord, Array]]:
    """The state after every round, and the record with a row for each; spare lanes stand still."""
    entrants, prepared = study.entrants[PaperEngine], study.prepared[PaperEngine]
    algorithms = kernel_algorithms(study.setting, entrants, prepared, edges.indices.size, FORM)
    own = own_thresholds(study.setting, entrants, prepared, edges, algorithms)
    classes = np.zeros((AGENTS, LANES), np.int64)
    samples, units = np.zeros((2, ROUNDS, AGENTS, LANES))
    for lane in lanes:
        noise = lane.script.noise
        scale = np.array([laplace_scale(p.half_range, p.epsilon) for p in lane.profiles])
        classes[:, lane.number] = lane.classes
        samples[..., lane.number] = lane.script.samples - study.setting.centre
        quiet = np.zeros_like(noise)
        units[..., lane.number] = np.divide(noise, scale, out=quiet, where=scale > 0)
    population = study.origin(classes, FORM)
    schedule = new_schedule(ROUNDS, range(1, ROUNDS + 1))
    stream = new_stream(FORM, AGENTS, 0, range(LANES))
    start = -study.setting.centre
    state = new_state(FORM, edges, algorithms, population, start=start)
    truth = new_truth(FORM, edges, population.location)
    record = new_kernel_record(FORM, algorithms, ROUNDS)
    local_error = zeros((ROUNDS, LANES), np.float64)
    for t in range(1, ROUNDS + 1):
        feed(t, t, samples, units, stream)
        for thresholds in own.values():
            thresholds.fill(t, t)
        for k in range(algorithms.rule.size):
            step(FORM, k, t, t, edges, truth, schedule, algorithms, stream, state, record)
        measure_local(FORM, t, t, truth, schedule, stream, local_error)
        yield state, record, local_error


def decoded(edges: Edges, accepted: Array) -> Array:
    """The accepted sets of one lane, as `arrays.Edges` describes them, as a matrix."""
    matrix = np.zeros((AGENTS, AGENTS), dtype=bool)
    for a in range(AGENTS):
        row = edges.indices[edges.indptr[a] : edges.indptr[a + 1]]
        for w, word in enumerate(accepted[edges.words[a] : edges.words[a + 1]].view(np.uint32)):
            held = row[w * WORD : (w + 1) * WORD]
            for i, b in enumerate(held):
                matrix[a, b] = matrix[b, a] = bool(int(word) >> (len(held) - 1 - i) & 1)
    return matrix


@pytest.mark.parametrize(
    ("graph", "world"),
    [
        (graph, world)
        for graph in GRAPHS
        for world in WORLDS
        if graph == "irregular" or not world.startswith("own")
    ],
)
def test_kernel_and_real_agents_agree_round_by_round(graph: str, world: str) -> None:
    """Algorithm 1 with every rule, alpha and epsilon: the same decisions, values to 1e-12.

    What agents answer shows in the record: the sums of squared errors, the sizes and how many
    answer locally.
    """
    study = study_of(graph, world)
    scenario = study.scenario
    drawn = scenario.draw_graph(study.degree, 0)
    edges = new_graph(drawn.indptr, drawn.indices)
    lanes = [Lane.of(scenario, number) for number in range(len(study.setting.profiles))]
    tables = [table for table in scenario.algorithms if isinstance(table, PaperTable)]
    cells = [(algorithm, lane) for algorithm in tables for lane in lanes]
    networks = [lane.network(study, algorithm) for algorithm, lane in cells]
    decisions: list[set[bytes]] = [set() for _ in cells]
    for t, (state, record, locally) in enumerate(kernel_rounds(study, edges, lanes), start=1):
        for k, (network, (algorithm, lane)) in enumerate(zip(networks, cells, strict=True)):
            where, number, row = f"{algorithm.label} in round {t}", lane.number, t - 1
            network.run_round(lane.script.samples[row].tolist())
            accepted = decoded(edges, state.accepted[k, :, number])
            np.testing.assert_array_equal(accepted, accepted_in(network), where)
            consensus = [agent.consensus for agent in network.agents.values()]
            mine = state.mu[k, t % 2, :, number] + study.setting.centre
            np.testing.assert_allclose(mine, consensus, rtol=0, atol=TOLERANCE, err_msg=where)
            answers = [agent.estimate for agent in network.agents.values()]
            truth = np.array(scenario.means)[lane.classes]
            error = ((estimates(network) - truth) ** 2).sum()
            local_error = ((np.array([answer.alone for answer in answers]) - truth) ** 2).sum()
            assert abs(record.error[k, row, number] - error) < TOLERANCE, where
            assert abs(locally[row, number] - local_error) < TOLERANCE, where
            assert record.size[k, row, number] == sum(answer.class_size for answer in answers)
            assert record.local[k, row, number] == sum(not a.collaborative for a in answers)
            decisions[k].add(accepted.tobytes())
    for (algorithm, _), seen in zip(cells, decisions, strict=True):
        assert len(seen) == 1 if algorithm.rule == "oracle" else len(seen) > 1
    assert sum(map(len, decisions)) > 3 * len(cells), "the case must exercise the reset of alpha"
