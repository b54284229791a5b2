"""Private-C-ColME, Algorithm 1, as a state machine that returns the work and never does it.

    effects = agent.step(event)
    if effects.persist:
        save(agent.snapshot())  # first: noise is drawn once, and kept before any of it is sent
    send(effects.send)          # then

Same state, same event: same effects. An illegal event raises and leaves the agent as it was.
What `send` holds derives from released values only; `publish` is for the owner alone. What a
neighbour sends must arrive in the order it was sent, as far as it arrives.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from colme.errors import ConfigError, LocalProtocolError, RemoteProtocolError, SnapshotError
from colme.protocol import snapshot
from colme.protocol.events import (
    Begin,
    Deadline,
    Effects,
    Estimate,
    Event,
    Observe,
    Received,
    Returned,
)
from colme.protocol.messages import ConsensusMessage, Message, ReleaseMessage, SizeMessage
from colme.protocol.sharing import average, track
from colme.protocol.state import EXCHANGE, Peer, Phase, State
from colme.protocol.stream import Spread
from colme.rules.consensus import AlphaSchedule, next_age, stepped_alpha
from colme.rules.decision import DecisionRule, TightBernstein
from colme.rules.interval import answer_margin, empirical_margin, known_variance_margin
from colme.rules.pooling import softened_age
from colme.rules.release import EVERY_SAMPLE, Blocks, Profile, Release, ReleaseSchedule

Outbox = list[tuple[str, Message]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an agent is told once: its name, its neighbours, its data's profile, the rules."""

    name: str
    neighbours: tuple[str, ...]
    profile: Profile
    rule: DecisionRule
    alpha: AlphaSchedule = stepped_alpha
    schedule: ReleaseSchedule = EVERY_SAMPLE
    pooled: bool = False
    """Tracking consensus and pooled check (`colme.rules.pooling`) for lines 15 to 25."""
    release_squares: bool = False
    """Publish noisy sums of squares too, and use the variance they bound for the profile's."""

    @classmethod
    def recommended(
        cls,
        name: str,
        neighbours: tuple[str, ...],
        profile: Profile,
        *,
        release_squares: bool = False,
    ) -> Self:
        """Blocks, the tight rule, tracking and the pooled check: private, yet as good as public."""
        return cls(
            name=name,
            neighbours=neighbours,
            profile=profile,
            rule=TightBernstein(),
            schedule=Blocks(profile.epsilon),
            pooled=True,
            release_squares=release_squares,
        )

    def __post_init__(self) -> None:
        if len(set(self.neighbours)) < len(self.neighbours):
            raise ConfigError("neighbours", self.neighbours, "every name once")
        if self.name in self.neighbours:
            raise ConfigError("neighbours", self.neighbours, f"names other than {self.name!r}")


class Agent:
    """One agent. Feed samples with `observe`, read `estimate`; drive its rounds with `step`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        # In name order: float addition is not associative, and every run must repeat the same sums.
        self._state = State(peers={name: Peer() for name in sorted(settings.neighbours)})

    @classmethod
    def restore(cls, settings: Settings, data: Mapping[str, Any]) -> Self:
        """The agent as it was when `snapshot` was taken."""
        agent = cls(settings)
        agent._state = snapshot.load(
            data,
            name=settings.name,
            bounds=settings.profile.bounds,
            neighbours=agent._state.peers,
        )
        stream = agent._state.stream
        if stream.blocks and stream.with_squares != settings.release_squares:
            # Squares of blocks that were noised without them would go out with no noise.
            expected = f"{stream.with_squares}, as in the blocks released so far"
            raise SnapshotError("release_squares", settings.release_squares, expected)
        return agent

    def snapshot(self) -> dict[str, Any]:
        """The whole state as plain data, fit for JSON."""
        settings = self.settings
        return snapshot.dump(self._state, name=settings.name, bounds=settings.profile.bounds)

    @property
    def round(self) -> int:
        """The last round begun; 0 before the first."""
        return self._state.round

    @property
    def phase(self) -> Phase:
        """Which exchange is open."""
        return self._state.phase

    @property
    def draws_due(self) -> tuple[float, ...]:
        """The scales of the discrete Laplace draws that the next `Begin` must bring, in order."""
        profile = self.settings.profile
        one = (profile.lattice_scale, profile.square_lattice_scale)
        per_block = one if self.settings.release_squares else one[:1]
        return per_block * self._state.stream.blocks_due

    @property
    def spread(self) -> Spread:
        """What is public about the variance of my data: as configured, or as released."""
        profile = self.settings.profile
        if self.settings.release_squares:
            return self._state.stream.spread(profile)
        return Spread(bound=profile.sigma2, estimate=profile.sigma2, certain=True)

    @property
    def release(self) -> Release | None:
        """My released mean, as my neighbours see it; None before the first."""
        stream = self._state.stream
        n = stream.released_count
        if n == 0:
            return None
        profile = self.settings.profile.with_variance(self.spread.bound)
        return Release(
            count=n,
            mean=stream.released_mean(profile),
            variance=profile.released_variance(n, stream.blocks),
            beta=self.settings.rule.parameter(profile, n, stream.blocks),
        )

    @property
    def consensus(self) -> float:
        """The consensus value of the last round, as my neighbours see it."""
        return self._state.consensus

    @property
    def accepted(self) -> frozenset[str]:
        """The neighbours that look to be of my class."""
        return frozenset(name for name, peer in self._state.peers.items() if peer.looks_alike)

    @property
    def suspects(self) -> frozenset[str]:
        """The neighbours I do not wait for."""
        return frozenset(name for name, peer in self._state.peers.items() if peer.suspect)

    @property
    def awaited(self) -> frozenset[str]:
        """The neighbours whose message the open exchange is waiting for."""
        state = self._state
        if state.phase is Phase.IDLE:
            return frozenset()
        return frozenset(name for name, peer in state.peers.items() if peer.awaited(state.phase))

    @property
    def class_size(self) -> int:
        """How many look alike, I included, as last announced to the neighbours."""
        return self._state.class_size

    @property
    def late(self) -> Mapping[str, int]:
        """How many messages of each neighbour came after their exchange had closed."""
        return {name: peer.late for name, peer in self._state.peers.items()}

    @property
    def clamped(self) -> int:
        """How many samples lay outside the bounds."""
        return self._state.stream.clamped

    @property
    def counts(self) -> tuple[int, int, int]:
        """Samples taken in, samples released and blocks noised so far."""
        stream = self._state.stream
        return stream.count, stream.released_count, stream.blocks

    @property
    def estimate(self) -> Estimate:
        """The mean of my data, as well as I know it now."""
        state = self._state
        if state.stream.count == 0:
            raise LocalProtocolError("estimate", "no samples", "at least one sample first")
        local = state.stream.mean
        return Estimate(
            round=state.round,
            value=state.trust * state.shared + (1 - state.trust) * local,
            margin=answer_margin(state.trust, state.shared_variance, self._local_margin()),
            local=local,
            class_size=state.class_size,
            collaborative=state.trust > 0,
        )

    def _local_margin(self) -> float:
        stream, profile = self._state.stream, self.settings.profile
        if self.settings.release_squares:
            return empirical_margin(stream.exact_variance(profile), stream.count)
        return known_variance_margin(profile.sigma2, stream.count)

    def observe(self, value: float) -> Effects:
        """Feed one sample."""
        return self.step(Observe(value))

    def step(self, event: Event) -> Effects:
        """Take one event and return the work it asks for."""
        match event:
            case Observe(value):
                stream = self._state.stream
                stream.observe(value, self.settings.profile, self.settings.schedule)
                return Effects(persist=True)
            case Begin(number, noise):
                return self._begin(number, noise)
            case Received(peer, message):
                return self._receive(peer, message)
            case Deadline():
                if self._state.phase is Phase.IDLE:
                    raise LocalProtocolError("event", event, "a round to begin first")
                return self._close_exchanges(at_least_one=True)
            case Returned(peer):
                self._peer(peer).returned = True
                return Effects()

    def _begin(self, number: int, noise: tuple[int, ...]) -> Effects:
        state = self._state
        if state.phase is not Phase.IDLE:
            raise LocalProtocolError("round", number, f"round {state.round} to end first")
        if number <= state.round:
            raise LocalProtocolError("round", number, f"a round after {state.round}")
        state.stream.publish(noise, squares=self.settings.release_squares)
        for peer in state.peers.values():
            if state.round > 0:
                peer.judge_round()
            peer.open_round(keep_ahead=number == state.round + 1)
        state.round = number
        state.phase = Phase.RELEASE
        message = ReleaseMessage(round=number, release=self.release)
        return self._close_exchanges(send=[(name, message) for name in state.peers], persist=True)

    def _peer(self, name: str) -> Peer:
        peer = self._state.peers.get(name)
        if peer is None:
            raise RemoteProtocolError(name, "peer", name, f"one of my {list(self._state.peers)}")
        return peer

    def _receive(self, name: str, message: Message) -> Effects:
        state = self._state
        peer = self._peer(name)
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
        self, *, send: Outbox | None = None, persist: bool = False, at_least_one: bool = False
    ) -> Effects:
        """Go on through the round for as long as nobody has to be waited for."""
        state = self._state
        send = [] if send is None else send
        publish = None
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
                    persist = True
                    publish = self.estimate if state.stream.count else None
        return Effects(persist=persist, send=tuple(send), publish=publish)

    def _all_delivered(self) -> bool:
        phase = self._state.phase
        return not any(peer.awaited(phase) for peer in self._state.peers.values())

    def _decide(self) -> Outbox:
        """C_a (line 9), and the set sizes to exchange (lines 10 to 13)."""
        state = self._state
        mine = self.release
        changed = False
        for name, peer in state.peers.items():
            message = peer.now.release
            if message is None:
                continue  # Not heard this round: the edge rests, and the topology is as it was.
            theirs = message.release
            alike = bool(mine and theirs and self.settings.rule.accepts(name, mine, theirs))
            changed |= alike != peer.looks_alike
            peer.looks_alike = alike
            peer.accepted = alike and peer.consensus_round == state.round - 1
        if mine is not None:
            age = softened_age if self.settings.pooled else next_age
            state.age = age(state.age, changed)
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
        """The shared value to exchange (line 15), and how far to trust it (the last branch)."""
        state = self._state
        mine = self.release
        in_use = [
            (peer.now.size.size, peer)
            for peer in state.peers.values()
            if peer.accepted and peer.now.size is not None and peer.now.size.accepts
        ]
        if mine is not None and self.settings.pooled:
            track(state, mine.mean, in_use, self.settings, self.spread)
        elif mine is not None:
            average(state, mine, in_use, self.settings.alpha)
        state.phase = Phase.CONSENSUS
        message = ConsensusMessage(
            round=state.round,
            value=state.consensus,
            weight=state.weight,
            excess=state.excess if state.shared_rounds else None,
        )
        return [(name, message) for name in state.peers]

    def _keep_consensus_values(self) -> None:
        """What the neighbours sent is for the mix of the next round."""
        for peer in self._state.peers.values():
            if peer.now.consensus is not None:
                peer.consensus = peer.now.consensus.value
                peer.weight = peer.now.consensus.weight
                peer.excess = peer.now.consensus.excess
                peer.consensus_round = self._state.round
        self._state.phase = Phase.IDLE
