"""Choices as a TOML file that `colme simulate` takes."""

from math import inf

from colme import __version__
from colme.explore.choices import Choices


def as_toml(choices: Choices) -> str:
    """All of the scenario that is not as it is by itself."""
    scenario = choices.scenario()
    lines = [
        f"# Of colme explore, version {__version__}: colme simulate scenario.toml --out result",
        f"agents = {scenario.agents}",
        f"means = {_list(choices.means)}",
        f"classes = {choices.members}",
        f"bounds = {_list(choices.common_bounds)}",
        f"epsilon = {_number(choices.epsilon)}"
        "  # pure epsilon-DP for each sample: event level, replace-one, counts public",
        f"rounds = {scenario.rounds}",
        f"recorded = {scenario.recorded}",
        "eventful = false",
        f"runs = {scenario.runs}",
        f"seed = {scenario.seed}",
        "",
        "[graph]",
        f'family = "{choices.family}"',
        *(f"degree = {degree}" for degree in scenario.graph.degrees if degree),
        "",
        "[data]",
        'distribution = "uniform"',
        f"sigma = {_number(choices.sigma)}",
        "",
        "[[algorithms]]",
        'algorithm = "relay"',
        'variance = "released"',
        "",
        "[[algorithms]]",
        'algorithm = "tracking"',
        "",
        "[[algorithms]]",
        'algorithm = "paper"',
    ]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return "inf" if value == inf else repr(float(value))


def _list(values: list[float] | tuple[float, ...]) -> str:
    return f"[{', '.join(map(_number, values))}]"
