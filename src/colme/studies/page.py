"""A page to send around: one HTML file with everything in it, figures and privacy included."""

from collections.abc import Iterable, Sequence
from html import escape
from math import isnan

from colme.studies import figures, words
from colme.studies.findings import Findings, SiteResult
from colme.studies.inquiry import Inquiry

SHOWN = (10, 30, 100, 300, 1_000, 3_000)
"""Counts at which the gain of every site is shown, as far as the study has them."""

LEAST = -10.0
"""A gain below which it is not told how far."""

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child, td.word { text-align: left; }
.wide { overflow-x: auto; }
.gained { color: #17692b; } .lost { color: #a11a1a; }
.warning { border-left: .3rem solid #d99a00; padding-left: .8rem; }
.note { color: #555; font-size: .9rem; }
"""


def page(title: str, question: Inquiry, findings: Findings) -> str:
    """The whole file."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"{body(title, question, findings)}\n</body>\n</html>\n"
    )


def body(title: str, question: Inquiry, findings: Findings) -> str:
    """What stands in it."""
    sites = len(question.sites.names)
    together = [curve for curve in findings.curves if curve.algorithm != "local"]
    parts = [
        f"<h1>{escape(title)}</h1>",
        _paragraph(words.asked(question)),
        *(_paragraph(text, "warning") for text in words.warnings(question)),
        "<h2>What was found</h2>",
        _list(words.summary(question, findings)),
        figures.as_svg(figures.error_over_samples(findings.curves)),
        _paragraph(
            "Squared error of the answers, averaged over sites and runs, as a multiple of the same"
            " of sites that stay alone. Below 1 it pays. Bands are 95%.",
            "note",
        ),
    ]
    if together:
        parts += [
            "<h2>Who gained, who lost, and when</h2>",
            figures.as_svg(figures.gained_and_lost(together, sites)),
            _paragraph(
                f"Of {sites} sites, those whose error is clearly smaller than alone (green), and"
                " clearly larger (red).",
                "note",
            ),
        ]
    parts.append("<h2>Site by site</h2>")
    for curve in together:
        own = [
            site
            for site in findings.sites
            if (site.algorithm, site.epsilon) == (curve.algorithm, curve.epsilon)
        ]
        parts += [f"<h3>{escape(words.label(curve))}</h3>", _table(own, curve.samples)]
    parts += [
        "<h2>How it was measured</h2>",
        _list(words.method(question)),
        _list(words.left_out(question)),
        "<h2>Privacy</h2>",
        _paragraph(words.privacy(question)),
    ]
    return "\n".join(parts)


def _table(sites: Sequence[SiteResult], samples: Sequence[int]) -> str:
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
    lines = ["<tr>" + "".join(f"<th>{escape(head)}</th>" for head in heads) + "</tr>"]
    for site in sorted(sites, key=lambda one: -2.0 if isnan(one.gain) else -one.gain):
        cells = [
            escape(site.site),
            f"{site.rows:,}",
            f"{site.samples:,}",
            _number(site.truth),
            _number(site.alone),
            _number(site.together),
            "" if isnan(site.interval) else f"± {site.interval:.3g}",
            _number(site.class_found),
            *(percent(site.gains[i]) for i in shown),
            percent(site.gain),
        ]
        verdict = "" if site.verdict == "even" else site.verdict
        word = f'<td class="word {verdict}">{verdict}</td>'
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + word + "</tr>")
    return f'<div class="wide"><table>\n{"".join(line + chr(10) for line in lines)}</table></div>'


def _number(value: float) -> str:
    return "" if isnan(value) else f"{value:.3g}"


def percent(value: float) -> str:
    """A gain, as far as it means anything."""
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
