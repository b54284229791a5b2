"""Scenarios as 0.1.0 wrote them: one word, `rule`, for algorithms and rules alike."""

from collections.abc import Mapping
from typing import Any

from colme.rules.decision import RULES

RECOMMENDED = "tracking"
"""What 0.1.0 recommended, whatever is recommended now."""

_DEFAULTS: Mapping[str, Any] = {
    "name": "",
    "theta": "paper",
    "delta": 1.0,
    "alpha": "stepped",
    "release": "every-sample",
    "weights": "simple",
    "restricted": False,
    "global_reset": False,
    "depth": 3,
    "variance": "known",
}


def upgraded(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The same scenario, in today's words."""
    algorithms = fields.get("algorithms")
    if not isinstance(algorithms, list | tuple):
        return dict(fields)
    # One that was saved with its result has everything, also what never applied.
    graph = fields.get("graph")
    whole = isinstance(graph, dict) and graph.keys() >= {"degree", "rewired", "file", "edges"}
    now = {**fields, "algorithms": [_upgraded(one, whole=whole) for one in algorithms]}
    if whole:
        for table, tag, default in (
            ("graph", "family", "random-regular"),
            ("data", "distribution", "uniform"),
        ):
            now[table] = _without_unused(dict(now.get(table, {})), tag, default)
    return now


def _upgraded(one: Any, *, whole: bool) -> Any:
    if not isinstance(one, dict) or "algorithm" in one or not isinstance(one.get("rule"), str):
        return one
    rule = one["rule"]
    others = {key: value for key, value in one.items() if key != "rule"}
    if whole:
        others = {key: value for key, value in others.items() if _DEFAULTS.get(key) != value}
    others.pop("release", None)  # it had one value
    if rule == "recommended":
        return _renamed(others) | {"algorithm": RECOMMENDED}
    if rule in RULES:
        return {"name": rule} | others | {"algorithm": "paper", "rule": rule}
    return one if ":" in rule else others | {"algorithm": rule}


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    name = fields.pop("name", "")
    renamed = label_of_today(name) if isinstance(name, str) else name
    return fields if renamed in ("", RECOMMENDED) else {"name": renamed, **fields}


def label_of_today(label: str) -> str:
    """What a label of 0.1.0 says in today's words."""
    head, comma, rest = label.partition(",")
    return f"{RECOMMENDED}{comma}{rest}" if head == "recommended" else label


def _without_unused(table: dict[str, Any], tag: str, default: str) -> dict[str, Any]:
    has = {
        "small-world": {"degree", "rewired"},
        "edges": {"file", "edges"},
        "grid": set(),
        "complete": set(),
        "bernoulli": set(),
        "beta": {"concentration"},
        "truncated-normal": {"sigma", "half_range"},
        "empirical": {"values", "file"},
        "uniform": {"sigma"},
        "normal": {"sigma"},
    }.get(table.get(tag, default), {"degree"})
    return {key: value for key, value in table.items() if key == tag or key in has}
