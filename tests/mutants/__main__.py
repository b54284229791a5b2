"""Tries mutants: each is applied to a copy, and the tests that should notice it are run."""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from mutants.mutant import Mutant, catalogue, in_turn
from mutants.report import line, page, summary
from mutants.trial import Sound, Verdict, trials

TREE = Path(__file__).parents[2]


def main(arguments: Sequence[str]) -> int:
    """0 if every mutant was noticed."""
    asked = _parsed(arguments)
    mutants = _chosen(asked.names, asked.sample)
    if asked.list:
        for mutant in mutants:
            print(f"{mutant.name}: {mutant.breaks}")
        return 0
    with TemporaryDirectory(prefix="mutants-") as folder:
        sound = Sound(TREE, Path(folder))
        print(f"{len(mutants)} mutants; first their tests with nothing broken", flush=True)
        if failing := sound.failing(test for mutant in mutants for test in mutant.tests):
            print(f"{failing}\nThe tests fail without a mutant: that has to be mended first.")
            return 1
        outcomes = []
        for outcome in trials(sound, mutants):
            outcomes.append(outcome)
            print(f"{len(outcomes):>3}/{len(mutants)}  {line(outcome)}", flush=True)
    print(summary(outcomes))
    if asked.write:
        asked.write.write_text(page(outcomes))
    return int(any(one.verdict is not Verdict.NOTICED for one in outcomes))


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="these alone; all by default")
    parser.add_argument("--sample", type=int, metavar="N", help="so many, others every day")
    parser.add_argument("--list", action="store_true", help="say what there is, and try nothing")
    parser.add_argument("--write", type=Path, metavar="FILE", help="the result as Markdown")
    asked = parser.parse_args(arguments)
    if asked.sample is not None and asked.sample < 1:
        parser.error(f"--sample: saw {asked.sample}, expected 1 or more")
    if asked.write and (asked.names or asked.sample):
        parser.error("--write is for the result of all: expected no NAME and no --sample with it")
    unknown = set(asked.names) - {mutant.name for mutant in catalogue()}
    if unknown:
        parser.error(f"saw {', '.join(sorted(unknown))}, expected names that --list has")
    return asked


def _chosen(names: Sequence[str], sample: int | None) -> list[Mutant]:
    chosen = [mutant for mutant in catalogue() if not names or mutant.name in names]
    if sample is None:
        return chosen
    return in_turn(chosen, sample, datetime.now(UTC).date().toordinal())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
