"""What `colme bench --node` measures: ratios to the bare parts, in one run."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from colme.node.owner import OwnerClient
from colme.node.trial.commit_speed import commit_rates
from colme.node.trial.echo import echo_cost
from colme.node.trial.fleet import Fleet, Plan, outcome, prepare
from colme.node.trial.memory import Footprint, footprints
from colme.protocol.rounds.tracking import Tracking

MESSAGE_BYTES = 40
"""A release on the wire, the largest of the three messages."""
ECHO_CALLS = 2000
WARM_UP_ROUNDS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpeed:
    """What a node costs here, and what the bare parts cost in the same run."""

    message_us: float
    """Processor time for a message of a fleet: both sides, rounds and commits included."""
    echo_us: float
    """The same for a bare unary call, half before the fleet and half after it."""
    commits_per_second: float
    bare_commits_per_second: float
    rounds_per_second: float
    cores_used: float
    """By the whole fleet, of those there are."""
    cores: int
    idle: Footprint
    """Of a node that relays and was never asked."""
    answered: Footprint
    """The same once it was."""

    @property
    def message_ratio(self) -> float:
        """At most 1.5 is asked for."""
        return self.message_us / self.echo_us

    @property
    def commit_ratio(self) -> float:
        """At least 0.5 is asked for."""
        return self.commits_per_second / self.bare_commits_per_second


def measure(folder: Path, *, rounds: int, progress: Callable[[str], None]) -> NodeSpeed:
    """Echo, fleet, echo, commits, memory; a few minutes at most."""
    progress("bare calls")
    echo = echo_cost(folder / "echo before", size=MESSAGE_BYTES, calls=ECHO_CALLS)
    plan = Plan(rounds=rounds, algorithm=Tracking.name)  # So many messages a round.
    members = prepare(plan, folder / "fleet")
    with Fleet(members) as fleet:
        clients: list[OwnerClient] = []
        before, began = _Counts(), 0.0
        for sights in fleet.watch():
            progress(f"fleet: round {min(sight.round for sight in sights)} of {rounds}")
            if not clients and min(sight.round for sight in sights) >= WARM_UP_ROUNDS:
                clients = [OwnerClient(member.config) for member in members]
                before, began = _Counts.of(clients), monotonic()
        seconds = monotonic() - began
        after = _Counts.of(clients)
        result = outcome(sights, plan.rounds)
    progress("bare calls again")
    echo += echo_cost(folder / "echo after", size=MESSAGE_BYTES, calls=ECHO_CALLS)
    progress("commits")
    ours, bare = commit_rates(folder / "commits")
    progress("memory")
    idle, answered = footprints(folder / "idle")
    spent = after.processor_seconds - before.processor_seconds
    return NodeSpeed(
        message_us=1e6 * spent / (after.messages - before.messages),
        echo_us=1e6 * echo / 2,
        commits_per_second=ours,
        bare_commits_per_second=bare,
        rounds_per_second=result.rounds_per_second,
        cores_used=spent / seconds,
        cores=os.cpu_count() or 1,
        idle=idle,
        answered=answered,
    )


@dataclass(frozen=True, slots=True)
class _Counts:
    """Of all nodes together."""

    processor_seconds: float = 0.0
    messages: float = 0.0

    @classmethod
    def of(cls, clients: list[OwnerClient]) -> "_Counts":
        seen = [client.metrics() for client in clients]
        return cls(
            sum(one["process_cpu_seconds_total"] for one in seen),
            sum(one["colme_messages_sent_total"] for one in seen),
        )
