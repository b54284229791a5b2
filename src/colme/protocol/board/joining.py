"""Two entries of one origin become one, whichever of them came first.

A newer record replaces an older one; two that claim one place and differ are a proof, and a proof
stays for good. Contents decide: of two signatures of one content, either will do.

`join` is commutative and idempotent. It is associative as well for an origin that does not
contradict itself, and for one whose contradictions are all at its newest place. Otherwise it can't
be: an older record is not kept, so one that contradicts it and comes later goes unnoticed. What
follows is not disagreement but luck: whoever did see both has a proof, proofs replace records
wherever they come, and so all boards that exchange what they hold end alike.
"""

from colme.protocol.board.entry import Entry, Proof, statements


def join(one: Entry, other: Entry) -> Entry:
    """What both together say of their origin; `one` itself where the other adds nothing."""
    if one.order == other.order:
        return _of_one_place(one, other)
    match isinstance(one, Proof), isinstance(other, Proof):
        case True, True:
            return one if one.order < other.order else other
        case True, False:
            return one
        case False, True:
            return other
    return one if one.order > other.order else other


def _of_one_place(one: Entry, other: Entry) -> Entry:
    """The two smallest contents of all are the proof, so that everybody picks the same two."""
    different = {said.content(): said for said in (*statements(other), *statements(one))}
    smallest = sorted(different)[:2]
    if smallest == [said.content() for said in statements(one)]:
        return one
    first, second = (different[content] for content in smallest)
    return Proof(first, second)
