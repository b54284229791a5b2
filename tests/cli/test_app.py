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
    ("arguments", "remedy"),
    [
        ("theory --json", "colme plan"),
        ("plot result --size=8x5", "colme.report.drawing"),
        ("reproduce harm --out x", "python -m research harm"),
        ("reproduce figure1 --verbose", "claims.txt"),
        ("bench --node --json", "python -m benchmarks"),
        ("compare --out x", "colme reproduce comparison"),
    ],
)
def test_what_has_moved_is_refused_with_its_remedy(
    arguments: str, remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments.split()) == app.BAD_INPUT
    assert remedy in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--rounds", "10"], [], ["--help"], ["one", "--two=3"]])
def test_a_missing_extra_is_what_is_said_whatever_was_asked(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name="numba")

    monkeypatch.setattr(app, "_load", missing)
    code = run(["simulate", *arguments])
    said = capsys.readouterr()
    told = said.out if arguments == ["--help"] else said.err
    assert code == (0 if arguments == ["--help"] else app.BAD_INPUT)
    assert "numba" in told
    assert ".[sim]" in told


def test_an_option_given_twice_is_refused_unless_it_is_a_list(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["simulate", "--epsilon", "1", "--epsilon=2"]) == app.BAD_INPUT
    assert "--epsilon: given 2 times" in capsys.readouterr().err
    run(["node", "none.toml", "--told-nothing-since", "a", "--told-nothing-since", "b"])
    assert "times" not in capsys.readouterr().err


def test_a_slip_in_an_option_is_told_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--rund", "1"]) == app.BAD_INPUT
    assert "--runs" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["epsilon", "degree"])
def test_a_value_given_twice_is_refused_before_anything_is_run(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", f"--{option}", "4,4"]) == app.BAD_INPUT
    assert f"{option}: saw [4" in capsys.readouterr().err
