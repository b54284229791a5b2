"""A deliberate break: a text of one file that is replaced, and the tests that have to notice it."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CATALOGUE = Path(__file__).parent / "catalogue"


class Outdated(Exception):  # noqa: N818 (it reads as what it is)
    """A mutant does not fit the code any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """The fields are those of its table in the catalogue; its name is the table's."""

    name: str
    breaks: str
    """What is wrong with the code then, in words."""
    file: str
    old: str
    """Stands in the file once, so that it is clear what is broken."""
    new: str
    tests: tuple[str, ...]
    """The narrowest that should notice, as pytest is told of them."""
    survived_once: bool = False
    """Whether no test about privacy noticed it when it was written."""

    def apply(self, tree: Path) -> None:
        """Break the code of a tree; Outdated if what it replaces does not stand there once."""
        path = tree / self.file
        text = path.read_text() if path.exists() else ""
        if (times := text.count(self.old)) != 1:
            raise Outdated(f"what it replaces stands {times} times in {self.file}, expected once")
        path.write_text(text.replace(self.old, self.new))


def catalogue(folder: Path = CATALOGUE) -> list[Mutant]:
    """All of them, in the order of their names."""
    tables = [
        (name, table)
        for path in sorted(folder.glob("*.toml"))
        for name, table in tomllib.loads(path.read_text()).items()
    ]
    names = [name for name, _ in tables]
    if len(set(names)) < len(names):
        raise ValueError(f"every name once, not {names}")
    made = [Mutant(name=name, tests=tuple(table.pop("tests")), **table) for name, table in tables]
    return sorted(made, key=lambda one: one.name)


def in_turn(mutants: Sequence[Mutant], count: int, day: int) -> list[Mutant]:
    """So many, from all over the list; the next day has the ones that follow each of them."""
    apart = max(1, len(mutants) // count)
    return [mutants[(day + place * apart) % len(mutants)] for place in range(count)][: len(mutants)]
