"""Tries mutants on copies of a tree: the tree itself is never changed."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from shutil import copytree, ignore_patterns, rmtree

from mutants.mutant import Mutant, Outdated

AT_A_TIME = 2
LONGEST = 300.0
"""Seconds for the tests of one mutant; a break that makes them hang is a poor one."""
FAILED = 1
"""Of pytest: tests ran, and some failed. Any other code but 0 says that they could not run."""
SLIPS = ("NameError", "UnboundLocalError", "AttributeError", "ImportError", "SyntaxError")
"""What tests that notice a break do not fail with: the break itself is no working code."""


class Verdict(StrEnum):
    """What became of a mutant."""

    NOTICED = "noticed"
    SURVIVED = "SURVIVED"
    OUTDATED = "OUTDATED"
    UNTRIED = "UNTRIED"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one mutant; `detail` is the test that noticed, as pytest names it, or what is wrong."""

    mutant: Mutant
    verdict: Verdict
    detail: str


class Sound:
    """A copy of a tree without any mutant, in which all the tests pass."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self._folder = folder
        self._tree = folder / "sound"
        # Compiled files stay behind: those of the checkout may be of another moment.
        for part in ("src", "tests"):
            copytree(tree / part, self._tree / part, ignore=ignore_patterns("__pycache__"))
        (self._tree / "pyproject.toml").write_bytes((tree / "pyproject.toml").read_bytes())

    def failing(self, tests: Iterable[str]) -> str:
        """What pytest says of tests that fail with nothing broken; empty if none does."""
        spread = ["-p", "xdist.plugin", "--numprocesses", str(AT_A_TIME), "--dist", "loadfile"]
        run = _pytest(self._tree, [*sorted(set(tests)), *spread])
        return "" if run.returncode == 0 else run.stdout + run.stderr

    def tried(self, mutant: Mutant) -> Outcome:
        """Break a copy of it, and see which test notices."""
        tree = self._folder / mutant.name
        copytree(self._tree, tree)
        try:
            mutant.apply(tree)
            _forget_compiled(tree / mutant.file)
            run = _pytest(tree, [*mutant.tests, "--exitfirst"], LONGEST)
        except Outdated as error:
            return Outcome(mutant, Verdict.OUTDATED, str(error))
        except subprocess.TimeoutExpired:
            return Outcome(mutant, Verdict.UNTRIED, f"its tests took more than {LONGEST:g} s")
        finally:
            rmtree(tree)
        if run.returncode == 0:
            return Outcome(mutant, Verdict.SURVIVED, ", ".join(mutant.tests))
        test, _, reason = _first_failure(run.stdout).partition(" - ")
        if run.returncode != FAILED or not test:
            return Outcome(mutant, Verdict.UNTRIED, _last_words(run))
        if reason.startswith(SLIPS):
            return Outcome(mutant, Verdict.UNTRIED, f"what it puts in is no working code: {reason}")
        return Outcome(mutant, Verdict.NOTICED, test)


def trials(sound: Sound, mutants: Sequence[Mutant]) -> Iterator[Outcome]:
    """Their outcomes, as they come."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for done in as_completed([pool.submit(sound.tried, mutant) for mutant in mutants]):
            yield done.result()


def _pytest(
    tree: Path, arguments: Sequence[str], seconds: float | None = None
) -> "subprocess.CompletedProcess[str]":
    environment = {
        **os.environ,
        # Before the installed package: the copy's own is what the tests import.
        "PYTHONPATH": str(tree / "src"),
        # To load the plugins takes longer than most of these tests, and none is needed.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "COLUMNS": "500",
    }
    quietly = ["--quiet", "--tb=no", "--no-header", "-rfE"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *quietly, *arguments],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
    )


def _forget_compiled(source: Path) -> None:
    """Python tells a changed file by its second and its size: both may be as before."""
    for compiled in (source.parent / "__pycache__").glob(f"{source.stem}.*"):
        compiled.unlink()


def _first_failure(printed: str) -> str:
    for line in printed.splitlines():
        if line.startswith("FAILED "):
            return line.removeprefix("FAILED ")
    return ""


def _last_words(run: "subprocess.CompletedProcess[str]") -> str:
    lines = (run.stdout + run.stderr).strip().splitlines()
    return f"pytest ended with code {run.returncode}: {lines[-1] if lines else 'no word'}"
