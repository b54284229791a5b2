"""Who gets in over real TLS: pinned and valid certificates, and the same configuration."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copyfile, rmtree

import grpc
import pytest
from grpc.aio import ServicerContext, server

from colme.errors import IdentityError
from colme.node.node import Node
from colme.node.owner.status import NeighbourStatus
from colme.node.session import grpc_transport
from colme.node.session.rehearsal import check
from colme.node.session.transport import Parted
from colme.node.trust.identity import PUBLIC_FILE, Identity
from colme.node.trust.tls import server_options
from support.boarded import orders, release
from support.logged import Logged
from support.neighbours import Hearer, Neighbours, calling, counted, hearing
from support.refusing import refused
from support.waiting import until


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strangers are counted soon."""
    monkeypatch.setattr(grpc_transport, "HELLO_SECONDS", 0.3)


def unknown_peers(node: Node) -> float:
    return counted(node.metrics, 'sessions_refused_total{reason="unknown peer"}')


def of_neighbour(node: Node, name: str) -> NeighbourStatus:
    (one,) = (one for one in node.status().neighbours if one.name == name)
    return one


async def goes_on(a: Node, b: Node) -> None:
    """The two are connected, and the one has all that the other releases."""
    await until(lambda: of_neighbour(a, "b").connected and of_neighbour(b, "a").connected)
    for node, other in ((a, b), (b, a)):
        await release(node)
        await until(lambda: orders(node) == orders(other))  # noqa: B023 (awaited here)


def expire(three: Neighbours, name: str) -> None:
    """Give it an identity whose time is over."""
    rmtree(three.identity(name))
    long_ago = datetime.now(UTC) - timedelta(days=3)
    Identity.create(name, three.identity(name), days=1, now=long_ago)


@pytest.mark.usefixtures("impatient")
async def test_a_stranger_gets_nowhere_and_is_counted(tmp_path: Path, logged: Logged) -> None:
    three = Neighbours(tmp_path, "a", "b", "stranger")
    config = three.config("a", "b")
    async with Node(config) as a, Node(three.config("b", "a")) as b:
        await goes_on(a, b)
        assert unknown_peers(a) == 0
        with pytest.raises(Parted):
            async with calling(three.trust("stranger", "a"), "a", config) as caller:
                await caller.hello()
        # Its call, and its look at why there was no session.
        await until(lambda: unknown_peers(a) == 2)
        line, *_ = logged.lines(node="a", event="not let in", reason="unknown peer")
        assert line["peer"] == "a stranger"
        await goes_on(a, b)
        assert unknown_peers(a) == 2


@pytest.mark.usefixtures("impatient")
async def test_a_wrong_certificate_is_named_with_both_fingerprints(
    tmp_path: Path, logged: Logged
) -> None:
    """Node a has, as c's, the certificate of d."""
    four = Neighbours(tmp_path, "a", "b", "c", "d")
    async with (
        Node(four.config("a", "b", "c", pins={"c": "d"})) as a,
        Node(four.config("b", "a")) as b,
        Node(four.config("c", "a")) as c,
    ):
        await until(lambda: "wrong certificate" in (of_neighbour(a, "c").last_error or ""))
        why = of_neighbour(a, "c").last_error
        fingerprints = [four.trust(who).identity.certificate.fingerprint for who in "cd"]
        assert why == "wrong certificate: saw {}, expected {}".format(*fingerprints)
        assert logged.lines(node="a", event="not connected", peer="c", why=why)
        refused = "it refuses my certificate"
        await until(lambda: refused in (of_neighbour(c, "a").last_error or ""))
        assert logged.lines(node="c", event="not connected", peer="a")
        await until(lambda: unknown_peers(a) >= 1)
        assert 'colme_peer_connected{peer="c"} 0.0' in a.metrics.text().decode()
        assert not of_neighbour(a, "c").connected
        await goes_on(a, b)


async def test_a_node_does_not_start_with_an_expired_certificate(tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")
    expire(two, "a")
    with refused(IdentityError, "certificate of this node"):
        await Node(two.config("a", "b")).__aenter__()
    assert not (tmp_path / "a/state").exists()


@pytest.mark.usefixtures("impatient")
async def test_an_expired_certificate_of_a_neighbour_is_named(
    tmp_path: Path, logged: Logged
) -> None:
    three = Neighbours(tmp_path, "a", "b", "c")
    expire(three, "c")
    config = three.config("a", "b", "c")
    async with Node(config) as a, Node(three.config("b", "a")) as b:
        await until(lambda: of_neighbour(a, "c").last_error is not None)
        why = of_neighbour(a, "c").last_error
        assert why is not None
        assert why.startswith("certificate of c: saw 'expired on")
        assert "c runs `colme identity renew`" in why
        assert logged.lines(node="a", event="not connected", peer="c", why=why)
        with pytest.raises(Parted):
            async with calling(three.trust("c", "a"), "a", config) as caller:
                await caller.hello()
        await until(lambda: unknown_peers(a) == 1)
        await goes_on(a, b)


async def turned_away(node: Node, other: str, why: str) -> None:
    """Wait until the node knows why its neighbour does not let it in."""
    told = f"turned away: {why}"
    await until(lambda: (of_neighbour(node, other).last_error or "").startswith(told))


async def test_two_configurations_that_differ_are_named_on_both_sides(
    tmp_path: Path, logged: Logged
) -> None:
    three = Neighbours(tmp_path, "a", "b", "c")
    async with (
        Node(three.config("a", "b", "c")) as a,
        Node(three.config("b", "a")) as b,
        Node(three.config("c", "a", agreed={"bounds": [0, 2]})) as c,
    ):
        for node, other, mine, theirs in ((a, "c", "1.0", "2.0"), (c, "a", "2.0", "1.0")):
            await turned_away(node, other, f"agreed.bounds: saw '0.0,{mine}'")
            (line,) = logged.lines(node=node.name, peer=other, event="not let in")
            assert line["reason"] == "other configuration"
            assert f"agreed.bounds: saw '0.0,{theirs}', expected '0.0,{mine}'" in line["why"]
        for node in (a, c):
            text = node.metrics.text().decode()
            assert 'colme_sessions_refused_total{reason="other configuration"}' in text
        await goes_on(a, b)


async def test_check_asks_every_neighbour_and_says_what_is_wrong(tmp_path: Path) -> None:
    """A good one, one that is down, one with other bounds, one that has pinned another for me."""
    names = ("me", "good", "down", "differs", "mistaken")
    five = Neighbours(tmp_path, *names)
    async with (
        Node(five.config("good", "me")) as node,
        Node(five.config("differs", "me", agreed={"bounds": [0, 2]})),
        Node(five.config("mistaken", "me", pins={"me": "down"})),
    ):
        before = of_neighbour(node, "me")
        found = await check(five.config("me", *names[1:]))
        after = of_neighbour(node, "me")
        assert (after.round, after.suspect) == (before.round, before.suspect)
        assert not (tmp_path / "me/state").exists()
    good, down, differs, mistaken = found
    assert [one.well for one in found] == [True, False, False, False]
    assert good.words.startswith("agrees")
    assert "can't be reached" in down.words
    assert differs.words.startswith("refuses: agreed.bounds: saw '0.0,1.0', expected '0.0,2.0'")
    assert "it refuses my certificate" in mistaken.words
    assert (down.peer, down.address.split(":")[0]) == ("down", "127.0.0.1")


async def test_check_in_rounds_says_in_which_a_neighbour_is(tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")
    async with Node(two.in_rounds("b", "a")):
        (found,) = await check(two.in_rounds("a", "b"))
    assert found.words.startswith("agrees; it is in round ")


async def test_check_takes_no_garbage_for_an_answer(tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")
    config = two.config("a", "b")
    hearer = Hearer(config, answer=lambda: [b"\xff" * 30])
    async with hearing(hearer, two.trust("b", "a"), two.address("b")):
        (found,) = await check(config)
    assert not found.well
    assert found.words.startswith("its reply is not valid (frame: saw ")


async def test_check_names_a_wrong_certificate(tmp_path: Path) -> None:
    """I have, as b's, the certificate of c."""
    three = Neighbours(tmp_path, "a", "b", "c")
    async with Node(three.config("b", "a")):
        (found,) = await check(three.config("a", "b", pins={"b": "c"}))
    assert not found.well
    fingerprints = [three.trust(who).identity.certificate.fingerprint for who in "bc"]
    assert found.words == "wrong certificate: saw {}, expected {}".format(*fingerprints)


async def test_a_neighbour_appends_the_new_certificate_and_goes_on(tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")
    config_a, config_b = two.config("a", "b"), two.config("b", "a")
    pin = tmp_path / "a, as b has it.crt"
    copyfile(two.identity("a") / PUBLIC_FILE, pin)
    (a_for_b,) = config_b.neighbours
    pinned = (a_for_b.model_copy(update={"certificate": pin}),)
    async with Node(config_b.model_copy(update={"neighbours": pinned})) as b:
        async with Node(config_a) as a:
            await goes_on(a, b)
            before = a.status()
            Identity.renew(two.identity("a"), now=datetime.now(UTC))
            await goes_on(a, b)
        async with Node(config_a) as a:
            await until(lambda: of_neighbour(a, "b").last_error is not None)
            assert not of_neighbour(a, "b").connected, "b does not know the new one yet"
            with pin.open("ab") as file:
                file.write((two.identity("a") / PUBLIC_FILE).read_bytes())
            await goes_on(a, b)
            after = a.status()
            assert after.fingerprint != before.fingerprint
            assert after.epoch == before.epoch + 1
            assert after.samples.taken > before.samples.taken


async def test_an_earlier_version_that_is_called_is_told_of(tmp_path: Path) -> None:
    """It has no such service; its own is another one."""

    async def never(_frames: object, context: ServicerContext[bytes, bytes]) -> None:
        await context.read()

    two = Neighbours(tmp_path, "a", "b")
    old = server(options=server_options())
    handler: grpc.RpcMethodHandler[bytes, bytes]
    handler = grpc.stream_stream_rpc_method_handler(never)
    service = grpc.method_handlers_generic_handler("colme.v2.Neighbour", {"Session": handler})
    old.add_generic_rpc_handlers((service,))
    credentials = two.trust("b", "a").server_credentials(lambda: None)
    assert old.add_secure_port(two.address("b"), credentials)
    await old.start()
    try:
        config = two.config("a", "b")
        (found,) = await check(config)
        assert found.words == grpc_transport.OTHER_VERSION
        async with Node(config) as a:
            await until(lambda: of_neighbour(a, "b").last_error == grpc_transport.OTHER_VERSION)
    finally:
        await old.stop(grace=0)
