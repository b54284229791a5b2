"""A neighbourhood moves from rounds to relay, node by node, in real processes (docs/node.md)."""

from pathlib import Path

from colme.cli.app import run
from colme.node.config import NodeConfig
from colme.node.state import Overview
from colme.node.trial import CONFIG, Fleet, Member, Plan, prepare
from support.elsewhere import until

ROUNDS = 20


def in_relay(member: Member) -> Member:
    """The same node with the configuration that docs/node.md asks for, and its state changed."""
    path = member.folder / CONFIG
    text = path.read_text().replace('algorithm = "tracking"', 'algorithm = "relay"')
    text = text.replace("rounds = 'free'\n", "").replace(f"last_round = {ROUNDS}\n", "")
    path.write_text(text)
    assert run(["state", "change", "--config", str(path)]) == 0
    return Member(
        name=member.name, truth=member.truth, folder=member.folder, config=NodeConfig.load(path)
    )


def test_nodes_in_rounds_go_on_in_relay_when_all_say_so(tmp_path: Path) -> None:
    plan = Plan(
        agents=3, degree=2, rounds=ROUNDS, means=(0.5,), samples=10, epsilon=4, algorithm="tracking"
    )
    members = prepare(plan, tmp_path / "fleet")
    with Fleet(members) as fleet:
        for _ in fleet.watch():
            pass
    before = {one.name: Overview.of(one.config.state) for one in members}
    assert all(one.ledger.samples > 0 for one in before.values())
    first, *others = members
    changed = in_relay(first)
    with Fleet([changed, *others]) as fleet:  # One alone is refused, in words, and nothing is lost.

        def refused() -> bool:
            status = fleet.look()[0].status
            errors = [one.last_error or "" for one in status.neighbours] if status else []
            return bool(errors) and all("agreed.algorithm" in error for error in errors)

        until("refused by both", refused)
    with Fleet([changed, *map(in_relay, others)]) as fleet:

        def together() -> bool:
            seen = [sight.status for sight in fleet.look()]
            return all(one is not None and one.records == 3 for one in seen)

        until("three records everywhere", together)
    for member in members:
        now, then = Overview.of(member.config.state), before[member.name]
        assert now.algorithm == "relay"
        assert now.taken > then.taken, "it went on"
        assert now.ledger.samples >= then.ledger.samples
        # Each sample is listed once, those of before as they were.
        entries = Overview.of(member.config.state, entries=10_000).last_entries[::-1]
        listed = [sample for one in entries for sample in range(one.first, one.last + 1)]
        assert listed == list(range(1, now.ledger.samples + 1))
