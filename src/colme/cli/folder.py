"""An output folder belongs to one study: what was asked for is written in it, and what came of it.

Another study is refused there, so that no figure stands beside data that it does not show.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Annotated, Any, Self

import typer

from colme import __version__
from colme.errors import ConfigError

Force = Annotated[
    bool,
    typer.Option("--force", help="Whatever is in the way: another study in the folder is removed."),
]

ASKED = "asked.json"
UNFINISHED = "unfinished-*"
"""Where a study keeps its batches until all are there."""

MOST_NAMED = 4
"""Fields, where two studies differ in more."""
LONGEST = 40
"""Characters of a value that is named."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that holds nothing of another study."""

    out: Path
    asked: Mapping[str, Any]
    done: bool
    """Whether this study was finished here before, and all that came of it is still there."""

    @classmethod
    def claim(
        cls, out: Path, asked: Mapping[str, Any], *, results: Iterable[str], force: bool
    ) -> Self:
        """For this study, which writes `results` among others; a ConfigError if it is another's.

        With `force`, what another study left there goes, and so does this one's if it is finished.
        """
        # As it will be read again: a tuple comes back as a list.
        asked = json.loads(json.dumps({"version": __version__, **asked}))
        prepare(out)
        known = _read(out)
        if known is None:
            found = [name for name in results if (out / name).exists()]
            if found and not force:
                seen = f"{out}, with {found[0]} in it, and not what was asked for it"
                raise ConfigError("--out", seen, _REMEDY)
            _remove(out, found)
        else:
            differences = list(_differences(known.asked, asked))
            if differences and not force:
                seen = f"{out}, of another study: {_words(differences)}"
                raise ConfigError("--out", seen, _REMEDY)
            if differences or (force and known.files):
                _remove(out, known.files)
            elif known.files and all((out / name).exists() for name in known.files):
                return cls(out, asked, done=True)
        _write(out, _Known(asked, ()))
        return cls(out, asked, done=False)

    @property
    def said(self) -> str:
        """Before the names of its files."""
        return "Already done, nothing was computed again:" if self.done else "Saved"

    def finish(self, paths: Iterable[Path]) -> None:
        """All of it is written: these files."""
        _write(self.out, _Known(self.asked, tuple(path.name for path in paths)))


def prepare(out: Path) -> None:
    """Make sure that results can be written there, before anything is computed."""
    probe = out / ".writable"
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigError("--out", str(out), f"a folder to write to ({error.strerror})") from None


def add(out: Path, paths: Iterable[Path]) -> None:
    """What was drawn of a finished study goes with it; elsewhere, nothing is noted."""
    known = _read(out)
    if known is not None and known.files:
        names = dict.fromkeys([*known.files, *(path.name for path in paths)])
        _write(out, _Known(known.asked, tuple(names)))


def refuse_unfinished(out: Path) -> None:
    """A ConfigError where a study has begun and is not finished."""
    known = _read(out)
    begun = any(out.glob(UNFINISHED)) if known is None else not known.files
    if begun:
        batches = len(list(out.glob(f"{UNFINISHED}/*.batch")))
        seen = f"{out}, whose study is not finished ({batches} batches of runs are)"
        raise ConfigError("result", seen, "the command that began it once more: it goes on")


@dataclass(frozen=True, slots=True)
class _Known:
    asked: Mapping[str, Any]
    files: tuple[str, ...]
    """All that came of it; none while it is not finished."""


_REMEDY = "another folder, or --force to put this study in its place"


def _read(out: Path) -> _Known | None:
    try:
        content = json.loads((out / ASKED).read_text(encoding="utf-8"))
        return _Known(dict(content["asked"]), tuple(map(str, content["files"])))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return _Known({}, ())  # Of no study that could be named, so it is another's.


def _write(out: Path, known: _Known) -> None:
    """The file appears whole or not at all."""
    partial = out / f"{ASKED}.partial"
    content = {"asked": known.asked, "files": known.files}
    partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    partial.replace(out / ASKED)


def _remove(out: Path, names: Iterable[str]) -> None:
    """Files of this folder alone, whatever a name says, and unfinished batches."""
    for name in names:
        (out / Path(name).name).unlink(missing_ok=True)
    for folder in out.glob(UNFINISHED):
        rmtree(folder)


def _differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    before, now = dict(_flat("", there)), dict(_flat("", here))
    for field in dict.fromkeys([*before, *now]):
        if before.get(field) != now.get(field):
            yield f"{field} {_short(before.get(field))} there, {_short(now.get(field))} here"


def _flat(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Fields by their path, a list of tables included."""
    tables = isinstance(value, list) and any(isinstance(one, dict) for one in value)
    if isinstance(value, Mapping) or tables:
        items = enumerate(value) if tables else value.items()
        for name, one in items:
            yield from _flat(f"{place}.{name}" if place else str(name), one)
    else:
        yield place, value


def _short(value: Any) -> str:
    text = "none" if value is None else json.dumps(value).replace('"', "")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _words(differences: list[str]) -> str:
    more = len(differences) - MOST_NAMED
    return "; ".join(differences[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
