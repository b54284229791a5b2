"""Real signatures: a relay can neither alter what it passes on nor make anything up."""

from hypothesis import given, settings
from hypothesis import strategies as st

from colme.errors import (
    MessageError,
    RemoteProtocolError,
)
from colme.protocol.board.messages import RecordsMessage
from colme.protocol.board.record import entry_from_bytes
from colme.signing import Ed25519
from support.boards import contents, exchange, heard, written

SIGNERS = [Ed25519.from_bytes(bytes([number]) * 32) for number in range(3)]


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_a_relay_cannot_alter_what_it_passes_on(data: st.DataObject) -> None:
    """Real signatures: any byte of any message, changed, and the board holds what was said."""
    me = exchange("me", ["relay"], identity=SIGNERS[0])
    said = [written(signer, sequence=number) for signer in SIGNERS[1:] for number in (1, 2)]
    original = data.draw(st.sampled_from(said))
    if data.draw(st.booleans()):
        me.step(heard("relay", RecordsMessage((written(SIGNERS[1]),))))
    before = contents(me.board)
    altered = bytearray(original.to_bytes())
    altered[data.draw(st.integers(0, len(altered) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        me.step(heard("relay", RecordsMessage((entry_from_bytes(bytes(altered)),))))
    except (MessageError, RemoteProtocolError):
        assert contents(me.board) == before
    assert set(me.board) <= set(said)
    me.step(heard("relay", RecordsMessage((original,))))
    assert me.board.get(original.origin) in said
