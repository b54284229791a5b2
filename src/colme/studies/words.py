"""Text of a study: setting, warnings, summary, method and privacy."""

from math import exp, isfinite, isnan

from colme.privacy.words import level
from colme.studies.findings import Curve, Findings
from colme.studies.question import ASKED, StudyQuestion

WORTH_TELLING = 0.05
"""Of the error alone: less is no difference."""

FEWEST = 6
"""Sites of similar variance that relay needs."""


def warnings(question: StudyQuestion) -> list[str]:
    """Return warnings about the data, the graph, and too few sites."""
    sites = question.sites
    found = [*sites.warnings, *question.links.warnings]
    relays = any(table.algorithm == "relay" for table in question.algorithms)
    if relays and len(sites.names) < FEWEST:
        found.append(
            f"Relay needs at least {FEWEST} sites whose data have a similar variance. There are"
            f" {len(sites.names)}, so every site answers with its own mean."
        )
    return found


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


def summary(question: StudyQuestion, findings: Findings) -> list[str]:
    """Describe each curve at its best, at its worst and at the end."""
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
