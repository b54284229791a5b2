"""What a page is told, as plain data fit for JSON: numbers that are not finite are None."""

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colme.explore.beliefs import Beliefs
from colme.explore.choices import Choices
from colme.explore.curves import Curves, DrawnCurve
from colme.explore.letters import Letter
from colme.explore.society import Society

LETTERS_AT_ONCE = 40
"""Of an agent, the newest first; the page asks for those before them."""

RELEASES_AT_ONCE = 6


def choices_shown(choices: Choices) -> dict[str, str]:
    """As a link has them."""
    return {name: str(value).removesuffix(".0") for name, value in choices.model_dump().items()}


def curves_shown(curves: Curves) -> dict[str, Any]:
    """Errors, and errors as multiples of Local's."""
    at = curves.rounds.tolist()
    return {
        "type": "curves",
        "runs": curves.runs,
        "of": curves.of,
        "errors": [_curve(one, at) for one in curves.errors],
        "harms": [_curve(one, at) for one in curves.harms],
    }


def _curve(curve: DrawnCurve, at: list[int]) -> dict[str, Any]:
    shown = {"name": curve.name, "label": curve.label, "at": at, "value": _finite(curve.value)}
    if curve.band is not None:
        shown["low"], shown["high"] = map(_finite, curve.band)
    return shown


def _finite(values: NDArray[np.float64]) -> list[float | None]:
    return [_or_none(value) for value in values.tolist()]


def _or_none(value: float) -> float | None:
    return value if isfinite(value) else None


def network_shown(society: Society) -> dict[str, Any]:
    """What stays as it is while it plays."""
    return {
        "edges": society.edges,
        "truth": society.truth.tolist(),
        "means": society.choices.means,
        "algorithm": society.choices.algorithm,
    }


def frame_shown(society: Society, beliefs: Beliefs) -> dict[str, Any]:
    """How it stands after a round."""
    lit = [number for number, edge in enumerate(society.edges) if edge in society.crossed]
    cut = [number for number, edge in enumerate(society.edges) if edge in society.cut]
    return {
        "type": "frame",
        "round": society.round,
        "lit": lit,
        "cut": cut,
        "away": sorted(society.away),
        "liars": sorted(society.liars),
        "errors": beliefs.errors(),
        "agents": [_belief(beliefs, a) for a in range(len(society.agents))],
    }


def _belief(beliefs: Beliefs, a: int) -> dict[str, Any] | None:
    belief = beliefs.latest[a]
    if belief is None:
        return None
    one = belief.estimate
    return {
        "value": one.value,
        "low": one.low,
        "high": one.high,
        "alone": one.alone,
        "alike": one.class_size,
        "trust": one.trust,
        "centre": belief.centre,
    }


def inside_shown(
    society: Society, beliefs: Beliefs, a: int, before: int | None = None
) -> dict[str, Any]:
    """What leaves an agent, and what does not: its letters up to number `before`."""
    letters = society.letters(a)
    end = len(letters) if before is None else max(0, min(before, len(letters)))
    first = max(0, end - LETTERS_AT_ONCE)
    return {
        "type": "inside",
        "agent": a,
        "older": before is not None,
        "promise": society.promise(a),
        "truth": float(society.truth[a]),
        "exact": society.exact(a),
        "belief": _belief(beliefs, a),
        "away": a in society.away,
        "lies": a in society.liars,
        "neighbours": [int(peer) for peer in society.agents[a].settings.neighbours],
        "releases": _releases(letters),
        "all": len(letters),
        "first": first,
        "letters": [_letter(one) for one in reversed(letters[first:end])],
    }


def _releases(letters: list[Letter]) -> list[dict[str, Any]]:
    """What it told of its own data, the newest first, each once however often it was sent."""
    found: dict[int, dict[str, Any]] = {}
    for letter in reversed(letters):
        said = letter.said
        if said.released is not None and said.count not in found:
            found[said.count] = {
                "count": said.count,
                "released": said.released,
                "exact": letter.exact,
            }
        if len(found) == RELEASES_AT_ONCE:
            break
    return list(found.values())


def _letter(letter: Letter) -> dict[str, Any]:
    return {
        "round": letter.round,
        "to": letter.to,
        "words": letter.said.words,
        "released": letter.said.released,
        "exact": letter.exact,
    }
