"""A study with its question: for programs as JSON and CSV, for people as text, figures and a page.

The page is one HTML file with styles, scripts, figures and data in it. It is sent around and opened
from a disk, offline: it loads nothing from anywhere. No text quotes a cell of the data.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from html import escape
from io import StringIO
from math import exp, inf, isfinite, isnan, nan
from pathlib import Path
from typing import Any, Self

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from colme.config import as_json
from colme.pages.assets import CHARTS, STYLES, asset
from colme.report import style
from colme.report.style import LOCAL, Pen
from colme.rules.release import level
from colme.studies.findings import Curve, SiteResult, Verdict
from colme.studies.question import ASKED, StudyQuestion

PAGE, OBJECT, SITES, CURVES = "study.html", "study.json", "sites.csv", "curves.csv"
FIGURE = "study.svg"
FILES: tuple[str, ...] = (PAGE, OBJECT, SITES, CURVES, FIGURE)
"""Files of a study, in the order in which they are listed."""

TITLE = "How much would each site gain by collaborating?"

WORTH_TELLING = 0.05
"""Of the error alone: less is no difference."""

FEWEST = 6
"""Sites of similar variance that relay needs."""

HIGHEST = 2.0
"""Error ratio at which the picture ends. The label of a curve says how far it goes beyond."""

_COLOURS = ("#0072B2", "#D55E00", "#882255", "#E69F00", "#332288", "#56B4E9", "#a65628", "#000000")

SHOWN = (10, 30, 100, 300, 1_000, 3_000)
"""Counts of samples at which the gain of every site is shown."""

_CLASSES: dict[Verdict, str] = {"gained": " good", "lost": " bad", "even": ""}

LEAST = -10.0
"""Gains below this are shown as "below"."""

_STYLES = (*STYLES, "study/page.css")
_SCRIPTS = (*CHARTS, "components/elements.js", "study/page.js")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StudyResult:
    """A study: its question and what was found."""

    question: StudyQuestion
    curves: tuple[Curve, ...]
    """Error ratio over samples, for each algorithm at each epsilon."""
    sites: tuple[SiteResult, ...]
    """Every site, with each algorithm at each epsilon, at the last count."""

    @property
    def together(self) -> list[Curve]:
        """Curves of algorithms that collaborate."""
        return [curve for curve in self.curves if curve.algorithm != "local"]

    def sites_of(self, curve: Curve) -> list[SiteResult]:
        """Return every site with the algorithm and epsilon of a curve."""
        cell = curve.algorithm, curve.epsilon
        return [site for site in self.sites if (site.algorithm, site.epsilon) == cell]

    @property
    def warnings(self) -> list[str]:
        """Warnings about the data, the graph, and too few sites."""
        sites = self.question.sites
        found = [*sites.warnings, *self.question.links.warnings]
        relays = any(table.algorithm == "relay" for table in self.question.algorithms)
        if relays and len(sites.names) < FEWEST:
            found.append(
                f"Relay needs at least {FEWEST} sites whose data have a similar variance. There"
                f" are {len(sites.names)}, so every site answers with its own mean."
            )
        return found

    @property
    def summary(self) -> list[str]:
        """Each curve at its best, at its worst and at the end, in a sentence or two."""
        return [_of_curve(curve, len(self.question.sites.names)) for curve in self.together]

    def as_plain(self) -> dict[str, Any]:
        """Return one object for programs; null if a number is unknown."""
        question, sites = self.question, self.question.sites
        told: dict[str, Any] = as_json(
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
                "privacy": privacy(question),
                "curves": [asdict(curve) for curve in self.curves],
                "sites": [asdict(site) for site in self.sites],
            },
            infinity="inf",
        )
        return told

    @classmethod
    def load(cls, folder: Path, question: StudyQuestion) -> Self:
        """Read the result of this question from the JSON that `save` wrote."""
        found = json.loads((folder / OBJECT).read_text(encoding="utf-8"))
        curves = tuple(Curve(**_numbers(one)) for one in found["curves"])
        sites = tuple(SiteResult(**_numbers(one)) for one in found["sites"])
        return cls(question=question, curves=curves, sites=sites)

    def __repr__(self) -> str:
        return "\n".join([asked(self.question), *self.warnings, *self.summary])

    def page(self) -> str:
        """Return one HTML file with everything in it.

        Its scripts draw the curves; without scripts, it shows figures.
        """
        cards = "\n".join(_card(*section) for section in _sections(self, _drawn_there).items())
        programs = [asset(name).text for name in _SCRIPTS]
        styles = "\n".join(asset(name).text for name in _STYLES)
        data = {
            "sites": len(self.question.sites.names),
            "curves": [asdict(curve) | {"epsilon": f"{curve.epsilon:g}"} for curve in self.curves],
        }
        # No text in the data can end the element that it stands in, or begin another.
        inside = json.dumps(as_json(data, infinity="inf"), allow_nan=False).replace("<", "\\u003c")
        title = escape(TITLE)
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{escape(_policy(programs))}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<title>{title}</title>\n<link rel="icon" href="data:,">\n'
            f"<style>\n{styles}</style>\n</head>\n<body>\n"
            f"<header>\n<h1>{title}</h1>\n{_top(self)}\n</header>\n"
            f"<main>\n{cards}\n</main>\n"
            f'<script type="application/json" id="told">{inside}</script>\n'
            + "".join(f"<script>{program}</script>\n" for program in programs)
            + "</body>\n</html>\n"
        )

    def _repr_html_(self) -> str:
        """Return the report for a notebook: figures, and no scripts."""
        parts = [f"<h1>{escape(TITLE)}</h1>", _top(self)]
        for head, content in _sections(self, lambda _, figure: as_svg(figure)).items():
            parts += [f"<h2>{escape(head)}</h2>", content]
        return "\n".join(parts)

    def save(self, folder: Path | str) -> list[Path]:
        """Write the report, the JSON, both tables as CSV, and the curves as a figure."""
        out = Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        paths = [out / name for name in FILES]
        paths[0].write_text(self.page(), encoding="utf-8")
        paths[1].write_text(json.dumps(self.as_plain(), allow_nan=False) + "\n", encoding="utf-8")
        points = ["samples", "mse_over_local", "standard_error", "gained", "lost"]
        curves = pd.DataFrame(self.curves)[["algorithm", "epsilon", *points]].explode(points)
        sites = pd.DataFrame(self.sites).drop(columns="gains")
        sites.to_csv(paths[2], index=False, lineterminator="\r\n")
        curves.to_csv(paths[3], index=False, lineterminator="\r\n")
        figure = as_svg(error_over_samples(self))
        paths[4].write_text(figure, encoding="utf-8")
        return paths


TEXTS = ("site", "algorithm", "verdict")


def _numbers(value: Any) -> Any:
    """Undo `as_json`, with tuples for lists. A site may be called inf."""
    if isinstance(value, dict):
        return {key: one if key in TEXTS else _numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return tuple(map(_numbers, value))
    return nan if value is None else inf if value == "inf" else value


def left_out(question: StudyQuestion, most: int | None = None) -> list[str]:
    """List rows and sites that are not in the study; name at most `most` sites."""
    sites = question.sites
    found = [f"Not used: {one}." for one in sites.bad]
    if sites.left_out:
        named = [f"{name} ({rows})" for name, rows in sites.left_out]
        some = ", ".join(named[:most]) + (", ..." if most and len(named) > most else "")
        found.append(
            f"Left out: {len(sites.left_out)} with fewer than {sites.min_samples} rows: {some}."
        )
    return found


def asked(question: StudyQuestion) -> str:
    """Describe what was computed, in a few sentences."""
    sites = question.sites
    rows = int(sites.counts.sum())
    who = (
        f"{len(sites.names)} sites with {rows:,} rows, {question.links.words}; {question.runs} runs"
    )
    if question.mode == "resample":
        return (
            f"{who}. In each run, every site draws {question.samples:,} of its own rows, with"
            " replacement. The truth is the mean of all its rows."
        )
    return (
        f"{who}. In each run, a random half of every site's rows is held out. Their mean is the"
        " truth, and the variance of that mean is subtracted from all squared errors. The other"
        " half is fed in its order, at a pace at which all sites end together. All runs split the"
        " same rows, so the error bars do not cover what other rows would have given."
    )


def method(question: StudyQuestion) -> list[str]:
    """Explain how to read the numbers."""
    texts = [
        "Alone is the error of a site's own exact mean, together the error of the algorithm's"
        " answer. Both are root mean squared errors over the runs. Gain is 1 - (together / alone)²,"
        " the share of its squared error that a site avoids. If it is below zero, the site would"
        " have done better alone.",
        "A site gained or lost if its error differs from that alone by more than chance explains in"
        " 95 of 100 cases (Student's t over the runs). Of a hundred sites without any difference,"
        " about five are called one or the other.",
        "No algorithm knows a variance. Relay releases noisy squares with its noisy means, at no"
        " further loss of privacy. The paper's algorithm assumes the largest variance that the"
        " bounds allow.",
    ]
    if any(table.algorithm == "relay" for table in question.algorithms):
        if len(question.sites.names) > ASKED:
            texts.append(
                "With so many sites, each run evaluates only some of them. All sites take turns."
            )
        texts.append(
            "Class found is the number of sites that relay considers similar, including the site"
            " itself. Interval is half the width of the 95% interval that relay gives the site."
        )
    return texts


def _of_curve(curve: Curve, sites: int) -> str:
    known = [i for i, ratio in enumerate(curve.mse_over_local) if not isnan(ratio)]
    name, end = label(curve), f"At the end ({curve.samples[-1]:,} samples)"
    if not known:
        return f"{name}: how it compares with staying alone can't be told from these rows."
    # Ends of the 95% intervals.
    upper = [ratio + half for ratio, half in zip(curve.mse_over_local, curve.margin, strict=True)]
    lower = [ratio - half for ratio, half in zip(curve.mse_over_local, curve.margin, strict=True)]
    best, worst = min(known, key=upper.__getitem__), max(known, key=lower.__getitem__)
    if upper[best] < 1 - WORTH_TELLING:
        text = f"{name}: it pays most at {_told(curve, best)}."
    else:
        text = f"{name}: at no count is it clearly better than staying alone."
    if lower[worst] > 1 + WORTH_TELLING:
        text += f" It is worse than staying alone at {_told(curve, worst)}."
    ratio = curve.mse_over_local[-1]
    at_end = "it can't be told" if isnan(ratio) else f"{ratio:.2f}"
    gained, lost = curve.gained[-1], curve.lost[-1]
    return text + (
        f" {end} {at_end}; {gained} of {sites} sites have clearly gained, {lost} clearly lost."
    )


def _told(curve: Curve, i: int) -> str:
    return (
        f"{curve.samples[i]:,} samples a site, where the squared error is"
        f" {curve.mse_over_local[i]:.2f} ± {curve.standard_error[i]:.2f} of that alone"
        f" (clear gains: {curve.gained[i]}, clear losses: {curve.lost[i]})"
    )


def label(curve: Curve) -> str:
    """Name an algorithm and its epsilon."""
    return f"{curve.algorithm}, epsilon {level(curve.epsilon)}"


def privacy(question: StudyQuestion) -> str:
    """State the privacy guarantee of each sample, and what is not protected."""
    lo, hi = question.sites.bounds
    levels = [epsilon for epsilon in question.epsilons if isfinite(epsilon)]
    factors = ", ".join(f"{exp(epsilon):.3g} times for epsilon {epsilon:g}" for epsilon in levels)
    guarantee = (
        "Each sample is protected by pure epsilon-differential privacy. Replace any one sample of a"
        f" site by any other value from {lo:g} to {hi:g}: the probability of anything that the site"
        " sends changes by at most a factor e^epsilon"
    )
    guarantee += f" ({factors})." if factors else "."
    if any(not isfinite(epsilon) for epsilon in question.epsilons):
        guarantee += " Epsilon ∞ gives no privacy: exact means are sent."
    return (
        f"{guarantee} The guarantee is per sample and replace-one: for a person who is in k rows it"
        " is k epsilon. The number of samples of a site is public, and so are the bounds."
        " Everything that a site sends is computed from noisy means and noisy squares. Its exact"
        " mean and its answer stay with it. With relay, every site sees the noisy mean of every"
        " other site, forwarded by neighbours under a pseudonym. This study itself is not private:"
        " it reads all rows in one place, and its means and errors are exact. Show it only to"
        " people who may see the rows."
    )


def error_over_samples(result: StudyResult) -> Figure:
    """Draw the error ratio over samples: below 1 is a gain. Bands are 95%."""
    figure = Figure(figsize=(9.4, 4.9), layout="constrained")
    panel = figure.subplots()
    shown = result.together or result.curves
    lines = style.lines(list(dict.fromkeys(curve.algorithm for curve in shown)))
    epsilons = list(dict.fromkeys(curve.epsilon for curve in shown))
    style.level_line(panel, LOCAL)
    handles = [LOCAL.handle()]
    for curve in shown:
        colour = _COLOURS[epsilons.index(curve.epsilon) % len(_COLOURS)]
        most = max(curve.mse_over_local)
        name = _named(curve)
        if most > HIGHEST:
            name += f" (up to {most:.3g})"
        pen = Pen(colour, lines[curve.algorithm], 1.8, name)
        style.draw(panel, curve.samples, curve.mse_over_local, pen, curve.margin)
        handles.append(pen.handle())
    highest = max(max(curve.mse_over_local) for curve in shown)
    panel.set_ylim(0, min(max(1.2, 1.05 * highest), HIGHEST))
    panel.set_ylabel("Squared error / alone")
    _over_samples(panel, shown[0])
    style.legend(figure, handles)
    style.head(figure, "Error ratio: squared error together / alone (bands: 95%)")
    return figure


def gained_and_lost(result: StudyResult) -> Figure:
    """Draw how many sites clearly gained, upwards, and clearly lost, downwards."""
    curves, sites = result.together, len(result.question.sites.names)
    figure = Figure(figsize=(9.4, 1.7 + 1.7 * len(curves)), layout="constrained")
    panels = figure.subplots(len(curves), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
    for panel, curve in zip(panels, curves, strict=True):
        panel.fill_between(curve.samples, 0, curve.gained, color="tab:green", alpha=0.6, lw=0)
        lost = [-count for count in curve.lost]
        panel.fill_between(curve.samples, 0, lost, color="tab:red", alpha=0.6, lw=0)
        panel.axhline(0, color="black", lw=0.8)
        panel.set_ylim(-sites, sites)
        panel.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{abs(y):g}"))
        panel.set_title(_named(curve), fontsize="medium", loc="left")
        panel.set_ylabel("Lost | Gained")
        style.grid(panel)
    _over_samples(panels[-1], curves[0])
    style.head(figure, f"Sites that clearly gained and clearly lost, of {sites}")
    return figure


def _named(curve: Curve) -> str:
    return f"{curve.algorithm}, {style.epsilon_is(curve.epsilon)}"


def _over_samples(panel: Axes, curve: Curve) -> None:
    style.log_time(panel, curve.samples)
    panel.set_xlabel("Samples per site")
    style.grid(panel)


def as_svg(figure: Figure) -> str:
    """Return the figure for use inside a page: the same figure is the same text."""
    text = StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "colme"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]


def _policy(programs: Sequence[str]) -> str:
    """Allow these scripts and no other, whatever names the rows have; nothing from elsewhere."""
    hashes = (b64encode(sha256(program.encode()).digest()).decode() for program in programs)
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def _top(result: StudyResult) -> str:
    """Return what stands above all headings: what was computed, and warnings."""
    warnings = [_paragraph(text, "warning") for text in result.warnings]
    return "\n".join([_paragraph(asked(result.question)), *warnings])


def _sections(result: StudyResult, place: Callable[[str, Figure], str]) -> dict[str, str]:
    """Return the content of all sections by their headings.

    `place` returns the HTML of a figure, by its name in the page.
    """
    question, together = result.question, result.together
    sections = {
        "Results": _list(result.summary)
        + place("errors", error_over_samples(result))
        + _paragraph(
            "Error ratio: squared error of the answers, averaged over sites and runs, divided"
            " by that of sites that stay alone. Below 1 is a gain. Bands are 95%.",
            "quiet",
        )
    }
    if together:
        sections["Sites that gained and lost"] = place(
            "counts", gained_and_lost(result)
        ) + _paragraph(
            f"Number of the {len(question.sites.names)} sites whose error is clearly smaller than"
            " alone, and clearly larger.",
            "quiet",
        )
    tables = [
        f"<details{'' if number else ' open'}>\n<summary>{escape(label(curve))}</summary>\n"
        f"{_table(result, curve)}\n</details>"
        for number, curve in enumerate(together)
    ]
    return sections | {
        "Site by site": "\n".join(tables),
        "How it was measured": _list([*method(question), *left_out(question)]),
        "Privacy": _paragraph(privacy(question)),
    }


def _card(head: str, content: str) -> str:
    name = head.lower().replace(" ", "-")
    return (
        f'<section class="card" aria-labelledby="{name}">\n<h2 id="{name}">{escape(head)}</h2>\n'
        f"{content}\n</section>"
    )


def _drawn_there(name: str, figure: Figure) -> str:
    return f'<div id="{name}" class="cards"></div>\n<noscript>{as_svg(figure)}</noscript>\n'


def _table(result: StudyResult, curve: Curve) -> str:
    samples, sites = curve.samples, result.sites_of(curve)
    shown = [i for i, count in enumerate(samples) if count in SHOWN and i < len(samples) - 1]
    heads = [
        "site",
        "rows",
        "samples",
        "mean",
        "alone",
        "together",
        "interval",
        "class found",
        *(f"gain at {samples[i]:,}" for i in shown),
        "gain at the end",
        "",
    ]
    columns = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    lines = []
    for site in sorted(sites, key=lambda one: -2.0 if isnan(one.gain) else -one.gain):
        cells = [
            escape(site.site),
            f"{site.rows:,}",
            f"{site.samples:,}",
            number(site.truth),
            number(site.alone),
            number(site.together),
            "" if isnan(site.interval) else f"± {site.interval:.3g}",
            number(site.class_found),
            *(percent(site.gains[i]) for i in shown),
            percent(site.gain),
        ]
        verdict = "" if site.verdict == "even" else site.verdict
        word = f'<td class="word{_CLASSES[site.verdict]}">{verdict}</td>'
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + word + "</tr>")
    rows = "".join(f"{line}\n" for line in lines)
    name = escape(f"Every site, {label(curve)}")
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{name}"><table>\n'
        f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>"
    )


def number(value: float) -> str:
    """Return three digits; empty if it is unknown."""
    return "" if isnan(value) else f"{value:.3g}"


def percent(value: float) -> str:
    """Return a gain in percent; empty if it is unknown."""
    if isnan(value):
        return ""
    text = f"{value:.0%}" if value > LEAST else f"below {LEAST:.0%}"
    return "0%" if text == "-0%" else text


def _paragraph(text: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f"<p{named}>{escape(text)}</p>"


def _list(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>\n" for text in texts)
    return f"<ul>\n{items}</ul>" if items else ""
