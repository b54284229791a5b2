"""colme: agents learn their own means faster together than alone, privately, with no server."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

__version__ = "0.2.0"

_HOMES = {
    "Agent": "colme.protocol.agent",
    "Bernstein": "colme.rules.decision",
    "DecisionRule": "colme.rules.decision",
    "Forecast": "colme.plan.forecast",
    "Graph": "colme.graph",
    "Network": "colme.network",
    "Node": "colme.node.node",
    "OptimisticDistance": "colme.rules.decision",
    "Oracle": "colme.rules.decision",
    "Own": "colme.inference.answers",
    "Paper": "colme.protocol.rounds.paper",
    "Posterior": "colme.inference.answers",
    "PowerTheta": "colme.rules.decision",
    "Profile": "colme.rules.release",
    "Prospect": "colme.theory",
    "Question": "colme.plan.question",
    "Relay": "colme.relay",
    "Release": "colme.rules.release",
    "Scenario": "colme.sim.scenario",
    "SecureLaplace": "colme.privacy.mechanism",
    "SeededLaplace": "colme.privacy.mechanism",
    "Settings": "colme.protocol.settings",
    "ThresholdRule": "colme.rules.decision",
    "TightBernstein": "colme.rules.decision",
    "forecast": "colme.plan.forecast",
    "paper_theta": "colme.rules.decision",
    "posterior": "colme.inference.answers",
    "simulate": "colme.sim.simulation",
    "study": "colme.studies.study",
}
"""Imported when they are asked for: `import colme` waits neither for numpy nor for a compiler.

Type checkers read __init__.pyi, which has the same names (`tests/test_top.py`).
"""

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        try:
            value = getattr(import_module(_HOMES[name]), name)
        except ModuleNotFoundError as missing:
            from colme.errors import needs

            extra = "node" if _HOMES[name].startswith("colme.node") else "sim"
            raise ModuleNotFoundError(needs(missing.name, extra), name=missing.name) from None
    elif not name.startswith("_") and find_spec(f"colme.{name}") is not None:
        value = import_module(f"colme.{name}")
    else:
        remedy = ". It was retired: use colme.Relay" if name == "Tracking" else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{remedy}")
    globals()[name] = value  # asked for once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
