"""What the documentation tells to type shows nobody the token or a sample."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOKEN = "a-token-of-at-least-thirty-two-characters"

ARGUMENTS = """#!/bin/sh
printf '%s\\n' "$@" > arguments
cat > input
"""


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
