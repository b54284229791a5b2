"""Noise is drawn once: whoever comes back with less than it has sent is stopped by those who know.

"Noising the same samples again leaks" (`state.store`). A node can't tell that its own state
is an old one; its neighbours can, and it asks them before it sends anything.
"""

from functools import partial
from pathlib import Path

from colme.cli.app import run
from colme.node.fleet import Member
from colme.node.state import Overview
from support.processes import (
    Nodes,
    acquainted,
    log_file,
    received,
    require_each_sample_noised_once,
)


def require_refused(nodes: Nodes, victim: Member, others: list[Member]) -> None:
    """It ends by itself, with the words, and its neighbours have not had a message of it."""
    before = [received(one, victim) for one in others]
    assert all(before), "they have known it"
    nodes.start(victim)
    assert nodes.ended(victim) == 2
    last = log_file(victim).read_text().splitlines()[-1]
    assert last.startswith("colme: state: saw '")
    assert "--state-lost" in last
    for one in others:
        nodes.release(one)  # What was under way has arrived.
    assert [received(one, victim) for one in others] == before


def copy(member: Member, file: Path) -> None:
    assert run(["state", "backup", str(member.config.state), str(file)]) == 0


def bring_back(file: Path, member: Member) -> None:
    assert run(["state", "restore", str(file), str(member.config.state)]) == 0
    assert Overview.of(member.config.state).from_backup


def test_the_newest_backup_is_accepted_and_an_old_one_is_refused(tmp_path: Path) -> None:
    """Both made with `colme state backup`: one beside the running node, one after it stopped."""
    members = acquainted(tmp_path / "nodes", 3)
    victim, *others = members
    with Nodes(*members) as nodes:
        nodes.agree(3)
        copy(victim, tmp_path / "old")
        nodes.release(victim)
        nodes.stop(victim)
        copy(victim, tmp_path / "newest")
        stored = Overview.of(victim.config.state)

        # One that has to vouch for it too is away: nothing is released.
        nodes.kill(others[1])
        bring_back(tmp_path / "newest", victim)
        nodes.start(victim)
        seen = partial(nodes.neighbour, victim)
        nodes.until("the word of one", lambda: (one := seen(others[0])) and one.connected)
        nodes.until("no answer", lambda: (one := seen(others[1])) and one.last_error)
        nodes.release(others[0])
        waiting = nodes.status(victim)
        assert waiting.samples.released == stored.ledger.samples
        assert waiting.troubles == ("not joined yet: waiting for the neighbours' answers",)
        assert Overview.of(victim.config.state).from_backup
        nodes.start(others[1])
        nodes.release(victim)
        assert not Overview.of(victim.config.state).from_backup
        assert nodes.status(victim).epoch == stored.epoch + 1
        nodes.stop(victim)
        require_each_sample_noised_once(victim)

        bring_back(tmp_path / "old", victim)
        require_refused(nodes, victim, others)
