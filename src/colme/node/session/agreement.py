"""What neighbours must have alike, and which of it they do not."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from hashlib import sha256
from typing import Any, Self

from colme import plugins
from colme.node.config import Agreed
from colme.node.wire import PROTOCOL
from colme.rules.decision import RULES, DecisionRule


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreed part of a configuration, as text, so that any language can compare it."""

    facts: Mapping[str, str]

    @classmethod
    def of(cls, agreed: Agreed) -> Self:
        """The facts that matter for this algorithm and these rounds; numbers as Python writes them.

        Names are what they stand for, never an alias: two versions may mean different things by it.
        """
        lo, hi = agreed.bounds
        facts = {
            "protocol": PROTOCOL,
            "bounds": f"{lo!r},{hi!r}",
            "algorithm": agreed.algorithm,
        }
        if not agreed.in_rounds:
            return cls(facts)
        facts["rounds"] = agreed.rounds
        rule = agreed.decision_rule
        if rule is not None:
            facts["rule"] = _identity(rule)
        if agreed.rounds == "clock":
            facts["interval"] = repr(agreed.interval)
            facts["start"] = agreed.start.astimezone(UTC).isoformat()
        return cls(facts)

    @property
    def digest(self) -> bytes:
        """SHA-256 of the facts in order of their names."""
        text = "".join(f"{name}={self.facts[name]}\n" for name in sorted(self.facts))
        return sha256(text.encode()).digest()

    def difference(self, theirs: Mapping[str, str]) -> tuple[str, str, str] | None:
        """The first fact that differs: its name, theirs and mine."""
        for name in sorted({*self.facts, *theirs}):
            seen, expected = theirs.get(name, "nothing"), self.facts.get(name, "nothing")
            if seen != expected:
                return name, seen, expected
        return None


def _identity(rule: DecisionRule) -> str:
    """Its name, or `module:class` of one's own, and its fields as JSON in order of their names."""
    built_in = type(rule) in RULES.values()
    name = plugins.rule_name(rule) if built_in else plugins.text_of(type(rule))
    fields = _as_numbers(plugins.fields_of(rule))
    return f"{name} {json.dumps(fields, sort_keys=True, separators=(',', ':'))}"


def _as_numbers(value: Any) -> Any:
    """Whole numbers with a point, so that a number is the same fact however it was written."""
    if isinstance(value, Mapping):
        return {key: _as_numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_numbers(one) for one in value]
    exact = type(value) is int and abs(value) <= 2**53
    return float(value) if exact else value
