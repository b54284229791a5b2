"""Whatever happens to messages: once all are connected again, all boards are the same."""

from hypothesis import given, settings
from hypothesis import strategies as st

from colme.protocol.board.board import PAGE
from colme.protocol.board.identity import InProcess
from colme.protocol.board.messages import LARGEST_BATCH, DigestMessage, RecordsMessage
from colme.protocol.board.record import Proof, Record, origin_of_key
from support.boards import World, heard, own_of, written

Graph = dict[str, set[str]]


@st.composite
def connected_graphs(draw: st.DrawFn) -> Graph:
    count = draw(st.integers(2, 7))
    names = [f"agent {number}" for number in range(count)]
    graph: Graph = {name: set() for name in names}
    tree = [(place, draw(st.integers(0, place - 1))) for place in range(1, count)]
    more = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))))
    for one, other in (*tree, *more):
        if one != other:
            graph[names[one]].add(names[other])
            graph[names[other]].add(names[one])
    return graph


lies = st.builds(
    written,
    st.sampled_from(["liar 1", "liar 2"]),
    incarnation=st.integers(0, 1),
    sequence=st.integers(1, 2),
    mean=st.sampled_from([0.1, 0.2, 0.3]),
)
"""Records of agents outside the graph, which tell different ones different things."""


def trouble(world: World, data: st.DataObject) -> None:
    """Ticks with and without releases, lies, and messages lost, repeated and out of order."""
    names = list(world.agents)
    for _ in range(data.draw(st.integers(0, 40), "happenings")):
        match data.draw(st.sampled_from(["tick", "release", "deliver", "repeat", "lose", "lie"])):
            case "tick":
                world.tick(data.draw(st.sampled_from(names)))
            case "release":
                noise = (data.draw(st.integers(0, 99)),)
                world.tick(data.draw(st.sampled_from(names)), noise)
            case "lie":
                sender, receiver = data.draw(st.sampled_from(world.edges))
                message = RecordsMessage((data.draw(lies),))
                world.agents[receiver].step(heard(sender, message))
            case fate if world.in_flight:
                place = data.draw(st.integers(0, len(world.in_flight) - 1))
                flight = world.in_flight[place]
                if fate != "lose":
                    world.deliver(flight)
                if fate != "repeat":
                    del world.in_flight[place]


@settings(deadline=None, max_examples=200)
@given(connected_graphs(), st.data())
def test_once_connected_again_all_boards_are_the_same(graph: Graph, data: st.DataObject) -> None:
    world = World(graph)
    trouble(world, data)
    first, *others = world.settled()
    assert all(other == first for other in others)
    # Nothing of the own is lost on the way: each has its newest release there.
    for agent in world.agents.values():
        own, entry = own_of(agent), agent.board.get(agent.origin)
        assert own.stream.blocks == (entry.order[1] if entry else 0)
        assert entry is None or isinstance(entry, Record)


@settings(deadline=None, max_examples=100)
@given(connected_graphs(), st.data())
def test_one_end_that_notices_is_enough(graph: Graph, data: st.DataObject) -> None:
    """A digest is answered where its sender has more: both then know what the other lacks."""
    world = World(graph)
    trouble(world, data)
    world.edges = [(one, other) for one, other in world.edges if one < other]
    first, *others = world.settled()
    assert all(other == first for other in others)


@settings(deadline=None, max_examples=100)
@given(connected_graphs(), st.integers(1, 5), st.data())
def test_with_little_room_the_smallest_origins_are_the_same_everywhere(
    graph: Graph, capacity: int, data: st.DataObject
) -> None:
    world = World(graph, capacity=capacity)
    trouble(world, data)
    for name in world.agents:
        world.tick(name, (1,))
    boards = world.settled()
    smallest = sorted(set().union(*boards))[:capacity]
    first, *others = [{key: board[key] for key in smallest} for board in boards]
    assert all(other == first for other in others)
    for (name, peers), board in zip(graph.items(), boards, strict=True):
        always = {origin_of_key(InProcess(one).key) for one in (name, *peers)}
        assert board.keys() == {*smallest, *always}


@settings(deadline=None, max_examples=50)
@given(connected_graphs(), st.data())
def test_a_partition_ends_like_any_loss(graph: Graph, data: st.DataObject) -> None:
    """Each side goes on alone; a liar tells each side something else at the same place."""
    world = World(graph)
    apart = set(data.draw(st.lists(st.sampled_from(list(graph)), unique=True)))
    for name in graph:
        told = 0.1 if name in apart else 0.2
        message = RecordsMessage((written("liar", mean=told),))
        world.agents[name].step(heard(sorted(graph[name])[0], message))
    for place in range(4):
        for name in graph:
            world.tick(name, (place,))
        flights = list(world.in_flight)
        world.in_flight.clear()
        for sender, receiver, message in flights:
            if (sender in apart) == (receiver in apart):
                world.deliver((sender, receiver, message))
    first, *others = world.settled()
    assert all(other == first for other in others)
    liar = next(iter(world.agents.values())).board.get(origin_of_key(InProcess("liar").key))
    assert isinstance(liar, Proof) == (0 < len(apart) < len(graph))


def line(*names: str) -> Graph:
    return {
        name: set(names[max(0, place - 1) : place]) | set(names[place + 1 : place + 2])
        for place, name in enumerate(names)
    }


def test_nothing_new_and_nothing_is_sent_nor_stored() -> None:
    world = World(line("a", "b", "c"))
    for name in world.agents:
        world.tick(name, (1,))
    world.until_quiet(8)
    for name in world.agents:
        effects = world.tick(name)
        assert (effects.send, effects.persist) == ((), frozenset())


def test_a_release_crosses_each_edge_of_a_line_once() -> None:
    """What a neighbour has sent is not sent back to it."""
    world = World(line("a", "b", "c", "d"))
    world.until_quiet(8)
    world.sent.clear()
    world.tick("a", (1,))
    world.until_quiet(8)
    assert [type(message) for message in world.sent] == [RecordsMessage] * 3


def test_news_goes_one_hop_a_tick() -> None:
    world = World(line("a", "b", "c", "d"))
    world.until_quiet(8)
    world.tick("a", (1,))
    assert world.until_quiet(8) == 3


def test_however_much_is_new_messages_stay_small() -> None:
    world = World(line("a", "b"))
    a, b = world.agents.values()
    many = [written(str(number)) for number in range(3 * LARGEST_BATCH)]
    for start in range(0, len(many), LARGEST_BATCH):
        batch = RecordsMessage(tuple(many[start : start + LARGEST_BATCH]))
        a.step(heard("b", batch))
    world.reconnect()
    world.until_quiet(9)
    assert len(a.board) == len(b.board) == len(many)
    entries = [len(one.entries) for one in world.sent if isinstance(one, RecordsMessage)]
    heads = [len(one.page.heads) for one in world.sent if isinstance(one, DigestMessage)]
    # Both ends ask: an answer that crosses what was sent does not bring it twice.
    assert sum(entries) == len(many)
    assert max(entries) == LARGEST_BATCH
    assert max(heads) == PAGE


def test_a_proof_from_behind_reaches_whoever_was_left_to_tell_it_first() -> None:
    """Both a and c have proved the later lie when the proof of the earlier one comes to a.

    What they told each other at one time, c would tell: a waits a silent tick, and then tells it.
    """
    path = line("c", "a", "b", "d")
    world = World(path)
    told = {"d": (0, 0.3), "b": (0, 0.2), "a": (1, 0.3), "c": (1, 0.1)}
    for name, (incarnation, mean) in told.items():
        lie = written("liar", incarnation=incarnation, mean=mean)
        world.agents[name].step(heard(min(path[name]), RecordsMessage((lie,))))
    first, *others = world.settled()
    assert all(other == first for other in others)
