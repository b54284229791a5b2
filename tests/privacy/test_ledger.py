"""What has been released, and that no sample is ever noised twice."""

from math import inf
from typing import Any

import pytest

from colme.errors import LedgerError, LocalProtocolError
from colme.privacy.ledger import Entry, Ledger, entry_between, require_next
from colme.protocol.agent import Agent
from colme.protocol.board.identity import InProcess
from colme.protocol.events import Begin
from colme.protocol.settings import Settings
from colme.rules.release import Profile
from support.refusing import refused
from support.retired import Tracking


def make_agent(*, epsilon: float = 1.0, squares: bool = False) -> Agent:
    profile = Profile.bounded(0, 1, epsilon=epsilon)
    return Agent(
        Settings(
            name="me",
            identity=InProcess("me"),
            neighbours=(),
            profile=profile,
            algorithm=Tracking(squares=squares),
        )
    )


def feed(agent: Agent, samples: int) -> None:
    for _ in range(samples):
        agent.observe(0.25)


def begin(agent: Agent, draw: int) -> None:
    agent.step(Begin(agent.round + 1, (draw,) * len(agent.draws_due)))


def lived(samples: int, **options: Any) -> Agent:
    """An agent after so many samples, and a round."""
    agent = make_agent(**options)
    feed(agent, samples)
    begin(agent, 5)
    return agent


def test_a_ledger_counts_samples_blocks_and_those_that_wait() -> None:
    """Blocks end at 8 and 12 samples for epsilon = 1."""
    agent = make_agent()
    assert Ledger.of(agent) == Ledger(epsilon=1, samples=0, blocks=0, waiting=0)
    feed(agent, 14)
    assert Ledger.of(agent) == Ledger(epsilon=1, samples=0, blocks=0, waiting=14)
    begin(agent, 5)
    assert Ledger.of(agent) == Ledger(epsilon=1, samples=12, blocks=2, waiting=2)


def test_it_says_which_epsilon_and_which_adjacency() -> None:
    agent = lived(9)
    assert Ledger.of(agent).describe() == (
        "epsilon = 1 for each sample (event level: streams that differ by replacing one sample; "
        "sample counts are public); samples released: 8, waiting: 1; blocks noised: 1"
    )
    assert Ledger.of(agent).describe(releases=3).endswith("blocks noised: 1; releases made: 3")
    assert Ledger.of(make_agent(epsilon=inf)).describe().startswith("epsilon = inf (no privacy)")


@pytest.mark.parametrize("squares", [False, True])
def test_no_sample_is_noised_twice(squares: bool) -> None:
    """One draw for each number of a closed block, in the round after it closed, and then none."""
    agent = lived(8, squares=squares)
    released = agent.release
    for _ in range(3):
        assert agent.draws_due == ()
        with refused(LocalProtocolError, "noise", seen="1 draws"):
            agent.step(Begin(agent.round + 1, (7,)))
        begin(agent, 7)
        assert agent.release == released
    assert Ledger.of(agent).blocks == 1


@pytest.mark.parametrize("squares", [False, True])
def test_no_block_is_released_without_all_of_its_draws(squares: bool) -> None:
    """Blocks end at 8 and 12 samples for epsilon = 1."""
    agent = make_agent(squares=squares)
    feed(agent, 12)
    due = len(agent.draws_due)
    for draws in range(due):
        with refused(LocalProtocolError, "noise", seen=f"{draws} draws"):
            agent.step(Begin(1, (5,) * draws))
    assert agent.release is None
    assert len(agent.draws_due) == due


def test_an_entry_lists_what_a_round_has_newly_released() -> None:
    """Blocks end at 8 and 12 samples for epsilon = 1."""
    agent = make_agent()
    entries = []
    for samples in (3, 5, 1, 4):
        before = Ledger.of(agent)
        feed(agent, samples)
        begin(agent, 5)
        entries.append(entry_between(before, Ledger.of(agent), round=agent.round))
    assert entries == [
        None,
        Entry(round=2, first=1, last=8, blocks=1, epsilon=1),
        None,
        Entry(round=4, first=9, last=12, blocks=1, epsilon=1),
    ]


def test_a_ledger_goes_on_where_it_ends() -> None:
    def entry(first: int, last: int) -> Entry:
        return Entry(round=1, first=first, last=last, blocks=1, epsilon=1)

    require_next(0, entry(1, 1))
    require_next(8, entry(9, 12))
    for first, last in ((8, 12), (1, 12), (10, 12), (9, 8)):
        with refused(LedgerError, "ledger"):
            require_next(8, entry(first, last))
