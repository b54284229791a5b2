"""Algorithm 1 as a state machine: rounds of three exchanges."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import sqrt

from colme.errors import LocalProtocolError, Reason, RemoteProtocolError
from colme.protocol.algorithm import Exchange
from colme.protocol.events import (
    EVERYTHING,
    Begin,
    ClockJumped,
    Deadline,
    Due,
    Effects,
    Estimate,
    Event,
    ExchangeStatus,
    Observe,
    Part,
    Policy,
    Received,
    Returned,
    Start,
)
from colme.protocol.messages import (
    LARGEST_ROUND,
    ConsensusMessage,
    Message,
    ReleaseMessage,
    RoundMessage,
    SizeMessage,
)
from colme.protocol.own_data import QUANTILE, OwnData
from colme.protocol.rounds.pacing import Pacing
from colme.protocol.rounds.state import EXCHANGE, SUSPECT_AFTER, Peer, Phase, RoundState
from colme.rules.consensus import (
    AlphaSchedule,
    consensus,
    edge_weight,
    looks_no_larger_than_two,
    mixed,
    next_age,
)
from colme.rules.decision import DecisionRule
from colme.rules.release import Release

Outbox = list[tuple[str, Message]]


def _both(one: Effects, other: Effects) -> Effects:
    return Effects(persist=one.persist | other.persist, send=one.send + other.send)


class Rounds(Exchange):
    """One agent's rounds."""

    state: RoundState

    def __init__(
        self, own: OwnData, neighbours: Sequence[str], *, rule: DecisionRule, alpha: AlphaSchedule
    ) -> None:
        self._own = own
        self._rule = rule
        self._alpha = alpha
        # In name order: float addition is not associative, and every run must repeat the same sums.
        self.state = RoundState(round=0, peers={name: Peer() for name in sorted(neighbours)})
        # What has changed and has not been asked to be stored yet. A step that raises after noise
        # was spent, as a rule of the user's own may make it, leaves it here for the next one:
        # nothing made of that noise goes out before the noise itself is stored.
        self._owed: frozenset[Part] = frozenset()
        self._pacing: Pacing | None = None

    def resume(self, state: RoundState) -> None:
        """Who stayed is remembered; a new neighbour starts as an unknown one.

        One that has gone is forgotten, with all that it may have put into what is shared.
        """
        if not state.peers.keys() <= self.state.peers.keys():
            # From my release, not from 0 as in line 1: neighbours that have come far would feel it.
            mine = self.release
            state.consensus = 0.0 if mine is None else mine.mean
            state.trust, state.age = 0.0, 0
        state.peers = {name: state.peers.get(name, Peer()) for name in self.state.peers}
        self.state = state

    @property
    def round(self) -> int:
        """The last round begun; 0 before the first."""
        return self.state.round

    @property
    def release(self) -> Release | None:
        """My released mean, as my neighbours see it; None before the first."""
        return self._own.release(self._rule)

    @property
    def draws_due(self) -> tuple[float, ...]:
        """One for each block that is closed and waits."""
        return self._own.draws_due

    @property
    def looking_alike(self) -> frozenset[str]:
        """The neighbours that look to be of my class."""
        return frozenset(name for name, peer in self.state.peers.items() if peer.looks_alike)

    @property
    def suspects(self) -> frozenset[str]:
        """The neighbours I do not wait for."""
        return frozenset(name for name, peer in self.state.peers.items() if peer.suspect)

    @property
    def awaited(self) -> frozenset[str]:
        """The neighbours whose message the open exchange is waiting for."""
        state = self.state
        if state.phase is Phase.IDLE:
            return frozenset()
        return frozenset(name for name, peer in state.peers.items() if peer.awaited(state.phase))

    @property
    def late(self) -> Mapping[str, int]:
        """How many messages of each neighbour came after their exchange had closed."""
        return {name: peer.late for name, peer in self.state.peers.items()}

    @property
    def status(self) -> ExchangeStatus:
        """How the rounds are."""
        return ExchangeStatus(
            phase=self.state.phase.value,
            awaited=self.awaited,
            class_size=self.state.class_size,
            trust=self.state.trust,
            suspects=self.suspects,
            accepted=self.looking_alike,
            late=self.late,
        )

    def estimate(self) -> Estimate:
        """The consensus value where I trust it, else my exact mean."""
        state, alone = self.state, self._own.mean
        shared = state.consensus, QUANTILE * sqrt(state.shared_variance)
        return Estimate.around(
            *(shared if state.trust else (alone, self._own.margin)),
            self._own.profile.bounds,
            round=state.round,
            alone=alone,
            class_size=state.class_size,
            trust=state.trust,
        )

    @property
    def is_over(self) -> bool:
        """Whether the last round of a trial has ended."""
        return self._pacing is not None and self._pacing.is_over

    @property
    def wake_at(self) -> float | None:
        """When the open exchange has waited long enough, or the next round begins."""
        return None if self._pacing is None else self._pacing.wake_at

    def due(self, now: float) -> Due | None:
        """The next round, or the end of an exchange that has waited long enough."""
        return None if self._pacing is None else self._pacing.due(now)

    def step(self, event: Event, now: float = 0.0) -> Effects:
        """Take one event of a round."""
        pacing = self._pacing
        match event:
            case Start():
                self._give_up_round()
                self._pacing = pacing = Pacing(event, self.round, now)
                effects = Effects()
            case Begin(number, noise):
                effects = self._begin_paced(pacing, number, noise, now)
            case Received(peer, message):
                effects = self._receive_paced(pacing, peer, message, now)
            case Deadline():
                if self.state.phase is Phase.IDLE:
                    raise LocalProtocolError("event", event, "a round to begin first")
                effects = self._close_exchanges(at_least_one=True)
            case Returned(peer):
                if pacing is None or pacing.waits_for(event, now):
                    self._peer(peer).returned = True
                if pacing is not None:
                    self._follow(pacing, peer, event.round, now)
                effects = Effects()
            case ClockJumped(seconds):
                if pacing is not None:
                    pacing.jump(seconds)
                effects = Effects()
            case Observe():
                raise LocalProtocolError("event", "a sample", "an agent, which takes it in itself")
            case Policy():
                effects = Effects()  # Rounds take nothing but the neighbours' own.
        if pacing is not None:
            phase = self.state.phase
            alone = self.suspects == self.state.peers.keys()
            idle = phase is Phase.IDLE
            pacing.watch(self.round, phase, idle=idle, alone=alone, now=now)
        return effects

    def _begin_paced(
        self, pacing: Pacing | None, number: int, noise: tuple[int, ...], now: float
    ) -> Effects:
        if pacing is None:
            return self._begin(number, noise)
        behind = number - self.round
        was_following, is_first = pacing.is_following, not pacing.has_begun
        effects = self._begin(number, noise)
        pacing.begin(number, now)
        for name, message in pacing.held():
            with suppress(RemoteProtocolError):  # It may be of a round that is over.
                effects = _both(effects, self._receive(name, message))
        missed = was_following and not is_first and behind > SUSPECT_AFTER
        return replace(effects, hello=missed)

    def _receive_paced(
        self, pacing: Pacing | None, name: str, message: Message, now: float
    ) -> Effects:
        if pacing is not None and isinstance(message, RoundMessage):
            self._peer(name)
            self._follow(pacing, name, message.round, now)
            if pacing.holds_messages:
                # It may well be of the round that begins next.
                pacing.hold(name, message)
                return Effects()
        return self._receive(name, message)

    def _follow(self, pacing: Pacing, name: str, number: int, now: float) -> None:
        if pacing.follow(name, number, now):
            self._give_up_round()

    def _give_up_round(self) -> None:
        """End an open round. What it still would have sent is of no use to anybody."""
        owed = self._owed
        while self.state.phase is not Phase.IDLE:
            owed |= self._close_exchanges(at_least_one=True).persist
        self._owed = owed

    def _begin(self, number: int, noise: tuple[int, ...]) -> Effects:
        state = self.state
        if state.phase is not Phase.IDLE:
            raise LocalProtocolError("round", number, f"round {state.round} to end first")
        if not state.round < number <= LARGEST_ROUND:
            raise LocalProtocolError("round", number, f"a round after {state.round}")
        # After all checks: a Begin that is refused must not spend noise.
        self._own.publish(noise)
        self._owed = EVERYTHING
        for peer in state.peers.values():
            if state.round > 0:
                peer.judge_round()
            peer.open_round(keep_ahead=number == state.round + 1)
        state.round = number
        state.phase = Phase.RELEASE
        message = ReleaseMessage(round=number, release=self.release)
        return self._close_exchanges(send=[(name, message) for name in state.peers])

    def _peer(self, name: str) -> Peer:
        peer = self.state.peers.get(name)
        if peer is None:
            raise RemoteProtocolError(name, "peer", name, f"one of my {list(self.state.peers)}")
        return peer

    def _receive(self, name: str, message: Message) -> Effects:
        state = self.state
        peer = self._peer(name)
        if not isinstance(message, RoundMessage):
            seen, reason = type(message).__name__, Reason.OTHER_CONFIGURATION
            raise RemoteProtocolError(name, "message", seen, "one of a round", reason)
        if message.round not in (state.round, state.round + 1):
            is_old = message.round < state.round
            expected = f"{state.round} or {state.round + 1}"
            if not is_old and self._pacing is not None and self._pacing.is_by_clock:
                expected += ", by my clock"
            reason = Reason.OLD_ROUND if is_old else Reason.FUTURE_ROUND
            raise RemoteProtocolError(name, "round", message.round, expected, reason)
        inbox = peer.now if message.round == state.round else peer.ahead
        exchange = EXCHANGE[type(message)]
        if inbox.holds(exchange):
            expected = f"one {exchange.value} message a round"
            raise RemoteProtocolError(name, "message", message, expected, Reason.DUPLICATE)
        inbox.put(message)
        if inbox is peer.now and exchange.place < state.phase.place:
            peer.late += 1
            peer.late_now = True
            return Effects()
        return self._close_exchanges()

    def _close_exchanges(
        self, *, send: Outbox | None = None, at_least_one: bool = False
    ) -> Effects:
        """Go on through the round for as long as nobody has to be waited for."""
        state = self.state
        send = [] if send is None else send
        while state.phase is not Phase.IDLE and (at_least_one or self._all_delivered()):
            at_least_one = False
            for peer in state.peers.values():
                peer.close_exchange(state.phase)
            match state.phase:
                case Phase.RELEASE:
                    send += self._decide()
                case Phase.SIZE:
                    send += self._mix()
                case Phase.CONSENSUS:
                    self._keep_consensus_values()
                    self._owed |= {Part.EXCHANGE}
        owed, self._owed = self._owed, frozenset()
        return Effects(persist=owed, send=tuple(send))

    def _all_delivered(self) -> bool:
        phase = self.state.phase
        return not any(peer.awaited(phase) for peer in self.state.peers.values())

    def _decide(self) -> Outbox:
        """C_a (line 9), and the set sizes to exchange (lines 10 to 13)."""
        state, rule = self.state, self._rule
        mine = self.release
        changed = False
        for name, peer in state.peers.items():
            message = peer.now.release
            if message is None:
                continue  # Not heard this round: the edge rests, and the topology is as it was.
            theirs = message.release
            alike = bool(mine and theirs and rule.accepts(name, mine, theirs))
            changed |= alike != peer.looks_alike
            peer.looks_alike = alike
            peer.accepted = alike and peer.consensus_round == state.round - 1
        if mine is not None:
            state.age = next_age(state.age, changed)
        state.class_size = 1 + sum(peer.accepted for peer in state.peers.values())
        state.phase = Phase.SIZE
        return [
            (
                name,
                SizeMessage(
                    round=state.round,
                    size=state.class_size,
                    degree=len(state.peers),
                    accepts=peer.accepted,
                ),
            )
            for name, peer in state.peers.items()
        ]

    def _mix(self) -> Outbox:
        """The consensus value to exchange (line 15), and whether to trust it (the last branch).

        What is sent follows from releases alone.
        """
        state = self.state
        mine = self.release
        # Both ends use the edge this round; with the class sizes that the others announced.
        in_use = [
            (peer.now.size.size, peer)
            for peer in state.peers.values()
            if peer.accepted and peer.now.size is not None and peer.now.size.accepts
        ]
        if mine is not None:
            mix = mixed(
                state.consensus,
                [(edge_weight(state.class_size, size), peer.consensus) for size, peer in in_use],
            )
            state.consensus = consensus(self._alpha(state.age), mine.mean, mix)
            sizes = [state.class_size, *(size for size, _ in in_use)]
            state.trust = 0.0 if looks_no_larger_than_two(sizes) else 1.0
            # Theorem 1: twice what averaging a class gives; it has at least my neighbours.
            state.shared_variance = 2 * mine.variance / state.class_size
        state.phase = Phase.CONSENSUS
        message = ConsensusMessage(round=state.round, value=state.consensus)
        return [(name, message) for name in state.peers]

    def _keep_consensus_values(self) -> None:
        """What the neighbours sent is for the mix of the next round."""
        for peer in self.state.peers.values():
            if peer.now.consensus is not None:
                peer.consensus = peer.now.consensus.value
                peer.consensus_round = self.state.round
        self.state.phase = Phase.IDLE
