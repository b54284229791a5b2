"""The owner's answer where there is a board: a posterior mean, or why it is the own mean alone.

It needs numpy, an eighth of a node's memory: imported when somebody asks.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

import numpy as np

from colme.inference.mixture import Models
from colme.inference.obstacles import (
    NEEDED,
    FewAlike,
    LittleToLearn,
    Obstacle,
    TooFew,
    Uncertain,
    Unlike,
    obstacle,
)
from colme.node.owner.status import Answer
from colme.protocol.board.record import Record
from colme.protocol.relay import Evidence
from colme.relay import Relay
from colme.rules.release import Profile


def obstacle_in_words(found: Obstacle, *, first_release: int) -> str:
    """Say in words why the answer is near the own mean, and what is missing.

    `first_release`: the samples after which a node like this one releases something.
    """
    match found:
        case TooFew(others=others):
            after = "its first sample" if first_release == 1 else f"{first_release} samples or so"
            return (
                f"{_others(others)} released something under these bounds so far, and {NEEDED}"
                f" are needed; with this epsilon a node does after {after}"
            )
        case Uncertain(samples=samples):
            more = "a few" if samples is None else f"about {samples:,}"
            return f"noise hides as yet how much samples vary; {more} more at every node will tell"
        case Unlike(all_the_same=True):
            return "all samples are the same so far, and others' are not"
        case Unlike():
            return "these samples vary otherwise than others' do; more samples may tell why"
        case FewAlike(alike=alike, others=others):
            return (
                f"samples vary as much as these at {alike} of {others} others, and {NEEDED} are"
                " needed"
            )
        case LittleToLearn():
            return "what others tell adds little to these samples, or does not fit them"
        case _:
            assert_never(found)


def _others(count: int) -> str:
    if count == 0:
        return "nobody else has"
    return "1 other has" if count == 1 else f"{count} others have"


def answer_with_a_board(
    algorithm: Relay,
    evidence: Evidence,
    warm: object,
    *,
    profile: Profile,
    came: Mapping[str, float],
) -> tuple[Answer, float | None, object]:
    """The answer, when the oldest record in it came, and what was learned of the others."""
    estimate, learned = algorithm.answer(evidence, warm)
    reason = None
    if not estimate.collaborative:
        found = obstacle(algorithm.own(evidence), evidence.records)
        schedule = algorithm.schedule_for(profile, evidence.origin)
        reason = obstacle_in_words(found, first_release=schedule.next_end(0))
    models = learned if isinstance(learned, Models) else None
    used = _of_others(evidence) if models is not None else ()
    answer = Answer.of(
        estimate,
        samples=evidence.own_count,
        records=len(used),
        classes=None if models is None else _classes(models),
        why=reason,
    )
    oldest = min((came[one.origin] for one in used if one.origin in came), default=None)
    return answer, oldest, learned


def _of_others(evidence: Evidence) -> Sequence[Record]:
    return [
        record
        for record in evidence.records
        if record.origin != evidence.origin and record.bounds == evidence.bounds
    ]


def _classes(models: Models) -> int:
    """Of the model that is most probable."""
    return int(models.models[int(np.argmax(models.probabilities))].means.size)
