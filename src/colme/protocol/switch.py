"""From plain blocks to weighed ones: what was released stays so, as one first block.

It carries the noise of all of them, so no sample is noised twice. Its weight follows from how many
samples and draws it has, both public, and whoever reads a record is told both.
"""

from dataclasses import replace

from colme.errors import SnapshotError
from colme.protocol.stream import Stream
from colme.rules.release import EVEN, ReleaseSchedule


def as_one_block(stream: Stream, before: ReleaseSchedule, after: ReleaseSchedule) -> Stream:
    """The stream of an agent that released by one schedule, to go on by another that weighs.

    Blocks that are closed and wait for their noise belong to the first block, too: they take their
    draws when it is next published, and until then there is nothing to show. So does the open one
    if it has more samples already than the new schedule would have given it.
    """
    if before.weights(1, 1) != EVEN or stream.past_draws:
        seen = f"blocks that are weighed ({before})"
        raise SnapshotError("schedule", seen, "one whose samples all weigh alike")
    count, draws = stream.closed_count, stream.blocks + stream.blocks_due
    end = after.next_end(count)
    if end <= stream.count:
        count = end = stream.block_end
        draws += 1
    weights = after.weights(count, draws) if draws else EVEN
    return replace(
        stream,
        block_end=end if stream.count else 0,
        closed=stream.closed.times(weights),
        released=stream.released.times(weights),
        noise=stream.noise.times(weights),
        past_count=count,
        past_draws=draws,
    )
