"""What became of the mutants, for people."""

from collections.abc import Sequence

from mutants.trial import Outcome, Verdict

HEAD = """# Mutants

Each of these is a deliberate break of what is promised about privacy, with the tests that have to
notice it: a table of `tests/mutants/catalogue`. [CONTRIBUTING](../CONTRIBUTING.md) says how to add
one. This is what `scripts/mutants --write docs/mutants.md` found: {found}.

| mutant | what it breaks | where | noticed by |
|---|---|---|---|
"""
FOOT = """
\\* No test about privacy noticed it when it was written.
"""


def line(outcome: Outcome) -> str:
    """One outcome."""
    return f"{outcome.verdict:<8}  {outcome.mutant.name}  ({outcome.detail})"


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many of each kind."""
    counts = {verdict: [one.verdict for one in outcomes].count(verdict) for verdict in Verdict}
    told = [f"{count} {verdict.lower()}" for verdict, count in counts.items() if count]
    return f"{len(outcomes)} mutants, {', '.join(told) or 'none'}"


def page(outcomes: Sequence[Outcome]) -> str:
    """All of them as Markdown."""
    rows = [_row(one) for one in sorted(outcomes, key=lambda one: one.mutant.name)]
    return HEAD.format(found=summary(outcomes)) + "\n".join(rows) + "\n" + FOOT


def _row(outcome: Outcome) -> str:
    mutant, noticed = outcome.mutant, outcome.verdict is Verdict.NOTICED
    star = "\\*" if mutant.survived_once else ""
    where = mutant.file.removeprefix("src/colme/")
    # Which of a test's cases was the first is of no interest, and some have long names.
    by = outcome.detail.partition("[")[0].removeprefix("tests/") if noticed else outcome.verdict
    return f"| {mutant.name}{star} | {mutant.breaks} | `{where}` | `{by}` |"
