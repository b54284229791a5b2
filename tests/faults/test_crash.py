"""A node that crashes, hangs, is told to stop or restored: the others go on, and it comes back."""

import json
import signal
from functools import partial
from math import isfinite
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from time import monotonic

import pytest

from colme.cli.app import run
from colme.node.fleet import Member
from colme.node.state import Overview
from support.elsewhere import PATIENCE
from support.processes import (
    HTTP,
    Nodes,
    acquainted,
    ask,
    log_file,
    received,
    require_each_sample_noised_once,
)


def require_a_finite_estimate(member: Member) -> None:
    code, text = ask(member, "/estimate")
    assert code == 200
    answer = json.loads(text)
    assert all(isfinite(answer[name]) for name in ("value", "alone"))
    lo, hi = member.config.agreed.bounds
    assert lo < answer["value"] < hi


@pytest.mark.parametrize("hurt", [signal.SIGKILL, signal.SIGSTOP])
def test_in_rounds_a_silent_node_is_not_waited_for_and_returns_to_the_current_round(
    hurt: signal.Signals, tmp_path: Path
) -> None:
    """ "A neighbour that missed three rounds is suspect … Restart: load state, take a new boot
    epoch, join the current round." Stopped is like a pulled cable: its process, its sessions and
    its timers stand still for some rounds. What it had released before is not noised again.
    """
    members = acquainted(tmp_path, 3, algorithm="paper")
    victim, *others = members
    with Nodes(*members) as nodes:
        nodes.ready()
        nodes.agree(3)
        nodes.advance(victim, 20)
        before = nodes.status(victim)
        nodes.send(victim, hurt)
        nodes.suspect(victim, others)
        last = Overview.of(victim.config.state).round
        away = [nodes.advance(one, 40) for one in others]

        if hurt == signal.SIGKILL:
            nodes.agree(2, *others)
            nodes.start(victim)
        else:
            nodes.send(victim, signal.SIGCONT)
        nodes.until("caught up", lambda: nodes.round(victim) > max(away))
        nodes.suspect(victim, others, suspect=False)
        nodes.agree(3)
        for one in members:
            nodes.advance(one)
            require_a_finite_estimate(one)
        after = nodes.status(victim)
        assert after.epoch == before.epoch + (hurt == signal.SIGKILL)
        assert after.samples.taken > before.samples.taken
        if hurt == signal.SIGKILL:
            begun, missed = after.samples.taken / 3, max(away) - last
            assert begun < after.round - missed + 10, "missed rounds are never replayed"
    for one in members:
        require_each_sample_noised_once(one)


def test_a_node_that_is_killed_again_and_again_goes_on_with_its_own_record(tmp_path: Path) -> None:
    """Whatever it had released, the others hold: a state that had lost it would be stopped."""
    members = acquainted(tmp_path, 3)
    victim, *others = members
    with Nodes(*members) as nodes:
        nodes.agree(3)
        for _ in range(3):
            nodes.release(victim)
            nodes.kill(victim)
            nodes.start(victim)
            nodes.agree(3, victim)
        nodes.ready()
        for one in members:
            nodes.release(one)
            require_a_finite_estimate(one)
        now = nodes.status(victim)
        assert (now.algorithm, now.epoch, now.barred) == ("relay", 4, ())
        for one in members:
            nodes.stop(one)
    for one in members:
        require_each_sample_noised_once(one)
    assert Overview.of(victim.config.state).incarnation == 0, "it is the same life"
    assert Overview.of(others[0].config.state).records == 3


def test_nodes_that_are_told_to_stop_end_at_once_and_well(tmp_path: Path) -> None:
    """One while the others go on, then those all at once; nothing is printed but the log."""
    first, *others = members = acquainted(tmp_path, 4)
    with Nodes(*members) as nodes:
        nodes.ready()
        for number, leaving in ((signal.SIGINT, [first]), (signal.SIGTERM, others)):
            began = monotonic()
            for member in leaving:
                nodes.send(member, number)
            assert [nodes.ended(member) for member in leaving] == [0] * len(leaving)
            assert monotonic() - began < 5
    for member in members:
        lines = log_file(member).read_text().splitlines()
        assert all(line.startswith("{") for line in lines), lines
        assert not list(member.config.state.glob("*-wal")), "closed, not dropped"
        require_each_sample_noised_once(member)


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_every_acknowledged_sample_outlives_the_process(
    ending: signal.Signals, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (member,) = acquainted(tmp_path, 1, HTTP)
    acknowledged = 0

    def feed() -> None:
        nonlocal acknowledged
        while ask(member, "/samples", 0.5)[0] == 200:
            acknowledged += 1

    with Nodes(member) as nodes:
        nodes.ready()
        feeder = Thread(target=feed)
        feeder.start()
        try:
            nodes.until("50 samples", lambda: acknowledged >= 50)
        finally:
            nodes.send(member, ending)
            feeder.join()
        assert nodes.ended(member) == (-ending if ending == signal.SIGKILL else 0)
        assert run(["state", "show", str(member.config.state), "--json"]) == 0
        stored = json.loads(capsys.readouterr().out)["taken"]
        assert stored - acknowledged in (0, 1), "but for one whose answer got lost"
        nodes.start(member)
        nodes.ready()
        assert nodes.status(member).samples.taken == stored


def test_the_rows_of_a_growing_file_are_taken_once_each_across_crashes(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    (member,) = acquainted(
        tmp_path / "nodes",
        1,
        {"source": f'kind = "file"\npath = "{path}"\ncolumn = "x"\npoll = 0.001'},
    )
    path.write_text("y,x\n")
    due: SimpleQueue[int] = SimpleQueue()  # So many rows are written next, and none after 0.
    half_written: SimpleQueue[None] = SimpleQueue()
    rows = 0

    def grow() -> None:
        nonlocal rows
        with path.open("a", buffering=1) as file:
            while more := due.get():
                for number in range(more):
                    if number == more // 2:
                        half_written.put(None)
                    rows += 1
                    # Flushed in two halves: a line is not one before its end.
                    file.write("1,")
                    file.flush()
                    file.write(f"{0.4 + rows * 1e-6}\n")

    with Nodes(member) as nodes:
        nodes.ready()
        writer = Thread(target=grow)
        writer.start()
        try:
            for _ in range(3):
                require_taken(nodes, member, rows)
                due.put(2000)
                half_written.get(timeout=PATIENCE)  # It is killed while it reads.
                nodes.kill(member)
                nodes.start(member)
            nodes.ready()
        finally:
            due.put(0)
            writer.join()
        require_taken(nodes, member, rows)
        assert samples_taken(nodes, member) == rows
        assert nodes.status(member).epoch == 4
        code, text = ask(member, "/estimate")
        assert code == 200
        assert json.loads(text)["alone"] == pytest.approx(0.4 + (rows + 1) / 2 * 1e-6, abs=1e-7)


def require_taken(nodes: Nodes, member: Member, least: int) -> None:
    nodes.until(f"{least} samples", lambda: samples_taken(nodes, member) >= least)


def samples_taken(nodes: Nodes, member: Member) -> int:
    return nodes.status(member).samples.taken


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
