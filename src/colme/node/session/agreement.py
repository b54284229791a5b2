"""What neighbours must have alike, and which of it they do not."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from hashlib import sha256
from typing import Self

from colme.node.config import Agreed

PROTOCOL = "colme.v1"
"""The package of `neighbour.proto`."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreed part of a configuration, as text, so that any language can compare it."""

    facts: Mapping[str, str]

    @classmethod
    def of(cls, agreed: Agreed) -> Self:
        """The facts that matter for these rounds and this rule; numbers as Python writes them."""
        lo, hi = agreed.bounds
        facts = {
            "protocol": PROTOCOL,
            "bounds": f"{lo!r},{hi!r}",
            "rule": agreed.rule,
            "rounds": agreed.rounds,
        }
        if agreed.rule == "paper":
            facts["theta"] = f"{agreed.theta.scale!r},{agreed.theta.exponent!r}"
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
