"""A study with its question: for programs as JSON and CSV, for people as a page."""

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from math import inf, isfinite, isnan, nan
from pathlib import Path
from typing import Any, Self

from colme.studies import figures, page, words
from colme.studies.findings import Curve, Findings, SiteResult
from colme.studies.question import StudyQuestion

PAGE, OBJECT, SITES, CURVES = "study.html", "study.json", "sites.csv", "curves.csv"
FIGURE = "study.svg"
FILES: tuple[str, ...] = (PAGE, OBJECT, SITES, CURVES, FIGURE)
"""Files of a study, in the order in which they are listed."""

TITLE = "How much would each site gain by collaborating?"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StudyResult:
    """A study: its question and its findings."""

    question: StudyQuestion
    findings: Findings
    title: str = TITLE

    @property
    def curves(self) -> tuple[Curve, ...]:
        """Error ratio over samples, for each algorithm at each epsilon."""
        return self.findings.curves

    @property
    def sites(self) -> tuple[SiteResult, ...]:
        """Every site, with each algorithm at each epsilon, at the last count."""
        return self.findings.sites

    @property
    def warnings(self) -> list[str]:
        """Warnings about the data, the graph and the number of sites."""
        return words.warnings(self.question)

    @property
    def summary(self) -> list[str]:
        """A sentence or two for each curve."""
        return words.summary(self.question, self.findings)

    def as_plain(self) -> dict[str, Any]:
        """Return one object for programs; null if a number is unknown."""
        question, sites = self.question, self.question.sites
        told: dict[str, Any] = _plain(
            {
                "mode": question.mode,
                "bounds": list(sites.bounds),
                "runs": question.runs,
                "seed": question.seed,
                "graph": question.links.words,
                "rows": sites.rows,
                "bad_rows": [
                    {"fault": one.fault, "count": len(one.rows), "rows": list(one.rows[:20])}
                    for one in sites.bad
                ],
                "left_out": [{"site": name, "rows": rows} for name, rows in sites.left_out],
                "warnings": self.warnings,
                "summary": self.summary,
                "privacy": words.privacy(question),
                "curves": [asdict(curve) for curve in self.curves],
                "sites": [asdict(site) for site in self.sites],
            }
        )
        return told

    @classmethod
    def load(cls, folder: Path, question: StudyQuestion, title: str) -> Self:
        """Read the result of this question from the JSON that `save` wrote."""
        found = json.loads((folder / OBJECT).read_text(encoding="utf-8"))
        curves = tuple(Curve(**_numbers(one)) for one in found["curves"])
        sites = tuple(SiteResult(**_numbers(one)) for one in found["sites"])
        return cls(question=question, findings=Findings(curves=curves, sites=sites), title=title)

    def page(self) -> str:
        """Return one HTML file with everything in it."""
        return page.page(self.title, self.question, self.findings)

    def __repr__(self) -> str:
        return "\n".join([words.asked(self.question), *self.warnings, *self.summary])

    def _repr_html_(self) -> str:
        return page.body(self.title, self.question, self.findings)

    def save(self, folder: Path | str) -> list[Path]:
        """Write the report, the JSON, both tables as CSV, and the curves as a figure."""
        out = Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        paths = [out / name for name in FILES]
        paths[0].write_text(self.page(), encoding="utf-8")
        paths[1].write_text(json.dumps(self.as_plain(), allow_nan=False) + "\n", encoding="utf-8")
        names = [field.name for field in fields(SiteResult) if field.name != "gains"]
        _write(paths[2], names, [[getattr(site, name) for name in names] for site in self.sites])
        points = ("samples", "mse_over_local", "standard_error", "gained", "lost")
        _write(
            paths[3],
            ("algorithm", "epsilon", *points),
            [
                [curve.algorithm, curve.epsilon, *values]
                for curve in self.curves
                for values in zip(*(getattr(curve, name) for name in points), strict=True)
            ],
        )
        figure = figures.as_svg(figures.error_over_samples(self.curves))
        paths[4].write_text(figure, encoding="utf-8")
        return paths


def _write(path: Path, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in rows:
            writer.writerow(["" if _is_nan(cell) else cell for cell in row])


def _is_nan(cell: Any) -> bool:
    return isinstance(cell, float) and isnan(cell)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not isfinite(value):
        return "inf" if value > 0 else None
    return value


TEXTS = ("site", "algorithm", "verdict")


def _numbers(value: Any) -> Any:
    """Undo `_plain`, with tuples for lists. A site may be called inf."""
    if isinstance(value, dict):
        return {key: one if key in TEXTS else _numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return tuple(map(_numbers, value))
    return nan if value is None else inf if value == "inf" else value
