"""The report of a study: one HTML file with styles, scripts, figures and data in it.

It is sent around and opened from a disk, offline: it loads nothing from anywhere.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from html import escape
from math import isfinite, isnan
from typing import Any

from matplotlib.figure import Figure

from colme.pages.assets import CHARTS, STYLES, asset
from colme.studies import figures, words
from colme.studies.findings import Curve, Findings, SiteResult, Verdict
from colme.studies.question import StudyQuestion

SHOWN = (10, 30, 100, 300, 1_000, 3_000)
"""Counts of samples at which the gain of every site is shown."""

_WORDS: dict[Verdict, str] = {"gained": "gained", "lost": "lost", "even": ""}
_COLOURS: dict[Verdict, str] = {"gained": " good", "lost": " bad", "even": ""}

LEAST = -10.0
"""Gains below this are shown as "below"."""

_STYLES = (*STYLES, "study/page.css")
_SCRIPTS = (*CHARTS, "components/elements.js", "study/page.js")


def page(title: str, question: StudyQuestion, findings: Findings) -> str:
    """Return the whole file. Its scripts draw the curves; without scripts, it shows figures."""
    top, *sections = _sections(question, findings, _drawn_there)
    cards = "\n".join(_card(section) for section in sections)
    programs = [asset(name).text for name in _SCRIPTS]
    styles = "\n".join(asset(name).text for name in _STYLES)
    data = {
        "sites": len(question.sites.names),
        "curves": [_plain(curve) for curve in findings.curves],
    }
    # No text in the data can end the element that it stands in, or begin another.
    inside = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_policy(programs))}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>\n{styles}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{escape(title)}</h1>\n{top.content}\n</header>\n"
        f"<main>\n{cards}\n</main>\n"
        f'<script type="application/json" id="told">{inside}</script>\n'
        + "".join(f"<script>{program}</script>\n" for program in programs)
        + "</body>\n</html>\n"
    )


def _policy(programs: Sequence[str]) -> str:
    """Allow these scripts and no other, whatever names the rows have; nothing from elsewhere."""
    hashes = (b64encode(sha256(program.encode()).digest()).decode() for program in programs)
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def body(title: str, question: StudyQuestion, findings: Findings) -> str:
    """Return the report for a notebook: figures, and no scripts."""
    top, *sections = _sections(question, findings, lambda _, figure: figures.as_svg(figure))
    parts = [f"<h1>{escape(title)}</h1>", top.content]
    for section in sections:
        parts += [f"<h2>{escape(section.head)}</h2>", section.content]
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class _Section:
    head: str
    content: str


_Place = Callable[[str, Figure], str]
"""Returns the HTML of a figure, by its name in the page."""


def _sections(question: StudyQuestion, findings: Findings, place: _Place) -> list[_Section]:
    """Return all sections; the first is above all headings."""
    sites = len(question.sites.names)
    together = [curve for curve in findings.curves if curve.algorithm != "local"]
    sections = [
        _Section(
            "",
            "\n".join(
                [
                    _paragraph(words.asked(question)),
                    *(_paragraph(text, "warning") for text in words.warnings(question)),
                ]
            ),
        ),
        _Section(
            "Results",
            _list(words.summary(question, findings))
            + place("errors", figures.error_over_samples(findings.curves))
            + _paragraph(
                "Error ratio: squared error of the answers, averaged over sites and runs, divided"
                " by that of sites that stay alone. Below 1 is a gain. Bands are 95%.",
                "quiet",
            ),
        ),
    ]
    if together:
        sections.append(
            _Section(
                "Sites that gained and lost",
                place("counts", figures.gained_and_lost(together, sites))
                + _paragraph(
                    f"Number of the {sites} sites whose error is clearly smaller than alone, and"
                    " clearly larger.",
                    "quiet",
                ),
            )
        )
    tables = [
        f"<details{'' if number else ' open'}>\n<summary>{escape(words.label(curve))}</summary>\n"
        f"{_table(findings.sites, curve)}\n</details>"
        for number, curve in enumerate(together)
    ]
    return [
        *sections,
        _Section("Site by site", "\n".join(tables)),
        _Section(
            "How it was measured",
            _list([*words.method(question), *words.left_out(question)]),
        ),
        _Section("Privacy", _paragraph(words.privacy(question))),
    ]


def _card(section: _Section) -> str:
    head = section.head.lower().replace(",", "").replace(" ", "-")
    return (
        f'<section class="card" aria-labelledby="{head}">\n<h2 id="{head}">{escape(section.head)}'
        f"</h2>\n{section.content}\n</section>"
    )


def _drawn_there(name: str, figure: Figure) -> str:
    return f'<div id="{name}" class="cards"></div>\n<noscript>{figures.as_svg(figure)}</noscript>\n'


def _plain(curve: Curve) -> dict[str, Any]:
    """Return a curve as plain data: JSON has neither infinity nor NaN."""
    plain = asdict(curve)
    for name in ("mse_over_local", "standard_error"):
        plain[name] = [value if isfinite(value) else None for value in plain[name]]
    return {**plain, "epsilon": f"{curve.epsilon:g}"}


def _table(all_sites: Sequence[SiteResult], curve: Curve) -> str:
    samples = curve.samples
    sites = [
        site
        for site in all_sites
        if (site.algorithm, site.epsilon) == (curve.algorithm, curve.epsilon)
    ]
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
        word = f'<td class="word{_COLOURS[site.verdict]}">{_WORDS[site.verdict]}</td>'
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + word + "</tr>")
    rows = "".join(f"{line}\n" for line in lines)
    name = escape(f"Every site, {words.label(curve)}")
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
