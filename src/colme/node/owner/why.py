"""Why the owner's answer is near what it would be alone, in words, and what is missing."""

from typing import assert_never

from colme.inference.obstacles import (
    NEEDED,
    FewAlike,
    LittleToLearn,
    Obstacle,
    TooFew,
    Uncertain,
    Unlike,
)


def with_a_board(found: Obstacle, *, first_release: int) -> str:
    """`first_release`: the samples after which a node like this one releases something."""
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
