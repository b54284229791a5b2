"""The same seeds give the same bits as in 0.1.0, whose words these scenarios are written in.

pinned.json has what that version computed, as hexadecimal floats. Who changes a number on purpose
says why, and computes the file anew.
"""

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest

from colme.sim.scenario import Scenario
from colme.sim.study import simulate

PINNED = json.loads((Path(__file__).parent / "pinned.json").read_text())

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
        "runs": 3,
        "seed": 9,
        "algorithms": [
            {"rule": "recommended"},
            {"name": "learned", "rule": "recommended", "variance": "released"},
            {"rule": "paper"},
            {"rule": "local"},
            {"rule": "ideal"},
            {"rule": "colme", "delta": 0.1, "weights": "soft"},
            {"rule": "c-colme", "delta": 0.1, "global_reset": True},
            {"rule": "b-colme", "delta": 0.1, "depth": 2},
            {"rule": "private-colme"},
        ],
    },
    "own epsilons": {
        "agents": 12,
        "graph": {"degree": 4},
        "epsilon_per_agent": [1.0, 4.0, inf] * 4,
        "rounds": 200,
        "runs": 2,
        "seed": 3,
        "algorithms": [{"rule": "bernstein"}, {"rule": "optimistic"}, {"rule": "recommended"}],
    },
}


def hexed(values: Any) -> Any:
    return [hexed(one) for one in values] if isinstance(values, list) else float(values).hex()


@pytest.mark.parametrize("case", CASES)
def test_the_same_seed_gives_the_same_bits_as_before(case: str) -> None:
    result, pinned = simulate(Scenario.build(**CASES[case])).isel(degree=0), PINNED[case]
    assert result.algorithm.values.tolist() == list(pinned["algorithms"])
    for label, expected in pinned["algorithms"].items():
        cell = result.sel(algorithm=label)
        end = cell.isel(t=-1)
        assert hexed(cell.mse.sel(t=pinned["t"]).values.tolist()) == expected["mse"], label
        for name in ("mse_se", "accepted_size", "payload"):
            assert hexed(end[name].values.tolist()) == expected[name], (label, name)
    assert hexed(float(result.mse_local[-1])) == pinned["local"]
    assert hexed(float(result.mse_ideal[-1])) == pinned["ideal"]
