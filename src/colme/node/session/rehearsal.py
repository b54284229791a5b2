"""Would this configuration work? Asks every neighbour, and changes nothing on either side."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from colme.errors import IdentityError
from colme.node.config import Neighbour, NodeConfig
from colme.node.samples.feeds import make_noise
from colme.node.session.admission import Admission, Agreement
from colme.node.session.grpc_transport import GrpcTransport
from colme.node.session.link import ANSWER_SECONDS
from colme.node.session.transport import Parted, Transport
from colme.node.state import require_promise
from colme.node.trust.identity import Identity
from colme.node.trust.tls import Trust, signing_settings
from colme.node.wire.codec import Refused, parse_frame


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
    # It has no boot: whoever asks only is no process that anybody has to tell apart.
    question = Admission(Agreement.of(config.agreed), boot=0).question()
    transport = GrpcTransport.of(config, trust)
    return await asyncio.gather(
        *(_ask(one, transport, question, config) for one in config.neighbours)
    )


async def _ask(
    neighbour: Neighbour, transport: Transport, question: bytes, config: NodeConfig
) -> Finding:
    well, words = False, f"no answer within {ANSWER_SECONDS:g} s"
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            session = await transport.dial(neighbour.name)
            await session.send(question)
            while (frame := parse_frame(neighbour.name, await session.receive())).HasField("hello"):
                pass  # It says its own at once; only its answer matters.
            await session.close("asked")
        well = frame.HasField("welcome")
        if well:
            at = f"; it is in round {frame.welcome.standing.round}"
            words = f"agrees{at if config.agreed.in_rounds else ''}"
        else:
            words = f"refuses: {frame.refusal.detail}"
    except (IdentityError, Parted) as error:
        words = str(error)
    except Refused as error:
        words = f"its reply is not valid ({error.field}: saw {error.seen!r})"
    except TimeoutError:
        pass
    return Finding(peer=neighbour.name, address=neighbour.address, well=well, words=words)
