"""The algorithms of a scenario: a table for each, with the options that it has, and no others."""

from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, SerializeAsAny

from colme import plugins
from colme.algorithms import ALIASES, resolved
from colme.config import KindBy, validated
from colme.errors import ConfigError, one_of
from colme.protocol.algorithm import Algorithm
from colme.protocol.rounds.paper import Paper
from colme.relay import Relay
from colme.rules.consensus import stepped_alpha, theorem_alpha
from colme.rules.decision import RULES, DecisionRule
from colme.sim.engines import TABLES, AlgorithmTable, OwnTable

_BY_NAME: dict[str, type[AlgorithmTable]] = {
    get_args(one.model_fields["algorithm"].annotation)[0]: one for one in TABLES
}
"""Beside these there is whatever has the form module:attribute."""

NAMES = [*ALIASES, *_BY_NAME, *RULES]
"""All that an algorithm may be called. A rule's name stands for the paper's algorithm with it."""

OWN = "module:attribute"


def as_table(value: Any) -> AlgorithmTable:
    """Return the table of a name, an `Algorithm`, a custom object, or fields."""
    if isinstance(value, AlgorithmTable):
        return value
    fields = _as_fields(value)
    if isinstance(fields["algorithm"], str) and fields["algorithm"] in _BY_NAME:
        table: AlgorithmTable = KindBy("algorithm").pick(_BY_NAME, fields)
        return table
    return validated(OwnTable, fields)


def _as_fields(value: Any) -> dict[str, Any]:
    if isinstance(value, Algorithm):
        return _fields_of(value)
    if isinstance(value, str | DecisionRule) or callable(value):
        value = {"algorithm": value}
    if not isinstance(value, dict):
        raise ConfigError("algorithm", value, f"one of {', '.join(NAMES)}, a table or an object")
    fields = {key: one for key, one in value.items() if one is not None}
    if isinstance(fields.get("rule"), str) and fields["rule"] in (*ALIASES, *_BY_NAME):
        # Version 0.1.0 had one word for both, and recommended another algorithm than today's.
        expected = f'a decision rule; for this algorithm, algorithm = "{fields["rule"]}" alone'
        raise ConfigError("rule", fields["rule"], expected)
    algorithm = fields.get("algorithm")
    if algorithm is None:
        named = isinstance(fields.get("rule"), str) and fields["rule"] in RULES
        algorithm = fields["rule"] if named else "paper" if "rule" in fields else "recommended"
    if isinstance(algorithm, str) and algorithm in RULES:
        if fields.get("rule", algorithm) != algorithm:
            expected = f"no rule: {algorithm!r} is the paper's algorithm with that rule"
            raise ConfigError("rule", fields["rule"], expected)
        fields = {"name": algorithm, "rule": algorithm} | fields
        algorithm = "paper"
    if _is_rule(algorithm):
        return {**fields, "algorithm": "paper", "rule": algorithm}
    if isinstance(algorithm, str):
        algorithm = resolved(algorithm)
        if algorithm not in _BY_NAME and not plugins.is_own(algorithm):
            raise ConfigError("algorithm", algorithm, one_of(algorithm, [*NAMES, OWN]))
    return fields | {"algorithm": algorithm}


def _is_rule(value: Any) -> bool:
    """Whether it is a rule of the user's own, which the paper's algorithm can decide by."""
    found = plugins.load("algorithm", value) if plugins.is_own(value) else value
    return isinstance(found, DecisionRule) or (
        isinstance(found, type) and issubclass(found, DecisionRule)
    )


def _fields_of(algorithm: Algorithm) -> dict[str, Any]:
    """An object of the library, as far as the simulator can do what it does."""
    match algorithm:
        case Paper(rule=rule, alpha=alpha) if algorithm == Paper(rule=rule, alpha=alpha):
            names = {stepped_alpha: "stepped", theorem_alpha: "theorem"}
            if alpha in names:
                return {"algorithm": "paper", "rule": rule, "alpha": names[alpha]}
        case Relay(release_squares=squares, capacity=capacity):
            variance = "released" if squares else "known"
            return {"algorithm": "relay", "variance": variance, "capacity": capacity}
    expected = "Paper with one of its own alphas, or Relay"
    raise ConfigError("algorithm", algorithm, expected)


AnyAlgorithm = Annotated[SerializeAsAny[AlgorithmTable], BeforeValidator(as_table)]
"""One of the tables, by its name."""
