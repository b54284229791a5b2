"""Two entries of one origin become one, whichever of them came first.

A newer record replaces an older one; two that claim one place and differ are a proof, and a proof
stays for good. Contents decide: of two signatures of one content, either will do.

`join` is commutative and idempotent. It is associative as well for an origin that does not
contradict itself, and for one whose contradictions are all at its newest place. Otherwise it can't
be: an older record is not kept, so one that contradicts it and comes later goes unnoticed. What
follows is not disagreement but luck: whoever did see both has a proof, proofs replace records
wherever they come, and so all boards that exchange what they hold end alike.
"""

from colme.protocol.board.record import Entry, Proof, Record


def join(one: Entry, other: Entry) -> Entry:
    """What both together say of their origin; `one` itself where the other adds nothing."""
    match one, other:
        case Record(), Record() if one.order != other.order:
            return one if one.order > other.order else other
        case Proof(), Record() if one.order != other.order:
            return one
        case Record(), Proof() if one.order != other.order:
            return other
        case Proof(), Proof() if one.order != other.order:
            return one if one.order < other.order else other
    return _of_one_place(one, other)


def _of_one_place(one: Entry, other: Entry) -> Entry:
    """The two smallest contents of all are the proof, so that everybody picks the same two."""
    different = {record.content(): record for record in (*_records(other), *_records(one))}
    smallest = sorted(different)[:2]
    if smallest == [record.content() for record in _records(one)]:
        return one
    first, second = (different[content] for content in smallest)
    return Proof(first, second)


def _records(entry: Entry) -> tuple[Record, ...]:
    return (entry.first, entry.second) if isinstance(entry, Proof) else (entry,)
