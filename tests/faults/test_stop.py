"""A node that is asked to stop ends with code 0, in time, and prints nothing but its log."""

import signal
from pathlib import Path

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
