"""Algorithm 1 as a state machine: rounds of three exchanges."""

from collections.abc import Mapping, Sequence
from math import sqrt

from colme.errors import LocalProtocolError, RemoteProtocolError
from colme.protocol.algorithm import Exchange
from colme.protocol.events import (
    EVERYTHING,
    Begin,
    Deadline,
    Effects,
    Estimate,
    Event,
    Observe,
    Part,
    Received,
    Returned,
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
from colme.protocol.rounds.state import EXCHANGE, Peer, Phase, RoundState
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

    def estimate(self) -> Estimate:
        """The consensus value where I trust it, else my exact mean."""
        state, alone = self.state, self._own.stream.mean
        shared = state.consensus, QUANTILE * sqrt(state.shared_variance)
        return Estimate.around(
            *(shared if state.trust else (alone, self._own.margin)),
            self._own.profile.bounds,
            round=state.round,
            alone=alone,
            class_size=state.class_size,
            trust=state.trust,
        )

    def step(self, event: Event) -> Effects:
        """Take one event of a round."""
        match event:
            case Begin(number, noise):
                return self._begin(number, noise)
            case Received(peer, message):
                return self._receive(peer, message)
            case Deadline():
                if self.state.phase is Phase.IDLE:
                    raise LocalProtocolError("event", event, "a round to begin first")
                return self._close_exchanges(at_least_one=True)
            case Returned(peer):
                self._peer(peer).returned = True
                return Effects()
            case Observe():
                raise LocalProtocolError("event", "a sample", "an agent, which takes it in itself")

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
            raise RemoteProtocolError(name, "message", type(message).__name__, "one of a round")
        if message.round not in (state.round, state.round + 1):
            expected = f"{state.round} or {state.round + 1}"
            raise RemoteProtocolError(name, "round", message.round, expected)
        inbox = peer.now if message.round == state.round else peer.ahead
        exchange = EXCHANGE[type(message)]
        if inbox.holds(exchange):
            expected = f"one {exchange.value} message a round"
            raise RemoteProtocolError(name, "message", message, expected)
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
