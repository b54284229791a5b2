"""What a node counts, for Prometheus: never a sample, a mean or an estimate."""

from collections.abc import Sequence
from datetime import datetime

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from colme.errors import LocalProtocolError
from colme.node.log import lines_dropped
from colme.node.wire.codec import Reason
from colme.protocol.events import ExchangeStatus
from colme.protocol.rounds.state import Phase

COMMIT_SECONDS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


class Metrics:
    """One node's counts, in a registry of its own: several nodes may live in one process.

    A peer is one of the configured neighbours and a reason a Reason, so that nobody outside
    can make the number of series grow.
    """

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, peers: Sequence[str], epsilon: float) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._peers = frozenset(peers)
        self.samples_refused = 0
        """How often, for whatever reason."""

        self._round = self._gauge("round", "The last round begun.")
        self._rounds = self._counter("rounds_total", "Rounds begun.")
        deadlines = self._counter("deadlines_total", "Exchanges ended by a deadline.", "exchange")
        self._deadlines: dict[str, Counter] = {
            phase.value: deadlines.labels(phase.value) for phase in Phase if phase is not Phase.IDLE
        }

        # How many were clamped depends on their values: that is not for here.
        self.samples_taken = self._counter("samples_total", "Samples taken in.").inc
        self._samples_refused = self._counter(
            "samples_refused_total", "Samples, or batches of them, not taken in.", "reason"
        )
        self._samples_released = self._gauge("samples_released", "Samples in releases so far.")
        self._blocks_noised = self._gauge("blocks_noised", "Blocks noised so far, each once.")
        self._gauge("epsilon", "Privacy of each sample (event level, replace-one).").set(epsilon)

        # On the path of every message: a label is looked up once, here.
        sent = self._counter("messages_sent_total", "Messages sent.", "peer")
        received = self._counter("messages_received_total", "Messages received.", "peer")
        late = self._gauge("messages_late", "Messages that came after their exchange.", "peer")
        self._sent = {peer: sent.labels(peer).inc for peer in peers}
        self._received = {peer: received.labels(peer).inc for peer in peers}
        self._late = {peer: late.labels(peer) for peer in peers}
        self._messages_refused = self._counter(
            "messages_refused_total", "Messages dropped, and why.", "peer", "reason"
        )
        connected = self._gauge("peer_connected", "1 while there is a session with it.", "peer")
        suspect = self._gauge("peer_suspect", "1 while nobody waits for it.", "peer")
        self._connected = {peer: connected.labels(peer) for peer in peers}
        self._suspect = {peer: suspect.labels(peer) for peer in peers}
        self._sessions_refused = self._counter(
            "sessions_refused_total", "Callers who were not let in.", "reason"
        )

        self._class_size = self._gauge("class_size", "This node and the neighbours it accepts.")
        self._trust = self._gauge(
            "trust", "Weight of what is shared in an answer, as far as releases tell."
        )
        self._records = self._gauge("records", "Records on the board.")
        self._barred = self._gauge("origins_barred", "Origins that contradict themselves.")
        self.clock_jumped = self._counter("clock_jumps_total", "Jumps of the wall clock.").inc
        self.committed = Histogram(
            "commit_seconds",
            "Time until a state was durable.",
            namespace="colme",
            buckets=COMMIT_SECONDS,
            registry=self._registry,
        ).observe
        self.store_failed = self._counter("store_failures_total", "States not written.").inc
        dropped = self._gauge("log_lines_dropped", "Lines of the log that nobody read in time.")
        dropped.set_function(lines_dropped)
        self._expiry = self._gauge(
            "certificate_expiry_timestamp_seconds", "When a certificate expires.", "name"
        )

    def round_began(self, round_: int) -> None:
        """A round began."""
        self._round.set(round_)
        self._rounds.inc()

    def deadline_passed(self, phase: str) -> None:
        """The exchange of this phase went on without a silent neighbour."""
        self._deadlines[phase].inc()

    def sample_refused(self, reason: Reason) -> None:
        """A sample, or a whole batch of them, was not taken in."""
        self._samples_refused.labels(reason.value).inc()
        self.samples_refused += 1

    def released(self, *, samples: int, blocks: int) -> None:
        """What all releases so far hold."""
        self._samples_released.set(samples)
        self._blocks_noised.set(blocks)

    def sent(self, peer: str) -> None:
        """A message left."""
        self._sent[peer]()

    def received(self, peer: str) -> None:
        """A message arrived."""
        self._received[peer]()

    def message_refused(self, peer: str, reason: Reason) -> None:
        """A message was dropped."""
        if peer not in self._peers:
            raise LocalProtocolError("peer", peer, "a neighbour of the configuration")
        self._messages_refused.labels(peer, reason.value).inc()

    def session_refused(self, reason: Reason) -> None:
        """Someone was not let in."""
        self._sessions_refused.labels(reason.value).inc()

    def peer_is_connected(self, peer: str, connected: bool) -> None:
        """A session with it began or ended."""
        self._connected[peer].set(connected)

    def exchange_is(self, status: ExchangeStatus) -> None:
        """Show how the exchange is, as far as its kind has it."""
        if status.class_size is not None and status.trust is not None:
            self._class_size.set(status.class_size)
            self._trust.set(status.trust)
        for peer in self._peers:
            if status.suspects is not None:
                self._suspect[peer].set(peer in status.suspects)
            if status.late is not None:
                self._late[peer].set(status.late[peer])
        if status.records is not None:
            self._records.set(status.records)
            self._barred.set(len(status.blocked))

    def certificate_expires(self, name: str, at: datetime) -> None:
        """A certificate of the configuration is good until then."""
        self._expiry.labels(name).set(at.timestamp())

    def text(self) -> bytes:
        """All series, as Prometheus reads them (`content_type`)."""
        return generate_latest(self._registry)

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(name, meaning, labels, namespace="colme", registry=self._registry)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(name, meaning, labels, namespace="colme", registry=self._registry)
