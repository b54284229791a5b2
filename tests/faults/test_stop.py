"""A node that is asked to stop ends with code 0, in time, and prints nothing but its log."""

import json
import signal
from pathlib import Path

import pytest

from colme.node.fleet import Member
from support.processes import Nodes, acquainted, log_file


def only_the_log(member: Member) -> bool:
    return all(line.startswith("{") for line in log_file(member).read_text().splitlines())


def test_nodes_that_talk_to_each_other_stop_without_a_traceback(tmp_path: Path) -> None:
    """One while the others go on, then those all at once."""
    members = acquainted(tmp_path, 4)
    with Nodes(*members) as nodes:
        nodes.ready()
        nodes.stop(members[0])
        for member in members[1:]:
            nodes.send(member, signal.SIGTERM)
        for member in members:
            assert nodes.ended(member) == 0
            assert only_the_log(member), log_file(member).read_text()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_node_cleanly_and_is_logged(tmp_path: Path, number: signal.Signals) -> None:
    """A terminal that is closed sends SIGHUP: without a handler it kills without a word."""
    (member,) = acquainted(tmp_path, 1)
    with Nodes(member) as nodes:
        nodes.ready()
        nodes.send(member, number)
        assert nodes.ended(member) == 0
    lines = [json.loads(line) for line in log_file(member).read_text().splitlines()]
    assert number.name in [line.get("signal") for line in lines]
    assert lines[-1]["event"] == "stopped"
