"""An agent: a state machine that returns the work and never does it.

    effects = agent.step(event)
    if effects.persist:
        save(agent.snapshot())  # first: noise is drawn once, and kept before any of it is sent
    send(effects.send)          # then

Same state, same event: same effects. An illegal event raises and leaves the agent as it was.
What `send` holds derives from released values only. What a neighbour sends must arrive in the order
it was sent, as far as it arrives.
"""

from collections.abc import Collection, Mapping
from typing import Any, Self, get_args

from colme.errors import ConfigError, LocalProtocolError
from colme.protocol import snapshot
from colme.protocol.algorithm import Exchange
from colme.protocol.events import EVERYTHING, Due, Effects, Estimate, Event, Observe, Part
from colme.protocol.own_data import Counts, OwnData
from colme.protocol.relay import BoardExchange
from colme.protocol.rounds.exchange import Rounds
from colme.protocol.rounds.state import Phase
from colme.protocol.settings import Settings
from colme.protocol.upgrades import as_one_block
from colme.rules.release import Release


class Agent:
    """One agent. Feed samples with `observe`, read `estimate`; drive its rounds with `step`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        algorithm, profile = settings.algorithm, settings.profile
        self._own = OwnData(profile, settings.schedule, squares=algorithm.release_squares)
        self._own.stream.incarnation = settings.incarnation
        self._exchange = algorithm.exchange(self._own, settings.neighbours, settings.signs_as)

    @classmethod
    def restore(cls, settings: Settings, data: Mapping[str, Any]) -> Self:
        """The agent as it was when `snapshot` was taken, also by an earlier version."""
        agent = cls(settings)
        stored = snapshot.load(data, settings, exchange=type(agent._exchange.state))
        agent._own.stream = stored.stream
        if stored.stream.count == 0:
            # Nothing of it is anywhere: what was lost before it may have had a higher one.
            stored.stream.incarnation = max(stored.stream.incarnation, settings.incarnation)
        agent._exchange.resume(stored.exchange)
        return agent

    @classmethod
    def switched(cls, data: Mapping[str, Any], *, after: Settings) -> Self:
        """The agent of a state stored by `paper` or `tracking`, to go on with `relay`.

        All that it has released becomes one block, with its noise. The operator has to ask for it:
        what is sent from then on is passed on to all, and nothing switches it back. Store all of
        its snapshot first: no part of it fits those from before.

        Parameters
        ----------
        data
            What `snapshot` returned, also in an earlier version.
        after
            Settings to go on with: the same name, bounds, epsilon and squares, and `Relay`.

        Raises
        ------
        ConfigError
            If the algorithm of `after` does not relay.
        SnapshotError
            If the state was stored under other privacy parameters, or relays already.
        """
        if not after.algorithm.signs:
            raise ConfigError("after.algorithm", after.algorithm.name, "one that relays")
        agent = cls(after)
        agent._own.stream = as_one_block(snapshot.stream_of_rounds(data, after), after.schedule)
        agent._own.stream.incarnation = after.incarnation
        agent._own.stream.declared = after.profile.sigma2
        return agent

    def snapshot(
        self, parts: Collection[Part] = EVERYTHING, *, entries: bool = True
    ) -> dict[str, Any]:
        """Return parts of the state as plain data, fit for JSON.

        Parameters
        ----------
        parts
            By default all of it.
        entries
            Whether the exchange has all its entries, or what is left if they are stored apart.
        """
        exchange = self._exchange.state if entries else self._exchange.rest
        held = {Part.STREAM: self._own.stream, Part.EXCHANGE: exchange}
        return snapshot.dump(self.settings, {part: held[part] for part in Part if part in parts})

    @property
    def exchange(self) -> Exchange:
        """What it exchanges, whatever that is."""
        return self._exchange

    @property
    def rounds(self) -> Rounds:
        """What it exchanges in rounds; an error where its algorithm has none."""
        if not isinstance(self._exchange, Rounds):
            expected = "an algorithm in rounds"
            raise LocalProtocolError("rounds", self.settings.algorithm.name, expected)
        return self._exchange

    @property
    def boards(self) -> BoardExchange:
        """What it exchanges of boards; an error where its algorithm has none."""
        if not isinstance(self._exchange, BoardExchange):
            raise LocalProtocolError("boards", self.settings.algorithm.name, "one with a board")
        return self._exchange

    @property
    def round(self) -> int:
        """The last round begun, or the last tick; 0 before the first."""
        return self._exchange.round

    @property
    def phase(self) -> Phase:
        """Which exchange is open."""
        return self.rounds.state.phase

    @property
    def scales(self) -> tuple[float, ...]:
        """The scales of the discrete Laplace draws that each block will take, in order."""
        return self._own.scales

    @property
    def draws_due(self) -> tuple[float, ...]:
        """The scales of the discrete Laplace draws that the next `Begin` must bring, in order."""
        return self._exchange.draws_due

    @property
    def release(self) -> Release | None:
        """My released mean, as my neighbours see it; None before the first."""
        return self.rounds.release

    @property
    def consensus(self) -> float:
        """The consensus value of the last round, as my neighbours see it."""
        return self.rounds.state.consensus

    @property
    def accepted(self) -> frozenset[str]:
        """The neighbours that look to be of my class."""
        return self.rounds.looking_alike

    @property
    def suspects(self) -> frozenset[str]:
        """The neighbours I do not wait for."""
        return self.rounds.suspects

    @property
    def awaited(self) -> frozenset[str]:
        """The neighbours whose message the open exchange is waiting for."""
        return self.rounds.awaited

    @property
    def class_size(self) -> int:
        """How many look alike, I included, as last announced to the neighbours."""
        return self.rounds.state.class_size

    @property
    def late(self) -> Mapping[str, int]:
        """How many messages of each neighbour came after their exchange had closed."""
        return self.rounds.late

    @property
    def clamped(self) -> int:
        """How many samples lay outside the bounds."""
        return self._own.stream.clamped

    @property
    def counts(self) -> Counts:
        """Of samples taken in and released, and of blocks."""
        return self._own.counts

    @property
    def estimate(self) -> Estimate:
        """The mean of my data, as well as I know it now."""
        self.require_sample()
        return self._exchange.estimate()

    def require_sample(self) -> None:
        """Without one there is no answer."""
        if self._own.stream.count == 0:
            raise LocalProtocolError("estimate", "no samples", "at least one sample first")

    def observe(self, value: float) -> Effects:
        """Feed one sample."""
        return self.step(Observe(value))

    @property
    def wake_at(self) -> float | None:
        """When to look at `due` again though nothing comes; None if there is no such time."""
        return self._exchange.wake_at

    def due(self, now: float) -> Due | None:
        """Return the event that it wants at this time, if any; its `Begin` lacks the noise."""
        return self._exchange.due(now)

    def step(self, event: Event, now: float = 0.0) -> Effects:
        """Take one event and return the work it asks for.

        Parameters
        ----------
        event
            One of `colme.protocol.events`.
        now
            Seconds of a clock that never jumps. Only an agent that got a `Start` needs it.

        Returns
        -------
        Effects
            What to store, then to send.

        Raises
        ------
        LocalProtocolError
            If the event is illegal now: a mistake of the caller.
        RemoteProtocolError
            If a neighbour sent what it must not send.
        """
        if isinstance(event, Observe):
            self._own.observe(event.value)
            return Effects(persist=frozenset({Part.STREAM}))
        if not isinstance(event, Event):
            kinds = ", ".join(kind.__name__ for kind in get_args(Event))
            raise LocalProtocolError("event", type(event).__name__, f"one of {kinds}")
        return self._exchange.step(event, now)
