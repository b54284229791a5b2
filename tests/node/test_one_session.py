"""One session for two neighbours, whoever can call whom, on a network without sockets."""

import asyncio
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from random import Random
from shutil import copytree
from typing import Any

import pytest

from colme.node.clock import SystemClock
from colme.node.config import NodeConfig
from colme.node.node import Node
from colme.node.session import link, neighbourhood
from colme.node.session.admission import Agreement
from colme.node.session.transport import PeerSession
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import PORTION, encode
from colme.protocol.board.messages import RecordsMessage
from colme.protocol.messages import Message
from support.boarded import board_of, orders, somebody
from support.boards import written
from support.in_memory import ROOM, Network
from support.neighbours import Neighbours, Other, hello, welcome
from support.waiting import PATIENCE, later, quiet, until

pytestmark = pytest.mark.usefixtures("call_again_soon")


def node_of(network: Network, config: NodeConfig, seed: int = 1) -> Node:
    return Node(config, transport=network.transport, random=Random(seed))


def are_connected(*nodes: Node) -> bool:
    return all(one.connected for node in nodes for one in node.status().neighbours)


def are_all_connected(node: Node, *names: str) -> bool:
    return all(one.connected for one in node.status().neighbours if one.name in names)


def own_origins(nodes: list[Node]) -> set[str]:
    return {str(node.status().origin) for node in nodes}


async def pair(stack: AsyncExitStack, network: Network, folder: Path) -> list[Node]:
    """Two that relay."""
    two = Neighbours(folder, "a", "b")
    configs = [two.config("a", "b"), two.config("b", "a")]
    return [
        await stack.enter_async_context(node_of(network, config, seed))
        for seed, config in enumerate(configs)
    ]


@pytest.mark.parametrize("closed", [set(), {"a"}, {"b"}], ids=["none", "a", "b"])
async def test_one_that_nobody_can_call_hears_and_is_heard(
    closed: set[str], tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        nodes = await pair(stack, Network(closed=closed), tmp_path)
        for node in nodes:
            await node.take([0.5] * 20)
        await until(lambda: all(set(orders(node)) == own_origins(nodes) for node in nodes))
        assert are_connected(*nodes)
        assert [node.troubles() for node in nodes] == [[], []]


@pytest.mark.parametrize("closed", ["a", "b"])
async def test_rounds_go_on_with_one_that_nobody_can_call(closed: str, tmp_path: Path) -> None:
    two, network = Neighbours(tmp_path, "a", "b"), Network(closed={closed})
    slow: dict[str, Any] = {"agreed": {"rounds": "free"}, "pace": {"deadline": PATIENCE}}
    async with (
        node_of(network, two.in_rounds("a", "b", **slow), 1) as a,
        node_of(network, two.in_rounds("b", "a", **slow), 2) as b,
    ):
        # With a deadline like that, a round ends only where both have delivered.
        await until(lambda: a.status().round > 3 and b.status().round > 3)
        assert are_connected(a, b)


@pytest.mark.parametrize("algorithm", ["relay", "paper"])
async def test_an_address_that_can_not_be_reached_is_enough_at_one_end(
    algorithm: str, tmp_path: Path
) -> None:
    """The same by gRPC: what b has for a leads nowhere."""
    two = Neighbours(tmp_path, "a", "b")
    make: Any = Neighbours.config if algorithm == "relay" else Neighbours.in_rounds
    (here,) = make(two, "b", "a").neighbours
    nowhere = (here.model_copy(update={"address": "127.0.0.1:1"}),)
    config = make(two, "b", "a").model_copy(update={"neighbours": nowhere})
    async with Node(make(two, "a", "b")) as a, Node(config) as b:
        await until(lambda: are_connected(a, b))
        if algorithm == "relay":
            for node in (a, b):
                await node.take([0.5] * 20)
            await until(lambda: len(orders(a)) == len(orders(b)) == 2)
        else:
            await until(lambda: a.status().neighbours[0].round > 2)
            await until(lambda: b.status().neighbours[0].round > 2)
        assert a.troubles() == b.troubles() == []


async def test_two_that_call_at_the_same_time_keep_one_session(tmp_path: Path) -> None:
    """Both ends keep the same, whichever they hear first; and nobody is taken for an old state."""
    met = 0
    for seed in range(10):
        network = Network()
        async with AsyncExitStack() as stack:
            nodes = await pair(stack, network, tmp_path / str(seed))
            await until(lambda: are_connected(*nodes))  # noqa: B023 (awaited here)
            await quiet()
            lasting = [end for _, _, end in network.sessions if not end.over.done()]
            assert len(lasting) == 1
            assert len(network.sessions) <= 2, "one from each, and no further attempt"
            met += len(network.sessions) == 2
            for node in nodes:
                await node.take([0.5] * 20)
            await until(lambda: all(len(orders(one)) == 2 for one in nodes))  # noqa: B023
            assert [node.troubles() for node in nodes] == [[], []]
    assert met, "it has happened"


@pytest.mark.parametrize("silent", [False, True])
async def test_a_broken_line_is_found_and_mended_by_whoever_can_call(
    silent: bool, tmp_path: Path
) -> None:
    network = Network(closed={"a"})
    async with AsyncExitStack() as stack:
        a, b = await pair(stack, network, tmp_path)
        await until(lambda: are_connected(a, b))
        calls = len(network.sessions)
        network.cut(silent=silent)
        if silent:
            # Keepalive is the transport's: here a alone notices, and its new session takes over.
            _, _, end = network.sessions[-1]
            end.over.set_result("no answer to a ping")
        for node in (a, b):
            await node.take([0.5] * 20)
        await until(lambda: len(orders(a)) == len(orders(b)) == 2)
        assert are_connected(a, b)
        assert len(network.sessions) > calls


async def test_a_neighbour_never_heard_of_is_a_trouble_at_both_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In time, and no longer than until it is heard; one that was heard before is none."""
    three, network = Neighbours(tmp_path, "a", "b", "c"), Network(closed={"a", "c"})
    async with AsyncExitStack() as stack:
        a, b, c = [
            await stack.enter_async_context(node_of(network, config, seed))
            for seed, config in enumerate([three.config(*names) for names in ("abc", "ba", "ca")])
        ]
        await until(lambda: are_connected(b))
        assert a.troubles() == []
        with monkeypatch.context() as later_on:
            later_on.setattr(neighbourhood, "UNHEARD_SECONDS", 0.0)
            (of_a,), (of_c, *_) = a.troubles(), c.troubles()
            assert "from c" in of_a
            assert "from a" in of_c
            assert b.troubles() == []
            network.closed.clear()
            await until(lambda: are_connected(a, b, c))
            assert a.troubles() == c.troubles() == []
    assert neighbourhood.UNHEARD_SECONDS <= 20


async def test_what_is_closed_here_ends_there_and_nothing_runs_on(tmp_path: Path) -> None:
    network = Network()
    async with AsyncExitStack() as stack:
        a, b = await pair(stack, network, tmp_path)
        await until(lambda: are_connected(a, b))
        await a.__aexit__()
        assert all(end.over.done() for _, _, end in network.sessions)
        await until(lambda: not are_connected(b))
        assert b.troubles() == ["no neighbour can be reached"]


async def test_a_session_has_no_end_of_its_own_but_the_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its caller ends it then, and the other end a little later, if the caller does not."""
    network = Network(closed={"a"})
    async with AsyncExitStack() as stack:
        a, b = await pair(stack, network, tmp_path)
        await until(lambda: are_connected(a, b))
        calls = len(network.sessions)
        await later(link.SESSION_SECONDS - 60)
        assert are_connected(a, b)
        await later(120)
        await until(lambda: len(network.sessions) == calls + 1 and are_connected(a, b))
        assert a.status().neighbours[0].last_error is None


class Scene:
    """Node a, its neighbour b, and c and d, whom the test plays."""

    def __init__(self, folder: Path) -> None:
        self.names = Neighbours(folder, "a", "b", "c", "d")
        self.network = Network()
        self.config = self.names.config("a", "b", "c", "d", origins={"behind": 10_000})
        self.others: list[Other] = []

    async def called_by(self, name: str, boot: int = 1, epoch: int = 1) -> Other:
        """A session that this neighbour opens."""
        session: PeerSession = await self.network.of(name).dial("a")
        other = Other(session, self.config, boot=boot)
        self.others.append(other)
        answer = await other.hello(epoch=epoch)
        assert answer.HasField("welcome"), answer
        return other


def records(first: int, count: int) -> tuple[Any, ...]:
    return tuple(written(somebody(number)) for number in range(first, first + count))


async def test_a_flood_of_one_neighbour_lets_the_others_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bounded piece at a time, and all that is ready has its turn between two of them."""
    scene, turns, pieces = Scene(tmp_path), count(), list[tuple[int, int]]()
    async with node_of(scene.network, scene.config) as a:
        await until(lambda: a._parts.neighbourhood.joined.is_set())
        c = await scene.called_by("c")
        receive, turn = a._parts.driver.receive, 0

        def noted(peer: str, message: Message) -> None:
            assert isinstance(message, RecordsMessage)
            pieces.append((turn, len(message.entries)))
            receive(peer, message)

        async def others() -> None:
            nonlocal turn
            for turn in turns:  # noqa: B007 (looked at by the one above)
                await asyncio.sleep(0)

        monkeypatch.setattr(a._parts.driver, "receive", noted)
        taking_turns = asyncio.create_task(others())
        for number in range(4):
            entries = records(85 * number, 85)
            await c.say(encode(RecordsMessage(entries), number + 1))
        while len(board_of(a)) < 4 * 85:
            await asyncio.sleep(0)
        taking_turns.cancel()
        assert max(size for _, size in pieces) <= PORTION
        assert len({when for when, _ in pieces}) == len(pieces)


class TenSecondsALook(SystemClock):
    """Time in which every portion takes ten seconds."""

    def __init__(self) -> None:
        self._looks = count()

    def monotonic(self) -> float:
        return 10.0 * next(self._looks)


async def test_work_for_one_neighbour_is_paid_for_with_rest(tmp_path: Path) -> None:
    """So that a flood has half of a node's time at most."""
    scene = Scene(tmp_path)
    async with node_of(scene.network, scene.config) as a:
        c = await scene.called_by("c")
        a._parts.neighbourhood._links["c"]._clock = TenSecondsALook()
        await c.say(encode(RecordsMessage(records(0, 3 * PORTION)), 1))
        for taken in (PORTION, 2 * PORTION, 3 * PORTION):
            await until(lambda n=taken: len(board_of(a)) >= n)  # type: ignore[misc]
            await later(9)
            assert len(board_of(a)) == taken
            await later(1)


async def test_refusals_that_nobody_reads_hold_up_their_reader_alone(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    async with node_of(scene.network, scene.config) as a:
        await until(lambda: a._parts.neighbourhood.joined.is_set())
        c, d = await scene.called_by("c"), await scene.called_by("d")
        bad = [encode(RecordsMessage((written(somebody(n), mean=1e6),)), n) for n in range(1, 60)]

        async def flood() -> None:
            for frame in bad:
                await c.say(frame)

        flooding = asyncio.create_task(flood())
        await quiet()
        assert not flooding.done(), "c waits, since it does not read"
        (honest,) = records(100, 1)
        await d.say(encode(RecordsMessage((honest,)), 1))
        await until(lambda: honest.origin in board_of(a))
        listening = asyncio.create_task(c.listen())
        await flooding
        listening.cancel()


async def test_an_honest_neighbour_is_not_counted_while_another_is_ahead(tmp_path: Path) -> None:
    """An old record counts against whoever had brought the newer one itself."""
    scene = Scene(tmp_path)
    async with node_of(scene.network, scene.config) as a:
        c, d = await scene.called_by("c"), await scene.called_by("d")
        newer, older = written(somebody(1), sequence=9), written(somebody(1), sequence=5)
        await c.say(encode(RecordsMessage((newer,)), 1))
        await until(lambda: board_of(a).get(newer.origin) == newer)
        for sequence, one in enumerate((d, c), start=2):
            await one.say(encode(RecordsMessage((older,)), sequence))
            await one.say(encode(RecordsMessage((written(somebody(1 + sequence)),)), sequence + 1))
        await until(lambda: len(board_of(a)) == 3)
        text = a.metrics.text().decode()
        assert 'colme_messages_refused_total{peer="c",reason="old record"} 1.0' in text
        assert 'peer="d",reason="old record"' not in text


async def test_a_publisher_that_contradicts_itself_is_a_trouble_wherever_its_proof_is(
    tmp_path: Path,
) -> None:
    two, network = Neighbours(tmp_path, "a", "b", "c"), Network()
    async with (
        node_of(network, two.config("a", "b", "c"), 1) as a,
        node_of(network, two.config("b", "a"), 2) as b,
    ):
        session = await network.of("c").dial("a")
        c = Other(session, a.config)
        await c.hello()
        await until(lambda: are_connected(b))
        for number, mean in enumerate((0.25, 0.75), start=1):
            await c.say(encode(RecordsMessage((written(somebody(1), mean=mean),)), number))
        origin = written(somebody(1)).origin
        for node in (a, b):
            await until(lambda n=node: any(origin in one for one in n.troubles()))  # type: ignore[misc]


async def test_a_copy_of_a_state_is_a_trouble_at_both_ends(tmp_path: Path) -> None:
    """Here of b's, which c calls itself by: a turns away the second process."""
    scene = Scene(tmp_path)
    async with node_of(scene.network, scene.config) as a:
        await scene.called_by("c", boot=1, epoch=3)
        await until(lambda: a.troubles() == [])
        session = await scene.network.of("c").dial("a")
        copy = Other(session, scene.config, boot=2)
        assert (await copy.hello(epoch=3)).refusal.reason == pb.REASON_STALE_STATE
        (told,) = a.troubles()
        assert " c" in told
        assert are_all_connected(a, "c"), "the first one goes on"
        await scene.called_by("c", boot=3, epoch=4)
        await until(lambda: a.troubles() == [])


async def test_one_that_is_turned_away_as_a_copy_says_so(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    async with node_of(scene.network, scene.config) as a:
        session = await scene.network.of("c").dial("a")
        c = Other(session, scene.config)
        refusal = pb.Refusal(reason=pb.REASON_STALE_STATE, detail="a copy")
        await c.say(hello(Agreement.of(scene.config.agreed)))
        await c.say(pb.Frame(refusal=refusal).SerializeToString())
        await until(lambda: any(one.startswith("c ") for one in a.troubles()))
        await scene.called_by("c")
        await until(lambda: a.troubles() == [])


async def test_nothing_is_said_before_both_have_compared(tmp_path: Path) -> None:
    """Whoever is called speaks on that session, and not before it is welcome there."""
    scene = Scene(tmp_path)
    async with node_of(scene.network, scene.config) as a:
        await a.take([0.5] * 20)
        session = await scene.network.of("c").dial("a")
        c = Other(session, scene.config)
        await c.say(hello(Agreement.of(scene.config.agreed)))
        assert (await c.hear()).HasField("welcome")
        await quiet()
        assert c.heard == []
        assert not are_all_connected(a, "c")
        await c.say(welcome())
        listening = asyncio.create_task(c.listen())
        await until(lambda: c.heard)
        listening.cancel()


async def test_two_processes_with_one_state_are_a_trouble_for_the_second_and_its_neighbour(
    tmp_path: Path,
) -> None:
    """Both from the same backup, so that both are in the same epoch; the first goes on."""
    two, network = Neighbours(tmp_path, "a", "b"), Network(closed={"b"})
    config = two.config("b", "a")
    async with node_of(network, two.config("a", "b"), 1) as a:
        async with node_of(network, config, 2):
            await until(lambda: are_connected(a))
        copytree(config.state, tmp_path / "copy")
        copy = config.model_copy(update={"state": tmp_path / "copy"})
        async with node_of(network, config, 3) as first:
            await until(lambda: are_connected(a, first))
            async with node_of(network, copy, 4) as second:
                assert second.status().epoch == first.status().epoch
                await until(lambda: any(one.startswith("a ") for one in second.troubles()))
                assert any("state of b" in one for one in a.troubles())
                assert first.troubles() == []
                assert are_connected(a, first)


async def test_a_neighbour_that_reads_nothing_is_hung_up_on(tmp_path: Path) -> None:
    """Its session would last for ever, and what waits for it never go out."""
    scene = Scene(tmp_path)
    async with node_of(scene.network, scene.config) as a:
        await scene.called_by("c")
        await until(lambda: are_all_connected(a, "c"))
        for one in records(0, 2 * ROOM):
            a._parts.neighbourhood.post("c", RecordsMessage((one,)))
        await quiet()
        await later(link.UNREAD_SECONDS - 1)
        assert are_all_connected(a, "c")
        await later(2)
        await until(lambda: not are_all_connected(a, "c"))


def test_a_node_that_was_left_can_be_looked_at(tmp_path: Path) -> None:
    """Its loop is gone by then."""

    async def live() -> Node:
        async with Node(Neighbours(tmp_path, "a", "b").config("a", "b")) as node:
            return node

    assert asyncio.run(live()).status().name == "a"


async def test_sessions_that_are_opened_in_a_hurry_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a commit, or a whole digest."""
    scene = Scene(tmp_path)
    async with node_of(scene.network, scene.config) as a:
        monkeypatch.setattr(link, "FIRST_PAUSE", 5.0)
        await scene.called_by("c")
        await until(lambda: are_all_connected(a, "c"))
        again = asyncio.create_task(scene.called_by("c"))
        await quiet()
        assert not again.done()
        await later(5)
        await again
