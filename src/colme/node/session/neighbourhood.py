"""A node among its neighbours: a link to each, a listener for all, and who knows what of whom."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from traceback import format_tb

from colme.errors import ConfigError, StaleStateError
from colme.node.config import NodeConfig
from colme.node.contact import Contacts, names
from colme.node.driver import Driver
from colme.node.log import logger
from colme.node.metrics import Metrics
from colme.node.session.admission import Admission
from colme.node.session.link import Link
from colme.node.session.listener import Listener
from colme.node.session.outbox import BoardsOutbox, RoundsOutbox
from colme.node.state import Store, replaced_in
from colme.node.trust.tls import Trust
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import Reason, Refused, Standing, from_wire, yours_in
from colme.protocol.messages import Message


@asynccontextmanager
async def running(
    work: Coroutine[object, object, None], fail: Callable[[BaseException], None]
) -> AsyncIterator[None]:
    """Do the work in the background; if it raises, `fail` is told."""

    def done(task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            fail(error)

    task = asyncio.create_task(work)
    task.add_done_callback(done)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


TOLD_NOTHING_SINCE = "--told-nothing-since"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquaintance:
    """A neighbour, as the owner is told of it."""

    name: str
    address: str
    connected: bool
    round: int
    last_error: str | None


class Neighbourhood:
    """Tells the driver what neighbours send and the neighbours what the driver posts."""

    def __init__(
        self,
        config: NodeConfig,
        trust: Trust,
        peers: Contacts,
        admission: Admission,
        store: Store,
        metrics: Metrics,
        *,
        state_lost: bool,
        told_nothing_since: Collection[str],
        fail: Callable[[BaseException], None],
    ) -> None:
        _require_all_accounted_for(store, config, told_nothing_since)
        self.joined = asyncio.Event()
        self.driver: Driver
        self._folder = config.state
        self._patience = config.deadline
        self._admission = admission
        self._peers = peers
        self._store = store
        self._metrics = metrics
        self._state_lost = state_lost
        self._fail = fail
        self._log = logger(node=trust.identity.name)
        outbox = RoundsOutbox if config.agreed.in_rounds else BoardsOutbox
        self._links = {
            name: Link(name, peer.address, trust, self, outbox()) for name, peer in peers.items()
        }
        self._listener = Listener(config.listen, trust, peers, self)
        self._silent = False
        for peer in peers.values():
            is_asked = peer.name not in told_nothing_since
            peer.unsure = (state_lost or store.from_backup) and is_asked
        # Any state may have been put back by hand. In relay any neighbour can tell, by my record;
        # until one has, a sample is not acknowledged that would be lost with an old state.
        self._unconfirmed = (
            not config.agreed.in_rounds
            and store.taken > 0
            and bool(peers.keys() - set(told_nothing_since))
        )
        self._changed = asyncio.Event()

    async def open(self, stack: AsyncExitStack) -> None:
        """Listen and call, until the stack is closed."""
        await self._listener.start()
        stack.push_async_callback(self._listener.stop)
        for link in self._links.values():
            await stack.enter_async_context(running(link.run(), self._fail))

    async def join(self) -> None:
        """Begin with rounds once every neighbour has answered, or has had time to.

        A state that may be an old one needs the word of every neighbour that it is not.
        """
        if unsure := self._unsure():
            self._log.warning("waiting for the word of every neighbour", peers=unsure)
        await self._until(lambda: not (self._unconfirmed or self._unsure()), None)
        await self._until(
            lambda: not any(one.unheard for one in self._peers.values()), self._patience
        )
        if self._silent:
            return
        if self._state_lost:
            await self.driver.begin_anew()
        if self._store.from_backup:
            await self._store.confirmed()
        self.joined.set()
        self.driver.start(max((one.round_when_met for one in self._peers.values()), default=0))

    @property
    def unsure(self) -> bool:
        """Whether neighbours have yet to say that my state is the newest."""
        return not self.joined.is_set() and (
            self._state_lost or self._unconfirmed or bool(self._unsure())
        )

    def _unsure(self) -> list[str]:
        return names(one for one in self._peers.values() if one.unsure)

    def post(self, peer: str, message: Message) -> None:
        """Send a message to a neighbour."""
        if not self._silent and not self._links[peer].post(message):
            self.driver.unsaid(peer)

    def fall_silent(self) -> None:
        """Send nothing more, not even what is waiting."""
        self._silent = True
        for link in self._links.values():
            link.drop()

    def greet(self) -> None:
        """Say hello to all again."""
        for link in self._links.values():
            link.greet()

    def acquaintances(self) -> Sequence[Acquaintance]:
        """The neighbours, as things stand."""
        return [
            Acquaintance(
                name=name,
                address=peer.address,
                connected=self._links[name].connected,
                round=peer.standing.round,
                last_error=peer.last_error,
            )
            for name, peer in self._peers.items()
        ]

    # What a link tells (`link.Ear`).

    def greeting(self, peer: str) -> bytes:
        """A hello, as things stand."""
        return self._admission.greeting(self.driver.told(peer))

    async def welcomed(self, peer: str, welcome: pb.Welcome) -> None:
        """A neighbour let me in; if it knows me from later than I do, my state is an old one."""
        try:
            theirs, remembered = from_wire(welcome.standing), from_wire(welcome.remembered)
            self._require_newest(peer, remembered)
            self._compare(peer, welcome)
        except StaleStateError as error:
            self._fail(error)
            raise
        await self.driver.welcomed(peer)
        self._metrics.peer_is_connected(peer, True)
        self._log.info("connected", peer=peer, round=theirs.round)
        known = self._peers[peer]
        known.last_error, known.round_when_met = None, theirs.round
        known.unheard = known.unsure = self._unconfirmed = False
        self._changed.set()

    async def refused(self, peer: str, refusal: pb.Refusal) -> None:
        """A neighbour did not let me in, or did not take a message."""
        # A later version may have reasons that this one has no name for.
        known = refusal.reason if refusal.reason in pb.Reason.values() else pb.REASON_UNSPECIFIED
        reason = pb.Reason.Name(known).removeprefix("REASON_").lower()
        self._log.warning("refused by a neighbour", peer=peer, reason=reason, why=refusal.detail)
        if refusal.reason != pb.REASON_STALE_STATE:
            return
        remembered = from_wire(refusal.remembered)
        is_lost = self._state_lost and not self.joined.is_set()
        try:
            if not is_lost:
                self._require_newest(peer, remembered)
            self._compare(peer, refusal)
        except StaleStateError as error:
            self._fail(error)
            return
        if is_lost:
            await self._store.adopt_loss(remembered.epoch, remembered.round)

    def parted(self, peer: str, why: str) -> None:
        """There is no session, for this reason."""
        self._peers[peer].last_error = why
        self._metrics.peer_is_connected(peer, False)
        self._log.warning("not connected", peer=peer, why=why)
        self._peers[peer].unheard = False
        self._changed.set()

    def sent(self, peer: str) -> None:
        """A frame is on its way."""
        self._metrics.sent(peer)

    # What the listener asks and tells (`listener.Door`).

    def admit(self, peer: str, hello: pb.Hello) -> pb.Welcome:
        """Let a neighbour in, or raise Refused."""
        held = self.driver.held_of(peer)
        yours = b"" if held is None else held.to_bytes()
        try:
            welcome = self._admission.admit(self._peers[peer], hello, self.driver.standing)
        except Refused as error:
            if error.reason is Reason.STALE_STATE:
                error.yours = yours
            raise
        welcome.yours = yours
        if not hello.check:
            self.driver.returned(peer, from_wire(hello.standing))
        return welcome

    def receive(self, peer: str, message: Message) -> None:
        """Take a neighbour's message, or raise Refused."""
        self._metrics.received(peer)
        self.driver.receive(peer, message)

    def kept_out(self, error: Refused) -> None:
        """Somebody was not let in."""
        self._metrics.session_refused(error.reason)
        self._log.warning("not let in", peer=error.peer, reason=error.reason, why=str(error))

    def left_out(self, error: Refused) -> None:
        """A message was not taken."""
        self._metrics.message_refused(error.peer, error.reason)
        self._log.warning("message refused", peer=error.peer, reason=error.reason, why=str(error))

    def broken(self, error: Exception) -> None:
        """A session ended by a fault of this node."""
        where = format_tb(error.__traceback__)[-1].strip()
        self._log.error("a session broke here", kind=type(error).__name__, where=where)

    def _compare(self, peer: str, reply: pb.Welcome | pb.Refusal) -> None:
        yours = yours_in(reply)
        if yours is not None:
            self.driver.compare(peer, yours)

    def _require_newest(self, peer: str, remembered: Standing) -> None:
        try:
            self._admission.require_newest(peer, remembered, self.driver.told(peer))
        except StaleStateError as error:
            expected = f"{error.expected}{replaced_in(self._folder)}"
            raise StaleStateError(error.field, error.seen, expected) from None

    async def _until(self, condition: Callable[[], bool], seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return


def _require_all_accounted_for(
    store: Store, config: NodeConfig, told_nothing_since: Collection[str]
) -> None:
    """Refuse a restored state unless all that it has sent to are asked, or skipped by the owner.

    A neighbour that was removed keeps what it was sent, and it alone may know of releases that came
    after the backup. The owner's word is refused if nothing asks for it, so that it can't stand in
    a start script for ever.
    """
    if not store.from_backup:
        if told_nothing_since:
            expected = "no such word: only a restored state asks its neighbours"
            raise ConfigError(TOLD_NOTHING_SINCE, ", ".join(told_nothing_since), expected)
        return
    configured = {one.name for one in config.neighbours}
    sent_to = set(store.told)
    if not config.agreed.in_rounds:
        # Earlier versions did not store whom a relaying node has sent to: all that it has met.
        sent_to |= store.standings.keys()
    for name in told_nothing_since:
        if name not in configured | sent_to:
            which = ", ".join(sorted(configured | sent_to)) or "no neighbours"
            expected = f"one that this restored state may have sent to ({which})"
            raise ConfigError(TOLD_NOTHING_SINCE, name, expected)
    missing = sorted(sent_to - configured - set(told_nothing_since))
    if missing:
        words = " ".join(f"{TOLD_NOTHING_SINCE} {name}" for name in missing)
        raise ConfigError(
            "neighbours",
            f"no {', '.join(missing)}",
            "all that this restored state has told: they alone know whether they were told more "
            "since. Configure them again; or, if you know that they were told nothing since this "
            f"backup was made: {words}. If you do not, going on could noise samples twice: move "
            f"{config.state} away and begin with an empty one, --state-lost and, for a file, "
            "--first-lines skip",
        )
