"""What a study says in words: what was found, what to be wary of, what privacy means here."""

from math import exp, isfinite, isnan

from colme.privacy.words import level
from colme.studies.findings import Curve, Findings
from colme.studies.inquiry import ASKED, Inquiry

WORTH_TELLING = 0.05
"""Of the error alone: less is no difference."""

FEWEST = 6
"""Sites that relay needs whose data vary alike."""


def warnings(question: Inquiry) -> list[str]:
    """Of the data, of the graph, of too few sites."""
    sites = question.sites
    found = [*sites.warnings, *question.links.warnings]
    relays = any(table.algorithm == "relay" for table in question.algorithms)
    if relays and len(sites.names) < FEWEST:
        found.append(
            f"Relay learns where there are {FEWEST} sites or more whose data vary alike; of these"
            f" {len(sites.names)} everybody answers with its own mean."
        )
    return found


def left_out(question: Inquiry, most: int | None = None) -> list[str]:
    """Rows and sites that are not in the study, by name; at most so many of the sites."""
    sites = question.sites
    found = [f"Not used: {one}." for one in sites.bad]
    if sites.left_out:
        named = [f"{name} ({rows})" for name, rows in sites.left_out]
        some = ", ".join(named[:most]) + (", ..." if most and len(named) > most else "")
        found.append(
            f"Left out, {len(sites.left_out)} with fewer than {sites.min_samples} rows: {some}."
        )
    return found


def asked(question: Inquiry) -> str:
    """The study in a sentence."""
    sites = question.sites
    rows = int(sites.counts.sum())
    who = (
        f"{len(sites.names)} sites with {rows:,} rows, {question.links.words}; {question.runs} runs"
    )
    if question.mode == "resample":
        return (
            f"{who}. In each, every site draws rows of its own with replacement, up to"
            f" {question.samples:,}; the truth is the mean of all its rows."
        )
    return (
        f"{who}. In each, a random half of every site's rows is held out and its mean is the truth,"
        " whose own error is taken off all squared errors; the other half is fed in its order, at"
        " the pace at which all sites end together. Runs split the same rows: error bars say"
        " nothing of what other rows would have done."
    )


def method(question: Inquiry) -> list[str]:
    """How to read the numbers."""
    told = [
        "Alone is the error of a site's own exact mean, together that of the algorithm's answer;"
        " both are root mean squared errors over the runs. Gain is 1 - (together / alone)²: the"
        " share of its squared error that a site is spared; below zero it would have done better"
        " alone.",
        "Gained and lost are said of sites whose error differs from that alone by more than chance"
        " does in 95 of 100 cases (Student's t over the runs); of a hundred sites without any"
        " difference about five are called one or the other.",
        "Nobody is told a variance. Relay and tracking release noisy squares beside noisy means,"
        " at no further loss of privacy; the paper's algorithm takes the largest variance that the"
        " bounds allow.",
    ]
    if any(table.algorithm == "relay" for table in question.algorithms):
        if len(question.sites.names) > ASKED:
            told.append(
                "With so many sites not everyone's answer is computed in every run: all take turns."
            )
        told.append(
            "Class found is how many sites relay took to be alike, the site itself included;"
            " interval is half the width of the 95% interval that it would have told the site."
        )
    return told


def summary(question: Inquiry, findings: Findings) -> list[str]:
    """A sentence or two for each curve, at its best, at its worst, and at the end."""
    return [
        _of_curve(curve, len(question.sites.names))
        for curve in findings.curves
        if curve.algorithm != "local"
    ]


def _of_curve(curve: Curve, sites: int) -> str:
    known = [i for i, ratio in enumerate(curve.mse_over_local) if not isnan(ratio)]
    name, end = label(curve), f"At the end ({curve.samples[-1]:,} samples)"
    if not known:
        return f"{name}: how it compares with staying alone can't be told from these rows."
    best = min(known, key=lambda i: _most(curve, i))
    worst = max(known, key=lambda i: _least(curve, i))
    if _most(curve, best) < 1 - WORTH_TELLING:
        text = f"{name}: it pays most at {_told(curve, best)}."
    else:
        text = f"{name}: at no count is it clearly better than staying alone."
    if _least(curve, worst) > 1 + WORTH_TELLING:
        text += f" It is worse than staying alone at {_told(curve, worst)}."
    ratio = curve.mse_over_local[-1]
    at_end = "it can't be told" if isnan(ratio) else f"{ratio:.2f}"
    gained, lost = curve.gained[-1], curve.lost[-1]
    return text + (
        f" {end} {at_end}; {gained} of {sites} sites have clearly gained, {lost} clearly lost."
    )


def _most(curve: Curve, i: int) -> float:
    """Return the upper end of the 95% interval."""
    return curve.mse_over_local[i] + curve.margin[i]


def _least(curve: Curve, i: int) -> float:
    """Return the lower end of the 95% interval."""
    return curve.mse_over_local[i] - curve.margin[i]


def _told(curve: Curve, i: int) -> str:
    return (
        f"{curve.samples[i]:,} samples a site, where the squared error is"
        f" {curve.mse_over_local[i]:.2f} ± {curve.standard_error[i]:.2f} of that alone"
        f" (clear gains: {curve.gained[i]}, clear losses: {curve.lost[i]})"
    )


def label(curve: Curve) -> str:
    """An algorithm and its epsilon."""
    return f"{curve.algorithm}, epsilon {level(curve.epsilon)}"


def privacy(question: Inquiry) -> str:
    """What is promised to each sample, and what is not."""
    lo, hi = question.sites.bounds
    levels = [epsilon for epsilon in question.epsilons if isfinite(epsilon)]
    factors = ", ".join(f"{exp(epsilon):.3g} times for epsilon {epsilon:g}" for epsilon in levels)
    promise = (
        "Each sample is protected by pure epsilon-differential privacy: replace any one sample of a"
        f" site by any other value from {lo:g} to {hi:g}, and nothing that the site ever sends"
        " becomes more likely, or less, by more than a factor e^epsilon"
    )
    promise += f" ({factors})." if factors else "."
    if any(not isfinite(epsilon) for epsilon in question.epsilons):
        promise += " Epsilon ∞ is no privacy at all: means are sent as they are."
    return (
        promise + " That is event level and replace-one: a person who is in k rows has k epsilon."
        " How many samples a site has is public, and so are the bounds. All that a site"
        " sends follows from noisy means and noisy squares; its exact mean and its answer stay with"
        " it. With relay everybody"
        " sees everybody's noisy mean, passed on from neighbour to neighbour, under a pseudonym."
        " This study itself is not private: it has read all rows in one place, and the means and"
        " errors of sites that it tells are exact. Show it to those who may see the rows."
    )
