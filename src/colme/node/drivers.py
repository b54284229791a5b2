"""The driver that an algorithm needs: of rounds, or of a board."""

from collections.abc import Callable

from colme.network import NoiseSource
from colme.node.boards import BoardsDriver, Speakers
from colme.node.config import NodeConfig, SyntheticSource
from colme.node.contact import Contacts
from colme.node.driving import AgentDriver
from colme.node.fit import noise_mark
from colme.node.metrics import Metrics
from colme.node.rounds import Driver, make_pacing
from colme.node.samples import Synthetic
from colme.node.state import Store
from colme.protocol.board.record import origin_of_key
from colme.protocol.messages import Message
from colme.protocol.settings import Settings


def make_driver(
    config: NodeConfig,
    settings: Settings,
    store: Store,
    peers: Contacts,
    *,
    noise: NoiseSource,
    post: Callable[[str, Message], None],
    greet: Callable[[], None],
    state_lost: bool,
    metrics: Metrics,
    clock_jumped: Callable[[float], None],
    fail: Callable[[BaseException], None],
) -> AgentDriver:
    """One for this configuration, which has not begun."""
    source = config.source
    supply = Synthetic(source).samples if isinstance(source, SyntheticSource) else None
    marks = noise_mark(config, store)
    if config.agreed.in_rounds:
        return Driver(
            settings,
            store,
            peers,
            noise=noise,
            supply=supply or (lambda _: ()),
            post=post,
            greet=greet,
            pacing=make_pacing(config, clock_jumped),
            deadline=config.deadline,
            last_round=config.pace.last_round,
            metrics=metrics,
            fail=fail,
            marks=marks,
        )
    return BoardsDriver(
        settings,
        store,
        peers,
        noise=noise,
        supply=supply,
        post=post,
        interval=config.pace.interval,
        last_tick=config.pace.last_round,
        speakers=_speakers(config, settings),
        state_lost=state_lost,
        metrics=metrics,
        fail=fail,
        marks=marks,
    )


def _speakers(config: NodeConfig, settings: Settings) -> Speakers:
    identity = settings.signs_as
    known = [origin_of_key(identity.key), *map(identity.origin_of, settings.neighbours)]
    return Speakers(
        behind=config.origins.behind,
        roster=config.origins.roster,
        known=[origin for origin in known if origin is not None],
    )
