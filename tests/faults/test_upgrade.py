"""A neighbourhood of 0.1.0, which ran tracking, moves to relay, in real processes.

The order is that of docs/node.md; what else an operator may do on the way is refused in words.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from colme.cli.app import run
from colme.node.config import NodeConfig
from colme.node.fleet import CONFIG, Fleet, Member, Plan, prepare
from colme.node.state import Overview
from colme.node.state.database import FILE
from support.elsewhere import until
from support.old_states import FLEET, put_into
from support.processes import require_each_sample_noised_once

ROUNDS = 40
"""After which 0.1.0 has stopped."""
PLAN = Plan(
    agents=3, degree=2, rounds=ROUNDS, means=(0.5,), samples=3, epsilon=4, algorithm="paper"
)
NAMED = 'algorithm = "paper"\n'
FREE = 'rounds = "free"\n'


def of_0_1_0(folder: Path) -> list[Member]:
    """Nodes with the states of three that were neighbours, configured to go on as they were."""
    members = prepare(PLAN, folder)
    for member, state in zip(members, FLEET, strict=True):
        assert state.stem == member.name
        put_into(member.config.state, state)
    return members


def rewritten(member: Member, *removed: str, named: str = "") -> Member:
    """The same node with less in its configuration, and perhaps another algorithm."""
    path = member.folder / CONFIG
    text = path.read_text()
    for words in removed:
        assert words in text
        text = text.replace(words, named if words == NAMED else "")
    path.write_text(text)
    return replace(member, config=NodeConfig.load(path))


def in_relay(member: Member) -> Member:
    """As docs/node.md asks for it, and the state not yet changed."""
    last = f"last_round = {ROUNDS}\n"
    return rewritten(member, NAMED, FREE, last, named='algorithm = "relay"\n')


def command(member: Member, *words: str) -> int:
    return run([*words, "--config", str(member.folder / CONFIG)])


def ledger(member: Member) -> list[tuple[int, int, int]]:
    entries = Overview.of(member.config.state, entries=10_000).last_entries[::-1]
    return [(one.round, one.first, one.last) for one in entries]


def test_a_neighbourhood_of_0_1_0_goes_on_in_relay_when_all_say_so(tmp_path: Path) -> None:
    members = of_0_1_0(tmp_path / "fleet")
    of_then = {one.name: ledger(one) for one in members}
    members = [in_relay(one) for one in members]
    assert [command(one, "state", "change") for one in members] == [0, 0, 0]
    with Fleet(members) as fleet:

        def together() -> bool:
            seen = [sight.status for sight in fleet.look()]
            return all(one is not None and one.records == 3 for one in seen)

        until("three records everywhere", together)
    for member in members:
        now = Overview.of(member.config.state)
        assert now.algorithm == "relay"
        assert now.taken > 3 * ROUNDS, "it went on"
        require_each_sample_noised_once(member)
        before = of_then[member.name]
        assert ledger(member)[: len(before)] == before, "and of those before, none anew"


def test_in_the_wrong_order_nothing_happens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each step that comes too early is refused with what is to be done, and the state stays."""
    member, *_ = of_0_1_0(tmp_path / "fleet")
    path = member.config.state / FILE

    def refused(*words: str, because: str) -> None:
        before = path.read_bytes()
        assert command(member, *words) == 2
        assert because in capsys.readouterr().err
        assert path.read_bytes() == before

    # As 0.1.0 was configured: rounds, and no word of an algorithm.
    text = (member.folder / CONFIG).read_text()
    (member.folder / CONFIG).write_text(text.replace(NAMED, ""))
    refused("node", because="goes on after `colme state change`")
    refused("state", "change", because="Remove the field")
    # As the version after it was, which named what it ran.
    (member.folder / CONFIG).write_text(text.replace(NAMED, 'algorithm = "tracking"\n'))
    refused("node", because="'relay'")
    (member.folder / CONFIG).write_text(text)
    refused("node", because="relay goes on with all of its samples")
    # The configuration is changed, and the state not yet.
    member = in_relay(member)
    refused("node", because="expected 'tracking', as in the state")
    refused("node", "--check", because="expected 'tracking', as in the state")
    assert command(member, "state", "change") == 0
    refused("state", "change", because="there is nothing to change")
    # And back to the configuration of before.
    (member.folder / CONFIG).write_text(text)
    refused("node", because="expected 'relay', as in the state")
    refused("node", "--check", because="expected 'relay', as in the state")


KILLED = """
import os, signal, sys
from colme.cli.app import run
from colme.node.state import change

module, name, config = sys.modules["colme.node.state.change"], *sys.argv[1:]
whole = getattr(module, name)

def killed(*given, **named):
    if name == "_go_on":
        whole(*given, **named)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(module, name, killed)
sys.exit(run(["state", "change", "--config", config]))
"""


@pytest.mark.parametrize(
    ("where", "is_changed"),
    [("keep", False), ("is_current", False), ("_go_on", False), ("Change", True)],
    ids=["before the copy", "before it is changed", "before it is committed", "after it"],
)
def test_a_change_that_is_killed_is_done_or_not_begun(
    tmp_path: Path, where: str, is_changed: bool
) -> None:
    """kill -9, in a process of its own: the node then starts as what it is, and may be changed."""
    member, *_ = of_0_1_0(tmp_path / "fleet")
    before, listed = Overview.of(member.config.state), ledger(member)
    other = in_relay(member)
    script = [sys.executable, "-c", KILLED, where, str(other.folder / CONFIG)]
    assert subprocess.run(script, check=False).returncode == -9
    now = Overview.of(member.config.state)
    assert now.algorithm == ("relay" if is_changed else "tracking")
    assert (now.taken, now.ledger, ledger(member)) == (before.taken, before.ledger, listed)
    assert command(other, "state", "change") == (2 if is_changed else 0)
    assert Overview.of(member.config.state).algorithm == "relay"
    assert ledger(member) == listed
    assert not list(member.config.state.glob("*.partial"))
