"""The steps of docs/node.md, as they stand there, with real processes: a reader sees a gain."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from colme.errors import NodeError
from colme.node.config import NodeConfig
from colme.node.owner.client import OwnerClient
from support.elsewhere import until

ROOT = Path(__file__).parent.parent.parent
GUIDE = ROOT / "docs" / "node.md"
SHOPS = 8
MANY = 150.0
"""Seconds: eight start at once, and what they import takes some of each one's own."""
FIRST = 7400
"""Of the ports in the guide, of which each shop has ten."""


def free_ports() -> int:
    """So many in a row that nobody listens on."""
    for first in range(20_000, 30_000, 10 * SHOPS):
        with ExitStack() as taken:
            try:
                for port in range(first, first + 10 * SHOPS):
                    taken.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return first
    raise AssertionError("no free ports")


def blocks() -> dict[str, list[str]]:
    text = GUIDE.read_text()
    part = text[text.index("## Eight nodes, step by step") : text.index("## The algorithm")]
    found: dict[str, list[str]] = {}
    for kind, block in re.findall(r"```(\w+)\n(.*?)```", part, re.DOTALL):
        found.setdefault(kind, []).append(block)
    return found


@pytest.mark.slow
@pytest.mark.skipif(not GUIDE.exists(), reason="a part of the repository")
def test_a_reader_of_the_guide_sees_a_gain(tmp_path: Path) -> None:
    found, port = blocks(), free_ports()
    (made,), (identities, start), (told,) = found["python"], found["sh"], found["toml"]
    (tmp_path / "eight.py").write_text(made.replace(str(FIRST), str(port)))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    world = {**os.environ, "PATH": path}
    for command in (identities, f"{sys.executable} eight.py"):
        subprocess.run(["sh", "-ec", command], cwd=tmp_path, env=world, check=True, timeout=100)
    plain = (tmp_path / "north.toml").read_text().replace(str(port)[:-2], str(FIRST)[:-2])
    for line in told.splitlines():
        said = line.split("#")[0].strip()
        assert said in plain or said == 'algorithm = "relay"', "the default, for the reader"
    running = subprocess.Popen(
        ["sh", "-c", f"{start}\nwait"], cwd=tmp_path, env=world, start_new_session=True
    )

    def owner() -> OwnerClient | None:
        config = NodeConfig.load(tmp_path / "north.toml")
        return OwnerClient(config) if (config.state / "token").exists() else None

    def heard_of_all(client: OwnerClient) -> bool:
        try:
            return client.status().records == SHOPS
        except NodeError:
            return False

    log = tmp_path / "north.log"
    try:
        client = until("north has started", owner, log.read_text, patience=MANY)
        until("north has heard of all", lambda: heard_of_all(client), log.read_text, patience=MANY)
        asking = [sys.executable, "-m", "colme", "status", "--config", "north.toml", "--json"]
        answered = subprocess.run(asking, cwd=tmp_path, capture_output=True, text=True, timeout=150)
        seen = json.loads(answered.stdout)["estimate"]
    finally:
        os.killpg(running.pid, signal.SIGTERM)
        running.wait(timeout=60)
    assert seen["records"] == SHOPS - 1
    assert seen["why"] is None
    assert seen["classes"] == 2
    assert seen["low"] < 60 < seen["high"]
    assert abs(seen["value"] - 60) < abs(seen["alone"] - 60)
