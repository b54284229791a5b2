"""Connections beyond number, and a log that nobody reads: the node goes on and can be asked."""

import os
import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from colme.node.config import split_address
from support.pipes import fill
from support.processes import HTTP, Nodes, acquainted, ask, log_file

MANY = 300
FEW_DESCRIPTORS = 192
HALF_A_REQUEST = b"POST /samples HTTP/1.1\r\nHost: localhost\r\nContent-"

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks into /proc")


def limited(soft: int, hard: int) -> list[str]:
    """Starts another program, which may open so many files. No code between fork and exec."""
    limit = f"resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))"
    run = "os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-c", f"import os, resource, sys; {limit}; {run}"]


@contextmanager
def flood(address: str, said: bytes) -> Iterator[None]:
    """Many connections that say no more than this; those that the node cut off count, too."""
    held = [socket.socket() for _ in range(MANY)]
    try:
        for one in held:
            # Not from the address where others look for free ports.
            one.bind(("127.0.0.2", 0))
            one.setblocking(False)
            one.connect_ex(split_address(address))
        for one in held:
            one.setblocking(True)
            try:
                one.sendall(said)
            except OSError:
                continue
        yield
    finally:
        for one in held:
            one.close()


def test_silent_connections_and_half_requests_leave_a_node_its_descriptors(tmp_path: Path) -> None:
    (member,) = acquainted(tmp_path, 1, HTTP)
    assert member.config.owner is not None
    with Nodes() as nodes:
        nodes.members = (member,)
        nodes.start(member, through=limited(FEW_DESCRIPTORS, FEW_DESCRIPTORS))
        nodes.ready(member)
        with (
            flood(member.config.listen, b""),
            flood(member.config.owner.listen, HALF_A_REQUEST),
        ):
            assert ask(member, "/livez") == (200, "ok")
            nodes.release(member)
            open_files = len(os.listdir(f"/proc/{nodes.pid(member)}/fd"))
            assert open_files < 0.75 * FEW_DESCRIPTORS
        assert ask(member, "/livez") == (200, "ok")
        nodes.stop(member)
    log = log_file(member).read_text()
    assert len(log) < 20_000
    assert all(line.startswith("{") for line in log.splitlines())


def test_a_log_that_nobody_reads_hangs_neither_the_node_nor_its_end(tmp_path: Path) -> None:
    """And the limit of descriptors is raised to what the system allows."""
    (member,) = acquainted(tmp_path, 1, HTTP)
    unread, full = os.pipe()
    fill(full)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Nodes() as nodes:
        nodes.members = (member,)
        nodes.start(
            member,
            stderr=full,
            through=limited(64, hard),
        )
        nodes.ready(member)
        nodes.release(member)
        limits = Path(f"/proc/{nodes.pid(member)}/limits").read_text()
        (limit,) = (line for line in limits.splitlines() if line.startswith("Max open files"))
        assert int(limit.split()[3]) == min(hard, 2**16)
        nodes.stop(member)
    os.close(unread)
    os.close(full)
