"""A lost state, or a key under which two states have spoken: what comes while a node joins."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from colme.errors import MessageError, StaleStateError
from colme.node.wire.codec import Reason, Refused
from colme.protocol.board.record import Proof, Record, origin_of_key
from colme.protocol.stream import Stream
from support.boarded import ME, Boarded, boarded
from support.boards import written


def mine(**changes: float) -> Record:
    """A record that this node's key has signed."""
    record = replace(written("me"), key=ME.key, **changes)  # type: ignore[arg-type]
    return record.with_signature(ME.sign(record.content()))


def stream(one: Boarded) -> Stream:
    return one.driver.agent._own.stream


async def test_an_old_own_record_does_not_stop_a_node_that_lost_its_state(tmp_path: Path) -> None:
    """A neighbour's session may bring it before that neighbour has answered the hello."""
    async with boarded(tmp_path, state_lost=True) as one:
        late = 2**40
        one.tell("b", mine(incarnation=late))
        await one.driver.flush()
        assert one.failures == []
        await one.driver.begin_anew()
        one.driver.start(heard=0)
        assert one.store.incarnation > late
        one.answer("b")
        await one.driver.observe([0.25] * 20)
        one.tell("b", mine(incarnation=late))
        await one.driver.observe([0.25])
        assert one.failures == []


async def test_a_state_that_began_before_the_word_begins_in_the_new_incarnation(
    tmp_path: Path,
) -> None:
    """A start that was interrupted while it joined has stored an agent without samples."""
    async with boarded(tmp_path) as one:
        await one.driver.observe([])
    async with boarded(tmp_path, state_lost=True) as one:
        one.driver.compare("b", mine(incarnation=3))
        await one.driver.begin_anew()
        assert stream(one).incarnation == one.store.incarnation > 3


async def test_a_forged_own_record_counts_for_nothing(tmp_path: Path) -> None:
    async with boarded(tmp_path, state_lost=True) as one:
        forged = replace(mine(incarnation=2**50), signature=bytes(64))
        with pytest.raises(Refused) as caught:
            one.tell("b", forged)
        assert caught.value.reason is Reason.BAD_SIGNATURE
        await one.driver.begin_anew()
        assert one.store.incarnation < 2**50


@pytest.mark.parametrize("state_lost", [False, True])
@pytest.mark.parametrize("way", ["a message", "a welcome"])
async def test_a_blocked_node_is_told_to_take_a_new_identity(
    tmp_path: Path, way: str, state_lost: bool
) -> None:
    """Its key is of no use any more, with or without `--state-lost`."""
    proof = Proof.from_pair(mine(mean=0.25), mine(mean=0.5))
    async with boarded(tmp_path, state_lost=state_lost) as one:
        if way == "a message":
            one.tell("b", proof)
            (error,) = one.failures
        else:
            with pytest.raises(StaleStateError) as caught, suppress(MessageError):
                one.driver.compare("b", proof)
            error = caught.value
    assert isinstance(error, StaleStateError)
    assert "colme identity new" in error.expected
    assert origin_of_key(ME.key) == proof.origin
