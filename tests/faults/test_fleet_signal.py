"""Whoever ends a fleet ends its nodes."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from colme.node.config import NodeConfig
from colme.node.fleet import CONFIG, LOG, Fleet, Member, Plan, prepare
from support.elsewhere import PATIENCE, until

AGENTS = 3

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks into /proc")


def node_processes(folder: Path) -> set[int]:
    """The processes of nodes whose configuration is in this folder."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:  # It has ended meanwhile.
            continue
        if "node" in words and any(word.startswith(f"{folder}/") for word in words):
            found.add(int(path.parent.name))
    return found


def test_to_end_the_fleet_ends_its_nodes(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    options = ["--agents", AGENTS, "--degree", 2, "--rounds", 10**6, "--out", folder]
    fleet = subprocess.Popen(
        [sys.executable, "-m", "colme", "fleet", *map(str, options)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until("nodes", lambda: sum("started" in one.read_text() for one in logs(folder)) == AGENTS)
        assert len(node_processes(folder)) == AGENTS
        fleet.terminate()
        assert fleet.wait(PATIENCE) != 0
        assert node_processes(folder) == set()
    finally:
        fleet.kill()
        fleet.wait()
        for process in node_processes(folder):
            subprocess.run(["kill", "-9", f"{process}"], check=False)
    assert NodeConfig.load(folder / "node000" / CONFIG).state.exists(), "what was kept is there"


def logs(folder: Path) -> list[Path]:
    return list(folder.glob(f"*/{LOG}"))


def test_a_fleet_that_can_not_be_started_whole_leaves_no_node_behind(tmp_path: Path) -> None:
    members = prepare(Plan(agents=2, degree=1, rounds=10**6), tmp_path / "kept")

    class Halting(Fleet):
        """Ends as a signal would, after the first node."""

        def start(self, member: Member) -> None:
            if member is not self.members[0]:
                sys.exit(1)
            super().start(member)

    before = signal.getsignal(signal.SIGTERM)
    fleet = Halting(members)
    try:
        with pytest.raises(SystemExit):
            fleet.__enter__()
        assert fleet.process(members[0]).poll() is not None
        assert signal.getsignal(signal.SIGTERM) is before
    finally:
        fleet.process(members[0]).kill()
        fleet.process(members[0]).wait()
        signal.signal(signal.SIGTERM, before)
