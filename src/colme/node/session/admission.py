"""Who is let in: neighbours that agree with me, and whose state is no older than I remember."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from hashlib import sha256
from typing import Any, Self

from colme import plugins
from colme.errors import MessageError, StaleStateError
from colme.node.config import Agreed
from colme.node.contact import Contact
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import PROTOCOL, Reason, Refused, Standing, from_wire, to_wire
from colme.rules.decision import RULES, DecisionRule


@dataclass(frozen=True, slots=True)
class Agreement:
    """What neighbours must have alike: the agreed part of a configuration, as text.

    Any language can compare text.
    """

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


class Admission:
    """Both sides of a hello: what mine says, and what I make of theirs.

    Noise is drawn once. A node whose state was put back to an older one would draw it again for
    samples that have been released, so its neighbours remember how far it had come.
    """

    def __init__(self, agreement: Agreement, *, boot: int) -> None:
        self._agreement = agreement
        self.boot = boot
        """Drawn anew at every start: it tells apart two processes that share a state."""

    def greeting(self, told: Standing, remembered: Standing, yours: bytes = b"") -> bytes:
        """A hello; `told` has the last round of mine that may have reached the neighbour."""
        return self._hello(standing=to_wire(told), remembered=to_wire(remembered), yours=yours)

    def question(self) -> bytes:
        """A hello that only asks whether we would get along."""
        return self._hello(check=True)

    def _hello(self, **content: Any) -> bytes:
        hello = pb.Hello(
            agreement=self._agreement.digest,
            facts=dict(self._agreement.facts),
            boot=self.boot,
            **content,
        )
        return pb.Frame(hello=hello).SerializeToString()

    def require_agreement(self, peer: str, hello: pb.Hello) -> None:
        """A neighbour must have agreed on the same, or nothing of its hello means what it says."""
        if hello.agreement == self._agreement.digest:
            return
        differing = self._agreement.difference(hello.facts)
        field, seen, expected = differing or ("agreement", "another hash", "that of its facts")
        raise Refused(
            Reason.OTHER_CONFIGURATION, peer, f"agreed.{field}", seen, f"{expected!r}, as I have it"
        )

    def admit(self, peer: Contact, hello: pb.Hello, *, again: bool = False) -> Standing:
        """How far a neighbour has come, remembered from now on; Refused if it had come further.

        `again`: this process of its has a session with me. It is no older state of itself, though
        its hello may have been on its way while it told me more by that session.
        """
        theirs = _standing_in(peer.name, hello.standing)
        if again and peer.booted == (theirs.epoch, hello.boot):
            return theirs
        remembered = peer.standing
        epoch, boot = peer.booted
        cloned = epoch == theirs.epoch and boot != hello.boot
        if theirs.epoch < remembered.epoch or theirs.round < remembered.round or cloned:
            peer.is_copied |= cloned
            raise Refused(
                Reason.STALE_STATE,
                peer.name,
                "standing",
                f"start {theirs.epoch}, round {theirs.round}",
                f"at least start {remembered.epoch}, round {remembered.round}, and one process "
                "alone: your state is an old one or a copy, and would noise samples twice",
            )
        if theirs.epoch > epoch:
            peer.is_copied = False
        peer.remember(theirs)
        return theirs

    def require_newest(self, peer: str, remembered: Standing, told: Standing) -> None:
        """A neighbour must not remember more of me than I have stored of what I told it."""
        if remembered.round > told.round or remembered.epoch > told.epoch:
            raise StaleStateError(
                "state",
                f"start {told.epoch}, and {peer} told up to round {told.round}",
                f"the newest: {peer} has seen start {remembered.epoch}, round {remembered.round}. "
                "Going on would noise samples twice. Put the newest state back (colme state "
                "restore); if it is lost, move this one away and begin with an empty one, "
                "--state-lost and, for a file, --first-lines skip, and never feed it old samples",
            )


def _standing_in(peer: str, standing: pb.Standing) -> Standing:
    try:
        return from_wire(standing)
    except MessageError as error:
        raise Refused(
            Reason.INVALID_VALUE, peer, error.field, error.seen, error.expected
        ) from error


def remembered_in(peer: str, hello: pb.Hello) -> Standing:
    """How far a neighbour knows me to have come."""
    return _standing_in(peer, hello.remembered)
