"""What sliders say: always a graph that exists, and a scenario that the simulator takes."""

from math import inf
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colme.config import validated
from colme.errors import ConfigError
from colme.explore.choices import MOST_IN_A_NETWORK, Choices, as_toml, fitted, for_network
from colme.sim.scenario import Scenario
from support.refusing import refused

FAMILIES = ["random-regular", "erdos-renyi", "small-world", "scale-free", "grid", "complete"]

any_choices = st.builds(
    Choices,
    epsilon=st.one_of(st.floats(0.05, 20), st.just(inf)),
    agents=st.integers(9, 200),
    degree=st.integers(1, 40),
    family=st.sampled_from(FAMILIES),
    classes=st.integers(1, 5),
    gap=st.floats(0, 2),
    largest=st.floats(0.01, 1),
    sigma=st.floats(0.01, 1),
    bounds=st.floats(1, 8),
    seed=st.integers(0, 1000),
)


@settings(deadline=None, max_examples=60)
@given(any_choices)
def test_wherever_sliders_stand_there_is_a_scenario_and_a_network(choices: Choices) -> None:
    found = fitted(choices).choices
    assert found.scenario().agents == found.agents
    small = for_network(found)
    assert small.agents <= MOST_IN_A_NETWORK
    assert small.scenario().agents == small.agents
    assert fitted(found) == type(fitted(found))(found, ())


@settings(deadline=None, max_examples=60)
@given(any_choices)
def test_the_largest_class_is_as_large_as_it_says_and_no_class_is_larger(choices: Choices) -> None:
    members = fitted(choices).choices.members
    sizes = [members.count(number) for number in range(choices.classes)]
    assert sum(sizes) == len(members)
    assert sizes[0] == max(sizes)
    assert sizes[0] >= int(choices.largest * len(members))


@settings(deadline=None, max_examples=40)
@given(choices=any_choices)
def test_a_file_of_choices_is_the_same_scenario(
    choices: Choices, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = fitted(choices).choices
    path = Path(tmp_path_factory.mktemp("toml")) / "scenario.toml"
    path.write_text(as_toml(found))
    assert Scenario.load(path) == found.scenario()


def test_what_had_to_be_moved_is_said() -> None:
    assert fitted(Choices(agents=50, family="grid")).notes == ("49 agents: a square",)
    assert fitted(Choices(agents=9, degree=3)).choices.degree == 2
    assert fitted(Choices()).notes == ()


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", "0"), ("agents", "1e9"), ("family", "<b>"), ("colour", "1")]
)
def test_a_link_that_is_wrong_is_refused_by_name(name: str, value: str) -> None:
    with refused(ConfigError, name):
        validated(Choices, {name: value})


def test_a_link_speaks_in_words() -> None:
    assert validated(Choices, {"epsilon": "inf", "agents": "60"}) == Choices(epsilon=inf, agents=60)
