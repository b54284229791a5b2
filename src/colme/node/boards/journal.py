"""First stored, then sent, where there is a board: of it only what has changed is written."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from colme.node.contact import Contacts
from colme.node.driving import Journal
from colme.node.metrics import Metrics
from colme.node.state import Kept, Store
from colme.protocol.agent import Agent
from colme.protocol.board.record import Entry
from colme.protocol.events import Part
from colme.protocol.messages import Message


class BoardsJournal(Journal):
    """Whatever is passed on is stored first: a power cut everywhere must not make all forget how
    far somebody had come, or its state could be put back to an older one unnoticed.
    """

    def __init__(
        self,
        store: Store,
        peers: Contacts,
        *,
        kept: Callable[[Entry], Kept],
        post: Callable[[str, Message], None],
        metrics: Metrics,
        marks: Mapping[str, int],
    ) -> None:
        super().__init__(store, peers, post=post, metrics=metrics, marks=marks)
        self._kept = kept
        self._on_disk: dict[str, Entry] = {}

    def open(self, agent: Agent) -> None:
        """From now on it is this agent, which is as it is stored."""
        super().open(agent)
        there = self._store.entries
        self._on_disk = {one.origin: one for one in agent.boards.board if one.origin in there}

    def _written(
        self, parts: frozenset[Part], send: Sequence[tuple[str, Message]]
    ) -> dict[str, Any]:
        snapshot = self._agent.snapshot(parts - {Part.EXCHANGE})
        if Part.EXCHANGE not in parts:
            return {"snapshot": snapshot}
        boards = self._agent.boards
        # Its entries are rows of their own: to write them all for each that is new would be much.
        snapshot[Part.EXCHANGE] = {"round": boards.round}
        now = {one.origin: one for one in boards.board}
        news = {origin: one for origin, one in now.items() if self._on_disk.get(origin) is not one}
        # Those that were stored and are not held any more, were it by an earlier start.
        dropped = [origin for origin in self._store.entries if origin not in now]
        self._on_disk = now
        mine = news.get(boards.origin)
        return {
            "snapshot": snapshot,
            "entries": {origin: self._kept(one) for origin, one in news.items()},
            "dropped": dropped,
            "released": None if mine is None else mine.to_bytes(),
        }
