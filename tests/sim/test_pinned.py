"""The same seeds give the same bits as before, in the words of 0.1.0.

pinned.json has what was computed then, as hexadecimal floats. Who changes a number on purpose says
why in the changelog, and computes the file anew: `python tests/sim/test_pinned.py`.
"""

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest

from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate

FILE = Path(__file__).parent / "pinned.json"

CASES: dict[str, dict[str, Any]] = {
    "kernel": {
        "agents": 30,
        "graph": {"degree": [4, 6]},
        "epsilon": [1, inf],
        "rounds": 120,
        "runs": 40,
        "seed": 5,
        "algorithms": [
            {"rule": "oracle"},
            {"rule": "bernstein"},
            {"name": "patient", "rule": "bernstein", "theta": {"scale": 1.9, "exponent": 0.2}},
            {"rule": "optimistic", "delta": 0.5, "alpha": "theorem"},
        ],
    },
    "everything": {
        "agents": 24,
        "graph": {"family": "erdos-renyi", "degree": 5},
        "means": [0.3, 0.6],
        "data": {"distribution": "beta", "concentration": 4.0},
        "epsilon": [4],
        "rounds": 300,
        "recorded": [1, 29, 66, 117, 182, 240, 300],
        "runs": 3,
        "seed": 9,
        "algorithms": [
            {"algorithm": "paper"},
            {"algorithm": "local"},
            {"algorithm": "ideal"},
            {"algorithm": "colme", "delta": 0.1, "weights": "soft"},
            {"algorithm": "c-colme", "delta": 0.1, "global_reset": True},
            {"algorithm": "b-colme", "delta": 0.1, "depth": 2},
            {"algorithm": "private-colme"},
        ],
    },
    "own epsilons": {
        "agents": 12,
        "graph": {"degree": 4},
        "epsilon_per_agent": [1.0, 4.0, inf] * 4,
        "rounds": 200,
        "recorded": [1, 23, 50, 82, 118, 154, 192, 200],
        "runs": 2,
        "seed": 3,
        "algorithms": [{"rule": "bernstein"}, {"rule": "optimistic"}],
    },
}


def hexed(values: Any) -> Any:
    return [hexed(one) for one in values] if isinstance(values, list) else float(values).hex()


def computed(case: str) -> Any:
    """What is pinned of a case."""
    result = simulate(Scenario.build(**CASES[case])).isel(degree=0)
    rounds = result.t.values[:: max(1, len(result.t) // 6)].tolist()
    return {
        "t": rounds,
        "local": hexed(float(result.mse_local[-1])),
        "ideal": hexed(float(result.mse_ideal[-1])),
        "algorithms": {
            label: {"mse": hexed(cell.mse.sel(t=rounds).values.tolist())}
            | {
                name: hexed(cell.isel(t=-1)[name].values.tolist())
                for name in ("mse_se", "accepted_size", "payload")
            }
            for label in result.algorithm.values.tolist()
            for cell in [result.sel(algorithm=label)]
        },
    }


@pytest.mark.parametrize("case", CASES)
def test_the_same_seed_gives_the_same_bits_as_before(case: str) -> None:
    assert computed(case) == json.loads(FILE.read_text())[case]


if __name__ == "__main__":
    FILE.write_text(json.dumps({case: computed(case) for case in CASES}, indent=1) + "\n")
