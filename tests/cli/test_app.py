"""What `colme` says before any command runs: its help, and what is not installed."""

import subprocess
import sys
from inspect import getdoc

import pytest
import typer

from colme.cli import app
from colme.cli.app import COMMANDS, run


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_of_a_command_what_it_says_of_itself(name: str) -> None:
    command = app._load(name)
    words = command.info.help if isinstance(command, typer.Typer) else getdoc(command)
    assert isinstance(words, str)
    assert " ".join(words.split("\n\n")[0].split()) == COMMANDS[name][1]


HEAVY = (
    "numpy",
    "pandas",
    "xarray",
    "numba",
    "scipy",
    "matplotlib",
    "networkx",
    "dask",
    "grpc",
    "cryptography",
    "sqlite3",
    "opendp",
    "structlog",
    "prometheus_client",
    "starlette",
    "uvicorn",
    "websockets",
)


def test_help_imports_nothing_that_computes() -> None:
    """For each command: `--help` takes at most 0.6 s of processor time, of which 0.4 are typer's.

    One interpreter asks for all of them, so that what any imports is found at the end.
    """
    code = f"""
import sys
from colme.cli.app import run
for name in {["", *COMMANDS]}:
    run([*name.split(), "--help"])
    print("imported:", name, *sorted(set({HEAVY}) & sys.modules.keys()))
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    found = [one.split()[1:] for one in ended.stdout.splitlines() if one.startswith("imported:")]
    assert found == [[], *([name] for name in COMMANDS)]


@pytest.mark.parametrize(
    ("command", "name", "extra"),
    [
        ("simulate", "numba", ".[sim]"),
        ("simulate --rounds 10", "numba", ".[sim]"),
        ("simulate one --two=3", "numba", ".[sim]"),
        ("simulate --help", "numba", ".[sim]"),
        ("explore", "websockets", ".[web]"),
    ],
)
def test_a_missing_extra_is_what_is_said_whatever_was_asked(
    command: str,
    name: str,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def missing(_: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(app, "_load", missing)
    code, helps = run(command.split()), command.endswith("--help")
    said = capsys.readouterr()
    told = said.out if helps else said.err
    assert code == (0 if helps else app.BAD_INPUT)
    assert name in told
    assert extra in told


def test_an_option_given_twice_is_refused_unless_it_is_a_list(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["simulate", "--epsilon", "1", "--epsilon=2"]) == app.BAD_INPUT
    assert "--epsilon: given 2 times" in capsys.readouterr().err
    run(["node", "none.toml", "--told-nothing-since", "a", "--told-nothing-since", "b"])
    assert "times" not in capsys.readouterr().err
