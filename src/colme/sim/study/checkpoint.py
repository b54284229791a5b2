"""Finished batches of a study that is not finished, so that it can be resumed."""

import hashlib
import io
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from colme import __version__
from colme.errors import ConfigError
from colme.sim.scenario import Scenario

DIGEST = hashlib.sha256().digest_size
"""Bytes that a file begins with: a hash of the others, so that any damage shows."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder with a file for each finished batch of one scenario and version."""

    folder: Path

    @staticmethod
    def identity(scenario: Scenario) -> str:
        """A name that no other scenario and no other version has."""
        everything = f"{__version__} {json.dumps(scenario.identity_fields())}"
        return hashlib.sha256(everything.encode()).hexdigest()[:16]

    @classmethod
    def of(cls, scenario: Scenario, out: Path | str) -> Self:
        """In `out`, under a name of its own."""
        return cls(Path(out) / f"unfinished-{cls.identity(scenario)}")

    def load(self, name: str) -> Mapping[str, NDArray[np.float64]] | None:
        """A batch's sums, if it is finished; one that is damaged is as good as none."""
        path = self.folder / f"{name}.batch"
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            expected = f"a file to read ({error.strerror})"
            raise ConfigError("checkpoint", str(path), expected) from None
        digest, packed = content[:DIGEST], content[DIGEST:]
        if hashlib.sha256(packed).digest() != digest:
            # The same words for every batch: they are shown once.
            told = f"{self.folder}: what was kept is damaged in part; that is computed again"
            warnings.warn(told, stacklevel=1)
            return None
        with np.load(io.BytesIO(packed)) as sums:
            return dict(sums)

    def save(self, name: str, sums: Mapping[str, NDArray[np.float64]]) -> None:
        """Keep a batch; the file appears whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.folder / f"{name}.partial"
        packed = io.BytesIO()
        np.savez(packed, allow_pickle=False, **sums)
        with partial.open("wb") as file:
            file.write(hashlib.sha256(packed.getbuffer()).digest())
            file.write(packed.getbuffer())
        partial.replace(self.folder / f"{name}.batch")

    def remove(self) -> None:
        """Delete all of it: the study is finished."""
        if self.folder.is_dir():
            for path in self.folder.iterdir():
                path.unlink()
            self.folder.rmdir()
