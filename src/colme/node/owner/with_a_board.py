"""The owner's answer where there is a board: a posterior mean, or why it is the own mean alone.

It needs numpy, an eighth of a node's memory: imported when somebody asks.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from colme.inference.mixture import Models
from colme.inference.obstacles import obstacle
from colme.node.owner import why
from colme.node.owner.answer import Answer
from colme.protocol.board.record import Record
from colme.protocol.relay import Evidence
from colme.relay import Relay
from colme.rules.release import Profile


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
        reason = why.with_a_board(found, first_release=schedule.next_end(0))
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
