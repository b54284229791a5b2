"""What a node counts: every series by name, bounded labels, nothing of the data."""

from datetime import UTC, datetime

import pytest
from prometheus_client.parser import text_string_to_metric_families

from colme.errors import LocalProtocolError
from colme.node.metrics import Metrics
from colme.node.wire.codec import Reason
from colme.protocol.events import ExchangeStatus
from colme.protocol.rounds.state import Phase
from support.refusing import refused

SERIES = {
    "round",
    "rounds_total",
    "deadlines_total",
    "samples_total",
    "samples_refused_total",
    "samples_released",
    "blocks_noised",
    "epsilon",
    "messages_sent_total",
    "messages_received_total",
    "messages_refused_total",
    "messages_late",
    "peer_connected",
    "peer_suspect",
    "class_size",
    "trust",
    "records",
    "origins_barred",
    "sessions_refused_total",
    "clock_jumps_total",
    "commit_seconds_count",
    "store_failures_total",
    "log_lines_dropped",
    "certificate_expiry_timestamp_seconds",
}


def read(metrics: Metrics) -> dict[str, float]:
    """Every sample: its name and labels, and its value."""
    return {
        sample.name + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }


def eventful() -> Metrics:
    metrics = Metrics(["b", "c"], epsilon=0.5)
    metrics.round_began(41)
    metrics.round_began(42)
    metrics.deadline_passed(Phase.SIZE)
    metrics.samples_taken(10)
    metrics.sample_refused(Reason.GARBAGE)
    metrics.sample_refused(Reason.INVALID_VALUE)
    metrics.released(samples=8, blocks=2)
    metrics.sent("b")
    metrics.sent("b")
    metrics.received("c")
    metrics.message_refused("b", Reason.OLD_ROUND)
    metrics.session_refused(Reason.UNKNOWN_PEER)
    metrics.peer_is_connected("b", True)
    metrics.peer_is_connected("c", True)
    metrics.peer_is_connected("c", False)
    metrics.exchange_is(
        ExchangeStatus(
            class_size=2, trust=0.75, suspects=frozenset("c"), late={"b": 0, "c": 1}, records=None
        )
    )
    metrics.clock_jumped()
    metrics.committed(0.003)
    metrics.store_failed()
    metrics.certificate_expires("here", datetime(2030, 1, 1, tzinfo=UTC))
    return metrics


def test_every_event_shows_in_its_series() -> None:
    expected = {
        "round": 42,
        "rounds_total": 2,
        "deadlines_total size": 1,
        "deadlines_total release": 0,
        "samples_total": 10,
        "samples_refused_total garbage": 1,
        "samples_refused_total invalid value": 1,
        "samples_released": 8,
        "blocks_noised": 2,
        "epsilon": 0.5,
        "messages_sent_total b": 2,
        "messages_sent_total c": 0,
        "messages_received_total c": 1,
        "messages_late c": 1,
        "messages_refused_total b old round": 1,
        "sessions_refused_total unknown peer": 1,
        "peer_connected b": 1,
        "peer_connected c": 0,
        "peer_suspect b": 0,
        "peer_suspect c": 1,
        "class_size": 2,
        "trust": 0.75,
        "clock_jumps_total": 1,
        "commit_seconds_count": 1,
        "commit_seconds_sum": 0.003,
        "store_failures_total": 1,
        "certificate_expiry_timestamp_seconds here": 1893456000,
    }
    seen = read(eventful())
    assert {name: seen.get(f"colme_{name}") for name in expected} == expected


def test_there_are_these_series_and_no_others() -> None:
    """Nothing can be exported by accident: a new series is added here first."""
    names = {name.split()[0] for name in read(eventful()) if not name.startswith("process_")}
    counts = {name for name in names if not name.endswith(("_created", "_bucket", "_sum"))}
    assert counts == {f"colme_{name}" for name in SERIES}


def test_nodes_in_one_process_count_apart() -> None:
    one, other = Metrics(["b"], 1.0), Metrics(["b"], 1.0)
    one.sent("b")
    assert read(one)["colme_messages_sent_total b"] == 1
    assert read(other)["colme_messages_sent_total b"] == 0


def test_refused_samples_are_counted_whatever_the_reason() -> None:
    metrics = Metrics([], 1.0)
    for reason in Reason:
        metrics.sample_refused(reason)
    assert metrics.samples_refused == len(Reason) == 17


def test_nobody_outside_can_make_a_new_series() -> None:
    metrics = Metrics(["b"], 1.0)
    before = set(read(metrics))
    with refused(LocalProtocolError, "peer", seen="stranger"):
        metrics.message_refused("stranger", Reason.GARBAGE)
    for count in (metrics.sent, metrics.received):
        with pytest.raises(KeyError):
            count("stranger")
    assert set(read(metrics)) == before
