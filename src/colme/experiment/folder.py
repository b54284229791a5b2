"""The output folder of an experiment: whose it is, its finished parts, its files.

How it works
------------
A folder belongs to one experiment, so that no figure stands beside data that it does not show::

    asked.json             the identity of the experiment and, once it is finished, its files
    unfinished-<digest>/   a file for each finished part, until all files are written

1. `Folder.claim` compares identities. They cover the contents of all that an experiment reads, so
   that an edited table, edge file or rule is another experiment. Another one is refused.
2. Each part is saved as it is finished, whole or not at all, and found by the same command later.
3. `Folder.finish` is called when all files are written. It lists them in asked.json, and only then
   removes the parts: a full disk at the end loses none of them.
"""

import hashlib
import io
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from colme import __version__
from colme.errors import ConfigError

Arrays = Mapping[str, NDArray[np.float64]]
"""Arrays of a finished part, by name."""

ASKED = "asked.json"
UNFINISHED = "unfinished-"

DIGEST = hashlib.sha256().digest_size
"""Bytes at the start of a part's file: a hash of the others, so that any damage shows."""

MOST_NAMED = 4
"""Fields that an error names, if two experiments differ in more."""
LONGEST = 40
"""Characters of a value that an error shows."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that holds nothing of another experiment."""

    out: Path
    identity: Mapping[str, Any]
    files: tuple[Path, ...] = ()
    """All files of the experiment if it was finished here before; else none."""

    @classmethod
    def claim(
        cls,
        out: Path | str,
        identity: Mapping[str, Any],
        *,
        results: Iterable[str],
        force: bool = False,
    ) -> Self:
        """Take a folder for an experiment.

        Parameters
        ----------
        identity
            Plain data that covers all that the numbers depend on.
        results
            Names of files that the experiment writes.
        force
            Remove what another experiment left there, and what this one did if it is finished.

        Raises
        ------
        ConfigError
            If the folder can't be written to, or belongs to another experiment.
        """
        out = Path(out)
        # As it will be read again: a tuple comes back as a list.
        identity = json.loads(json.dumps({"version": __version__, **identity}))
        require_writable(out)
        known = _read(out)
        if known is None:
            there = [name for name in results if (out / name).exists()]
            strange = f"with {there[0]} in it, and not what was asked for it" if there else ""
        else:
            there = list(known.files)
            differences = list(_differences(known.identity, identity))
            strange = f"of another experiment: {_listed(differences)}" if differences else ""
        if strange and not force:
            raise ConfigError("--out", f"{out}, {strange}", _REMEDY)
        if known is None or strange or (force and there):
            _remove(out, there)
        elif there and all((out / name).exists() for name in there):
            return cls(out, identity, tuple(out / name for name in there))
        _write(out, _Known(identity, ()))
        return cls(out, identity)

    @property
    def parts(self) -> Path:
        """Folder of the finished parts. No other experiment and no other version has its name."""
        everything = json.dumps(self.identity, sort_keys=True).encode()
        return self.out / f"{UNFINISHED}{hashlib.sha256(everything).hexdigest()[:16]}"

    def load(self, name: str) -> Arrays | None:
        """Return a finished part; None if it is not there or damaged."""
        path = self.parts / f"{name}.part"
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError("--out", str(path), f"a file to read ({error.strerror})") from None
        digest, packed = content[:DIGEST], content[DIGEST:]
        if hashlib.sha256(packed).digest() != digest:
            # The same text for every part: it is shown once.
            warnings.warn(f"{self.parts}: damaged parts are computed again", stacklevel=1)
            return None
        with np.load(io.BytesIO(packed)) as arrays:
            return dict(arrays)

    def save(self, name: str, arrays: Arrays) -> None:
        """Store a finished part; the file appears whole or not at all."""
        packed = io.BytesIO()
        np.savez(packed, allow_pickle=False, **arrays)
        partial = self.parts / f"{name}.partial"
        try:
            self.parts.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                file.write(hashlib.sha256(packed.getbuffer()).digest())
                file.write(packed.getbuffer())
            partial.replace(self.parts / f"{name}.part")
        except OSError as error:
            seen = f"{self.parts}, where a part can't be written ({error.strerror})"
            expected = "room, then the same command: finished parts are stored"
            raise ConfigError("--out", seen, expected) from None

    def finish(self, files: Iterable[Path]) -> None:
        """Note that these files are all there, then remove the parts: in this order, never before.

        Parts are all that is left of hours if the disk is full at the end.
        """
        _write(self.out, _Known(self.identity, tuple(path.name for path in files)))
        if self.parts.is_dir():
            rmtree(self.parts)


def finished_parts(out: Path) -> int:
    """Count finished parts in a folder whose experiment is not finished."""
    return len(list(out.glob(f"{UNFINISHED}*/*.part")))


def require_writable(out: Path) -> None:
    """Make the folder, and make sure that it can be written to, before anything is computed."""
    probe = out / ".writable"
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigError("--out", str(out), f"a folder to write to ({error.strerror})") from None


def add_files(out: Path, files: Iterable[Path]) -> None:
    """Note what was drawn from a finished experiment; elsewhere, note nothing."""
    known = _read(out)
    if known is not None and known.files:
        names = dict.fromkeys([*known.files, *(path.name for path in files)])
        _write(out, _Known(known.identity, tuple(names)))


def refuse_unfinished(out: Path) -> None:
    """Raise a ConfigError if an experiment has begun in this folder and is not finished."""
    known = _read(out)
    begun = any(out.glob(f"{UNFINISHED}*")) if known is None else not known.files
    if begun:
        seen = f"{out}, which is not finished ({finished_parts(out)} parts are)"
        raise ConfigError("result", seen, "the command that began it once more: it goes on")


@dataclass(frozen=True, slots=True)
class _Known:
    """Contents of asked.json."""

    identity: Mapping[str, Any]
    files: tuple[str, ...]


_REMEDY = "another folder, or --force to replace what is there"


def _read(out: Path) -> _Known | None:
    try:
        content = json.loads((out / ASKED).read_text(encoding="utf-8"))
        return _Known(dict(content["asked"]), tuple(map(str, content["files"])))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return _Known({}, ())  # Nothing can be compared, so it is another experiment's.


def _write(out: Path, known: _Known) -> None:
    """Write asked.json, whole or not at all."""
    partial = out / f"{ASKED}.partial"
    content = {"asked": known.identity, "files": known.files}
    partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    partial.replace(out / ASKED)


def _remove(out: Path, names: Iterable[str]) -> None:
    """Remove files of this folder alone, whatever a name says, and unfinished parts."""
    for name in names:
        (out / Path(name).name).unlink(missing_ok=True)
    for folder in out.glob(f"{UNFINISHED}*"):
        rmtree(folder)


def _differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    before, now = dict(_flat("", there)), dict(_flat("", here))
    for field in dict.fromkeys([*before, *now]):
        if before.get(field) != now.get(field):
            yield f"{field} {_short(before.get(field))} there, {_short(now.get(field))} here"


def _flat(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield fields with their paths, those of tables in a list included."""
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


def _listed(differences: list[str]) -> str:
    more = len(differences) - MOST_NAMED
    return "; ".join(differences[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
