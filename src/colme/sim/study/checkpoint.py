"""Finished batches of a study that is not finished, so that it can be resumed."""

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from colme import __version__
from colme.errors import ConfigError
from colme.sim.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder with a file for each finished batch of one scenario and version."""

    folder: Path

    @staticmethod
    def identity(scenario: Scenario) -> str:
        """A name that no other scenario and no other version has."""
        everything = f"{__version__} {scenario.model_dump_json()}".encode()
        return hashlib.sha256(everything).hexdigest()[:16]

    @classmethod
    def of(cls, scenario: Scenario, out: Path | str) -> Self:
        """In `out`, under a name of its own."""
        return cls(Path(out) / f"unfinished-{cls.identity(scenario)}")

    def load(self, name: str) -> Mapping[str, NDArray[np.float64]] | None:
        """A batch's sums, if it is finished."""
        path = self.folder / f"{name}.npz"
        try:
            with path.open("rb") as file, np.load(file) as sums:
                return dict(sums)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            expected = f"a finished batch; delete the file to compute it again ({error})"
            raise ConfigError("checkpoint", str(path), expected) from None

    def save(self, name: str, sums: Mapping[str, NDArray[np.float64]]) -> None:
        """Keep a batch; the file appears whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.folder / f"{name}.partial"
        with partial.open("wb") as file:
            np.savez(file, allow_pickle=False, **sums)
        partial.replace(self.folder / f"{name}.npz")

    def remove(self) -> None:
        """Delete all of it: the study is finished."""
        if self.folder.is_dir():
            for path in self.folder.iterdir():
                path.unlink()
            self.folder.rmdir()
