"""A renewed certificate costs neither the state nor a restart of the neighbours."""

from datetime import UTC, datetime
from pathlib import Path
from shutil import copyfile

from colme.node.node import Node
from colme.node.owner.status import NeighbourStatus
from colme.node.trust.identity import PUBLIC_FILE, Identity
from support.neighbours import Neighbours
from support.waiting import until


def of_the_other(node: Node) -> NeighbourStatus:
    (other,) = node.status().neighbours
    return other


async def test_a_neighbour_appends_the_new_certificate_and_goes_on(tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")
    config_a, config_b = two.config("a", "b"), two.config("b", "a")
    pin = tmp_path / "a, as b has it.crt"
    copyfile(two.identity("a") / PUBLIC_FILE, pin)
    (a_for_b,) = config_b.neighbours
    pinned = (a_for_b.model_copy(update={"certificate": pin}),)
    async with Node(config_b.model_copy(update={"neighbours": pinned})) as b:
        async with Node(config_a) as a:
            await until(lambda: of_the_other(a).connected and of_the_other(b).connected)
            before = a.status()
            Identity.renew(two.identity("a"), now=datetime.now(UTC))
            await until(lambda: a.status().round > before.round)
        async with Node(config_a) as a:
            await until(lambda: of_the_other(a).last_error is not None)
            assert not of_the_other(a).connected, "b does not know the new one yet"
            with pin.open("ab") as file:
                file.write((two.identity("a") / PUBLIC_FILE).read_bytes())
            await until(lambda: of_the_other(a).connected and of_the_other(b).connected)
            after = a.status()
            assert after.fingerprint != before.fingerprint
            assert after.epoch == before.epoch + 1
            assert after.samples.taken >= before.samples.taken
            heard = of_the_other(b).round
            await until(lambda: of_the_other(b).round > heard)
