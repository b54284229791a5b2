"""A network to play with: real agents, whatever is done to them."""

from itertools import pairwise

import pytest

from colme.errors import ConfigError
from colme.experiment.streams import RandomStream, generator
from colme.explore import society as room
from colme.explore.choices import Choices
from colme.explore.society import Society
from colme.network import Network
from colme.privacy.mechanism import SeededLaplace

ALGORITHMS = ["relay", "paper"]


def _played(rounds: int, **choices: object) -> Society:
    society = Society(Choices.model_validate({"agents": 16, "sigma": 0.05, **choices}))
    _play(society, rounds)
    return society


def _play(society: Society, rounds: int) -> set[tuple[int, int]]:
    """Return the edges that messages have crossed."""
    crossed = set()
    for _ in range(rounds):
        society.run_round()
        crossed |= society.crossed
    return crossed


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_undisturbed_it_is_the_network_of_the_library(algorithm: str) -> None:
    """The same samples and noise give the same answers, bit for bit."""
    society = _played(40, algorithm=algorithm)
    choices = society.choices
    network = Network(
        [type(agent)(agent.settings) for agent in society.agents],
        SeededLaplace(generator(choices.seed, RandomStream.EXPLORER_NOISE)),
    )
    drawn = generator(choices.seed, RandomStream.EXPLORER_SAMPLES)
    half = choices.sigma * 3**0.5
    for _ in range(40):
        samples = society.truth + drawn.uniform(-half, half, choices.agents)
        network.run_round(samples.tolist())
    assert [agent.estimate for agent in society.agents] == list(network.estimates().values())
    society.ask()
    asked = [belief.estimate for belief in society.beliefs if belief is not None]
    assert asked == list(network.estimates().values())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_same_choices_play_the_same(algorithm: str) -> None:
    one, other = _played(12, algorithm=algorithm), _played(12, algorithm=algorithm)
    assert one.letters[3] == other.letters[3]
    assert one.letters[3] != _played(12, algorithm=algorithm, seed=2).letters[3]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_who_is_killed_says_nothing_and_the_others_go_on(algorithm: str) -> None:
    society = _played(5, algorithm=algorithm)
    said, taken = len(society.letters[3]), society.agents[3].counts.taken
    society.kill(3)
    assert not any(3 in edge for edge in _play(society, 10))
    assert len(society.letters[3]) == said
    assert society.agents[3].counts.taken == taken
    others = [agent for a, agent in enumerate(society.agents) if a != 3]
    assert {agent.round for agent in others} == {15}
    if algorithm != "relay":
        # Who has to wait for the one that is gone must not be given up by its other neighbours.
        assert sum(sum(agent.late.values()) for agent in others) == 0
    society.kill(3)
    assert any(3 in edge for edge in _play(society, 10))
    assert society.agents[3].round == 25


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("family", ["random-regular", "complete", "grid", "erdos-renyi"])
def test_nothing_crosses_a_cut_and_both_halves_go_on(algorithm: str, family: str) -> None:
    society = _played(3, algorithm=algorithm, family=family)
    society.cut_in_two()
    cut = set(society.cut)
    assert cut
    assert not _play(society, 6) & cut
    society.cut_in_two()
    assert not society.cut
    assert _play(society, 6) & cut


def test_after_a_cut_is_healed_all_boards_hold_the_same() -> None:
    """Before anybody releases again: what was missed is made up for, not waited for."""
    society = _played(46)
    society.cut_in_two()
    _play(society, 20)
    society.cut_in_two()
    blocks = [agent.counts.blocks for agent in society.agents]
    fingerprints = {agent.boards.board.fingerprint for agent in society.agents}
    assert len(fingerprints) > 1
    _play(society, 12)
    fingerprints = {agent.boards.board.fingerprint for agent in society.agents}
    assert [agent.counts.blocks for agent in society.agents] == blocks
    assert len(fingerprints) == 1


def test_a_cut_makes_two_halves() -> None:
    society = _played(0, agents=20)
    society.cut_in_two()
    left = set(range(20))
    reached, ahead = {0}, [0]
    whole = [edge for edge in society.edges if edge not in society.cut]
    while ahead:
        a = ahead.pop()
        near = {b for edge in whole if a in edge for b in edge} & left - reached
        reached |= near
        ahead += near
    assert len(reached) == 10


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_message_is_kept_with_the_exact_mean_of_the_same_samples(algorithm: str) -> None:
    """Without noise the two are the same, to the lattice; with noise they differ."""
    for epsilon, same in ((float("inf"), True), (1.0, False)):
        society = _played(60, algorithm=algorithm, epsilon=epsilon)
        lo, hi = society.choices.common_bounds
        told = [one for one in society.letters[0] if one.released is not None]
        assert told
        gaps = [abs(one.released - one.exact) for one in told if one.exact is not None]  # type: ignore[operator]
        assert len(gaps) == len(told)
        # A sample is rounded to the nearest of 2^21 steps of the range.
        assert (max(gaps) < (hi - lo) / 2**20) == same
        assert all(a.round <= b.round for a, b in pairwise(society.letters[0]))


def test_a_liar_is_found_out_by_nobodys_mean_but_its_own() -> None:
    """It invents samples at the far end of the bounds: its record goes there, no other does."""
    society = _played(10, epsilon=float("inf"))
    society.lie(2)
    _play(society, 200)
    lo, hi = society.choices.common_bounds
    released = [one.released for one in society.letters[2] if one.released is not None]
    assert abs(released[-1] - society.truth[2]) > (hi - lo) / 4
    society.ask()
    for a, belief in enumerate(society.beliefs):
        assert belief is not None
        if a != 2:
            assert abs(belief.estimate.value - society.truth[a]) < 0.05
    society.lie(2)
    assert society.liars == set()


def test_an_answer_rests_on_the_class_that_it_is_near_to() -> None:
    society = _played(60, agents=20, epsilon=float("inf"))
    society.ask()
    for a, belief in enumerate(society.beliefs):
        assert belief is not None
        assert belief.centre is not None
        assert abs(belief.centre - society.truth[a]) < 0.05
    errors = society.errors()
    assert errors is not None
    assert errors[0] < errors[1]


def test_the_promise_is_told_with_its_adjacency() -> None:
    words = _played(3).promise(0)
    assert "epsilon = 1 for each sample" in words
    assert "event level" in words
    assert "replacing one sample" in words
    assert "counts are public" in words


def test_it_ends_before_its_messages_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_ROUNDS", 2)
    society = _played(2)
    with pytest.raises(ConfigError, match="round"):
        society.run_round()
