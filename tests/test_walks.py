"""How many of our files a reader walks through to follow a command, from its options to its result.

Files whose Python runs are counted in a second call, so that imports and compilation are left out.
A change that lengthens a walk raises a number here and says why in its commit.
"""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import colme
from colme.cli import app

SOURCE = Path(colme.__file__).parent
KERNEL = "sim/kernel/"

SIMULATE = "simulate --agents 20 --degree 4 --rounds 60 --runs 16 --threads 1"
STUDY = "study {rows} --site site --value value --bounds 0,1 --epsilon 1 --samples 20 --runs 4"

WALKS = {
    "simulate paper": (f"{SIMULATE} --algorithm paper --out {{out}}", 30, 19),
    "simulate relay": (f"{SIMULATE} --algorithm relay --out {{out}}", 38, 16),
    "study": (f"{STUDY} --threads 1 --out {{out}}", 36, 17),
}
"""The command, the most files it may execute, and the most before the kernel is reached."""


@contextmanager
def files_executed() -> Iterator[list[str]]:
    """Collect the files of this package whose functions run, in the order of their first call."""
    order: dict[str, None] = {}

    def profile(frame: FrameType, event: str, _: Any) -> None:
        # A module's own code is an import, which may still happen in a second call.
        if event == "call" and frame.f_code.co_name != "<module>":
            order.setdefault(frame.f_code.co_filename)

    found: list[str] = []
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        ours = (Path(name) for name in order if name.startswith(str(SOURCE)))
        found += [str(path.relative_to(SOURCE)) for path in ours]


def rows(path: Path) -> Path:
    """Write a small table of six sites."""
    lines = [f"{'abcdef'[n % 6]},{(n * 37 % 100) / 100}" for n in range(240)]
    path.write_text("site,value\n" + "\n".join(lines) + "\n")
    return path


def run(command: str, out: Path, table: Path) -> None:
    """Run a command of the command line in this process."""
    arguments: Sequence[str] = command.format(out=out, rows=table).split()
    assert app.run(arguments) == 0


@pytest.mark.parametrize("name", WALKS)
def test_a_command_walks_through_few_files(name: str, tmp_path: Path) -> None:
    command, most, most_before = WALKS[name]
    table = rows(tmp_path / "rows.csv")
    run(command, tmp_path / "first", table)
    with files_executed() as files:
        run(command, tmp_path / "second", table)
    before = next((n for n, one in enumerate(files) if one.startswith(KERNEL)), len(files))
    print(f"{name}: {len(files)} files, {before} before the kernel: {' '.join(files)}")
    assert 0 < before <= most_before
    assert len(files) <= most
