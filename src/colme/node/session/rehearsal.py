"""Would this configuration work? Asks every neighbour, and changes nothing on either side."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from grpc import StatusCode
from grpc.aio import AioRpcError, secure_channel

from colme.errors import IdentityError, MessageError
from colme.node.config import Neighbour, NodeConfig
from colme.node.samples.feeds import make_noise
from colme.node.session.admission import Admission, Agreement
from colme.node.session.link import ANSWER_SECONDS, OTHER_VERSION, Parted, Session, read_reply
from colme.node.state import require_promise
from colme.node.trust.identity import Identity
from colme.node.trust.tls import Trust, channel_options, explain, signing_settings
from colme.node.wire.codec import METHOD, shortened


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a neighbour answered."""

    peer: str
    address: str
    well: bool
    words: str


async def check(config: NodeConfig) -> list[Finding]:
    """One finding for each neighbour; raises for what is wrong on this side."""
    identity = Identity.load(config.identity)
    identity.certificate.require_valid(datetime.now(UTC), "this node")
    pins = {one.name: one.certificate for one in config.neighbours}
    trust = Trust(identity, config.identity, pins)
    settings = signing_settings(config, trust)
    make_noise(config.source, settings)
    require_promise(config.state, settings)
    question = Admission(Agreement.of(config.agreed)).question()
    return await asyncio.gather(*(_ask(one, trust, question, config) for one in config.neighbours))


async def _ask(neighbour: Neighbour, trust: Trust, question: bytes, config: NodeConfig) -> Finding:
    well, words = False, f"no answer within {ANSWER_SECONDS:g} s"
    try:
        credentials = trust.channel_credentials(neighbour.name)
        async with secure_channel(neighbour.address, credentials, channel_options()) as channel:
            call: Session = channel.stream_stream(METHOD)(timeout=ANSWER_SECONDS)
            await call.write(question)
            reply = await read_reply(call)
            call.cancel()
        well = reply.WhichOneof("content") == "welcome"
        words = (
            (
                f"agrees; it is in round {reply.welcome.standing.round}"
                if config.agreed.in_rounds
                else "agrees"
            )
            if well
            else f"refuses: {reply.refusal.detail}"
        )
    except (IdentityError, Parted) as error:
        words = str(error)
    except MessageError as error:
        words = f"its reply is not valid ({error})"
    except AioRpcError as error:
        why = await explain(neighbour.address, neighbour.name, trust)
        words = why or f"{error.code().name.lower()}: {shortened(error.details() or '')}"
        if error.code() is StatusCode.UNIMPLEMENTED:
            words = OTHER_VERSION
    return Finding(peer=neighbour.name, address=neighbour.address, well=well, words=words)
