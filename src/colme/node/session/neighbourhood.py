"""A node among its neighbours: a link to each, and who knows what of whom."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from random import Random
from traceback import format_tb

from structlog.typing import FilteringBoundLogger

from colme.errors import ConfigError, StaleStateError
from colme.node.clock import Clock
from colme.node.config import NodeConfig
from colme.node.contact import NEVER, Contacts, names
from colme.node.driver import Driver
from colme.node.metrics import Metrics
from colme.node.session.admission import Admission, remembered_in
from colme.node.session.link import Link
from colme.node.session.transport import Transport
from colme.node.state import Store, replaced_in
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import Refused, Standing, from_wire, to_wire, yours_in
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

UNHEARD_SECONDS = 15.0
"""After so long a neighbour of which nothing was ever heard is a trouble."""


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
        transport: Transport,
        peers: Contacts,
        admission: Admission,
        store: Store,
        metrics: Metrics,
        *,
        state_lost: bool,
        told_nothing_since: Collection[str],
        fail: Callable[[BaseException], None],
        log: FilteringBoundLogger,
        random: Random,
        clock: Clock,
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
        self._log = log
        self.boot = admission.boot
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._links = {
            name: Link(peer, transport, self, random=random, clock=clock)
            for name, peer in peers.items()
        }
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
        """Take sessions and open them, until the stack is closed."""
        await self._transport.start(self.kept_out)
        stack.push_async_callback(self._transport.stop)
        stack.push_async_callback(self._end_sessions)
        await stack.enter_async_context(running(self._accept(), self._fail))
        for link in self._links.values():
            await stack.enter_async_context(running(link.run(), self._fail))

    async def _accept(self) -> None:
        while True:
            session = await self._transport.accept()
            await self._links[session.peer].take(session)

    async def _end_sessions(self) -> None:
        await asyncio.gather(*(link.stop() for link in self._links.values()))

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

    def troubles(self) -> list[str]:
        """What its owner has to look after: neighbours never heard, and copies of a state."""
        waited = self._loop.time() - self._began
        found = []
        for name, peer in self._peers.items():
            is_met = self._links[name].connected or peer.standing != NEVER
            if not is_met and waited >= UNHEARD_SECONDS:
                why = peer.last_error or "it has not called"
                found.append(f"nothing was ever heard from {name}: {why}")
            if peer.is_copied:
                found.append(f"two processes run with the state of {name}: one was turned away")
            if peer.doubts_me:
                found.append(
                    f"{name} has turned this node away: its state is an old one, or a copy that "
                    "another process runs with. Stop one of them"
                )
        return found

    # What a link asks and tells (`link.Host`).

    def greeting(self, peer: str) -> bytes:
        """A hello, as things stand."""
        held = self.driver.held_of(peer)
        yours = b"" if held is None else held.to_bytes()
        return self._admission.greeting(self.driver.told(peer), self._peers[peer].standing, yours)

    async def meet(self, peer: str, hello: pb.Hello, *, again: bool) -> pb.Welcome:
        """Answer a hello, or raise Refused; if it knows me from later, my state is an old one."""
        self._admission.require_agreement(peer, hello)
        known, mine = self._peers[peer], to_wire(self.driver.standing)
        if hello.check:
            return pb.Welcome(standing=mine)
        await self._require_newest(peer, hello)
        theirs = self._admission.admit(known, hello, again=again)
        self.driver.returned(peer, theirs)
        epoch, received = known.received
        return pb.Welcome(standing=mine, received=received if epoch == theirs.epoch else 0)

    async def _require_newest(self, peer: str, hello: pb.Hello) -> None:
        remembered, yours = remembered_in(peer, hello), yours_in(hello)
        is_lost = self._state_lost and not self.joined.is_set()
        try:
            if not is_lost:
                self._require_told(peer, remembered)
            if yours is not None:
                self.driver.compare(peer, yours)
        except StaleStateError as error:
            self._fail(error)
            raise
        if is_lost and remembered != NEVER:
            await self._store.adopt_loss(remembered.epoch, remembered.round)

    def _require_told(self, peer: str, remembered: Standing) -> None:
        try:
            self._admission.require_newest(peer, remembered, self.driver.told(peer))
        except StaleStateError as error:
            expected = f"{error.expected}{replaced_in(self._folder)}"
            raise StaleStateError(error.field, error.seen, expected) from None

    async def welcomed(self, peer: str, welcome: pb.Welcome) -> None:
        """Both states are the newest, as far as both of us know."""
        theirs = from_wire(welcome.standing)
        await self.driver.welcomed(peer)
        self._metrics.peer_is_connected(peer, True)
        self._log.info("connected", peer=peer, round=theirs.round)
        known = self._peers[peer]
        known.last_error, known.round_when_met = None, theirs.round
        known.unheard = known.unsure = known.doubts_me = self._unconfirmed = False
        self._changed.set()

    def refused(self, peer: str, refusal: pb.Refusal) -> None:
        """A neighbour did not let me in, or did not take a message."""
        # A later version may have reasons that this one has no name for.
        known = refusal.reason if refusal.reason in pb.Reason.values() else pb.REASON_UNSPECIFIED
        reason = pb.Reason.Name(known).removeprefix("REASON_").lower()
        self._log.warning("refused by a neighbour", peer=peer, reason=reason, why=refusal.detail)
        # One that is lost is told so once, and begins after what its neighbours remember.
        lost = self._state_lost and not self.joined.is_set()
        self._peers[peer].doubts_me |= known == pb.REASON_STALE_STATE and not lost

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

    def heard(self, peer: str) -> None:
        """A message has come."""
        self._metrics.received(peer)

    def receive(self, peer: str, message: Message) -> None:
        """Take a neighbour's message or a portion of it, or raise Refused."""
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
