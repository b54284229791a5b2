"""`import colme`: light, and with the names that people look for."""

import subprocess
import sys
from pathlib import Path

import pytest

import colme

HEAVY = ("numpy", "numba", "scipy", "xarray", "pydantic", "networkx", "grpc", "matplotlib")


@pytest.mark.parametrize(
    ("asked", "brought", "spared"),
    [
        ("colme", "colme", HEAVY),
        (
            "colme.Agent, colme.Network, colme.posterior",
            "colme.inference.answers",
            ("numba", "scipy", "xarray", "pydantic", "networkx"),
        ),
    ],
)
def test_large_packages_are_not_waited_for(
    asked: str, brought: str, spared: tuple[str, ...]
) -> None:
    """Importing it needs none of them; an agent and the posterior need no simulator."""
    code = f"import sys, colme; {asked}; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(found.stdout.split())
    assert brought in loaded
    assert not loaded & set(spared)


@pytest.mark.parametrize("name", colme.__all__)
def test_every_name_is_there_under_its_own_name(name: str) -> None:
    assert getattr(colme, name).__name__ == name
    assert name in dir(colme)


def test_type_checkers_read_of_the_same_names() -> None:
    lines = Path(f"{colme.__file__}i").read_text().splitlines()
    stub = [line.split() for line in lines if line.startswith("from colme.")]
    assert {words[3]: words[1] for words in stub} == colme._HOMES


def test_what_is_not_there_is_said_to_be_missing() -> None:
    with pytest.raises(AttributeError, match="module 'colme' has no attribute 'simulat'"):
        colme.simulat  # noqa: B018 (asked for, not used)
    assert issubclass(colme.errors.ConfigError, colme.errors.ColmeError)


def test_a_name_whose_extra_is_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name="google")

    monkeypatch.setattr(colme, "import_module", missing)
    monkeypatch.delitem(vars(colme), "Node", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"google.*pip install '\.\[node\]'"):
        _ = colme.Node
