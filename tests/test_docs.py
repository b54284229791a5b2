"""What the documentation tells to type can be typed, and shows nobody the token or a sample."""

import os
import re
import subprocess
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from benchmarks.__main__ import NAMES
from colme.cli import app
from research.__main__ import app as research

ROOT = Path(__file__).parent.parent
TOKEN = "a-token-of-at-least-thirty-two-characters"

ARGUMENTS = """#!/bin/sh
printf '%s\\n' "$@" > arguments
cat > input
"""


COMMAND = re.compile(r"(?:^    |`)(colme|python -m benchmarks|python -m research) ([a-z]\S.*)")


def written() -> list[tuple[str, str, list[str]]]:
    """Every command of ours in the documentation: its page, the program, and its words."""
    found = []
    for page in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").glob("*.md")),
    ):
        for line in page.read_text().splitlines():
            for program, rest in COMMAND.findall(line.split("#")[0]):
                words = re.split(r"[`|>&]", rest)[0].replace("[", " ").replace("]", " ").split()
                found.append((page.name, program, words))
    return found


@cache
def group(program: str) -> Any:
    return get_command(app._application(app.COMMANDS) if program == "colme" else research)


def known(program: str, words: list[str]) -> tuple[Any, list[str]]:
    """The command that the first words name, and the words after them."""
    if program == "python -m benchmarks":
        assert words[0] in NAMES
        alone = typer.Typer()
        alone.command()(import_module(f"benchmarks.{words[0]}").main)
        return get_command(alone), words[1:]
    command = group(program)
    while words and getattr(command, "commands", None):
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.skipif(not (ROOT / "docs" / "node.md").exists(), reason="a part of the repository")
def test_every_command_and_option_that_is_told_of_is_there() -> None:
    found = written()
    assert len(found) > 50
    wrong = []
    for page, program, words in found:
        try:
            command, rest = known(program, words)
        except KeyError:
            wrong.append(f"{page}: {program} {' '.join(words)}")
            continue
        options = {name for option in command.params for name in option.opts} | {"--help"}
        passed_on = command.context_settings.get("ignore_unknown_options")
        given = {word.partition("=")[0] for word in rest if word.startswith("--")}
        if given - options and not passed_on:
            wrong.append(f"{page}: {program} {' '.join(words)}: {given - options}")
    assert wrong == []


def commands() -> list[str]:
    """Every command with curl in it, with the lines that it goes on for."""
    found = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        lines = iter(page.read_text().splitlines())
        for line in lines:
            text = line
            while text.rstrip().endswith(("|", "\\")) and text.startswith("    "):
                text += f"\n{next(lines)}"
            if " curl " in text and text.startswith("    "):
                found.append(text)
    return found


@pytest.mark.skipif(not (ROOT / "docs" / "node.md").exists(), reason="a part of the repository")
def test_neither_token_nor_samples_are_arguments(tmp_path: Path) -> None:
    """`ps` shows the arguments of a running command to every user of the machine."""
    curl = tmp_path / "curl"
    curl.write_text(ARGUMENTS)
    curl.chmod(0o755)
    (tmp_path / "north-state").mkdir()
    (tmp_path / "north-state" / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "samples.json").write_text("[12.5, 13]")
    found = commands()
    assert found
    for command in found:
        path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, env={"PATH": path}, check=True, timeout=20
        )
        arguments = (tmp_path / "arguments").read_text()
        assert TOKEN not in arguments
        assert "12.5" not in arguments
        assert (tmp_path / "input").read_text() == f"Authorization: Bearer {TOKEN}\n"
