"""Relay and Private-C-ColME beside the systems that came before, in two settings."""

from collections.abc import Mapping
from math import inf

import numpy as np
import xarray as xr

from colme.sim.figures.figure1 import PAPER
from colme.sim.scenario import Scenario

_BASELINES = [
    {"algorithm": "local"},
    {"algorithm": "ideal"},
    {"algorithm": "c-colme", "delta": 0.1},
    {"name": "c-colme, global reset", "algorithm": "c-colme", "delta": 0.1, "global_reset": True},
    {"algorithm": "b-colme", "delta": 0.1},
]
_NO_GRAPH = [
    {"name": "colme, simple", "algorithm": "colme", "delta": 0.1},
    {"name": "colme, soft", "algorithm": "colme", "delta": 0.1, "weights": "soft"},
    {"name": "colme, aggressive", "algorithm": "colme", "delta": 0.1, "weights": "aggressive"},
    {"name": "colme, restricted", "algorithm": "colme", "delta": 0.1, "restricted": True},
    {"algorithm": "private-colme"},
]
_THESE = [{"name": "private-c-colme", "algorithm": "paper"}]

RECORDED = 80
"""Rounds, evenly spaced on a log scale."""

OURS = PAPER.changed(
    graph={"degree": [20]},
    epsilon=[4.0, inf],
    rounds=10_000,
    runs=64,
    tolerance=0.02,
    recorded=RECORDED,
    eventful=False,
    algorithms=[*_THESE, {"algorithm": "relay"}, *_BASELINES, *_NO_GRAPH],
)
"""This paper's setting: 200 agents in three classes."""

GALANTES = Scenario.model_validate(
    {
        "agents": 10_000,
        "graph": {"degree": [10]},
        "means": [0.0, 1.0],
        "data": {"distribution": "normal", "sigma": 2.0},
        "epsilon": [inf],
        "rounds": 2_000,
        "runs": 4,
        "tolerance": 0.1,
        "recorded": RECORDED,
        "eventful": False,
        # A fit of relay is to 4,096 records here, the capacity of a board.
        "algorithms": [*_THESE, {"algorithm": "relay", "measured": 4}, *_BASELINES],
    }
)
"""Galante et al. 2024: 10,000 agents, no privacy. ColME, which keeps numbers of everybody for
everybody, would need 2.4 GB here."""


def settings(*, quick: bool, seed: int) -> Mapping[str, Scenario]:
    """Both settings; the quick ones take less than a minute together."""
    ours, galantes = {"seed": seed}, {"seed": seed}
    if quick:
        ours |= {"runs": 2, "rounds": 4_000}
        galantes |= {"runs": 1}
    return {
        "paper": OURS.model_copy(update=ours),
        "galante": GALANTES.model_copy(update=galantes),
    }


def over_all_rounds(values: xr.DataArray) -> xr.DataArray:
    """The average: each recorded round stands for those since the one before."""
    rounds = xr.DataArray(np.diff(values.t.values, prepend=0), coords={"t": values.t}, dims="t")
    return (values * rounds).sum("t") / rounds.sum()
