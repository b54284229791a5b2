"""Nodes that relay, in real processes, killed as by a power failure: nothing is noised twice."""

from pathlib import Path

from colme.node.fleet import Plan, prepare
from colme.node.state import Overview
from support.processes import ENDLESS, Nodes, require_each_sample_noised_once

PLAN = Plan(agents=3, degree=2, rounds=ENDLESS, means=(0.5,), samples=3, epsilon=4)


def test_a_node_that_is_killed_again_and_again_goes_on_with_its_own_record(tmp_path: Path) -> None:
    """Whatever it had released, the others hold: a state that had lost it would be stopped."""
    members = prepare(PLAN, tmp_path / "fleet")
    victim, *others = members
    with Nodes(*members) as nodes:
        nodes.until("all know all", lambda: all(nodes.status(one).records == 3 for one in members))
        for _ in range(3):
            before = nodes.status(victim).samples.released
            nodes.until(
                "more is released",
                lambda: nodes.status(victim).samples.released > before,  # noqa: B023 (awaited)
            )
            nodes.kill(victim)
            nodes.start(victim)
            nodes.until("it goes on", lambda: nodes.status(victim).records == 3)
        now = nodes.status(victim)
        assert now.algorithm == "relay", "which is the default"
        assert now.epoch == 4
        assert not now.barred
        released = now.samples.released
        nodes.until("it releases", lambda: nodes.status(victim).samples.released > released)
        nodes.until("all are ready", lambda: not any(nodes.status(one).troubles for one in members))
        for one in members:
            nodes.stop(one)
    for one in members:
        require_each_sample_noised_once(one)
    assert Overview.of(victim.config.state).incarnation == 0, "it is the same life"
    assert Overview.of(others[0].config.state).records == 3
