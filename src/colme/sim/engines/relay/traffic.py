"""Records that cross edges: counted on some edges, in all rounds.

A record crosses every edge once, from the end that has it earlier. Where both have it in the same
round they both send it, the first time; then the one with the smaller name does, and the other has
no need to.
"""

import numpy as np
from numpy.random import Generator

from colme.graph import Graph, IntArray
from colme.protocol.board.messages import LARGEST_BATCH
from colme.protocol.board.record import RECORD_SIZE
from colme.sim.engines.engine import BoolArray, Cost, FloatArray
from colme.sim.engines.relay.boards import hops, sampled

COUNTED = 64
"""Edges on which it is counted, at most."""

FEWEST_COUNTED = 8
HOPS_KEPT = 16_000_000
"""From the ends of these edges to everybody: with more agents it is counted on fewer of them."""

LENGTH_BYTES = 3
"""Bytes before a record in a message: its kind and length."""

FRAME_BYTES = 40
"""Bytes around a message: 5 of gRPC, 9 of HTTP/2, 22 of TLS 1.3, 4 for its kind and length."""


class Traffic:
    """Records sent in one batch: all its runs release in the same rounds."""

    def __init__(
        self,
        graph: Graph,
        names: list[str],
        rounds: int,
        generator: Generator,
        *,
        capacity: int,
        hop: int,
        counted: int = COUNTED,
    ) -> None:
        counted = min(counted, max(FEWEST_COUNTED, HOPS_KEPT // (2 * graph.agents)))
        first = np.repeat(np.arange(graph.agents), graph.degrees)
        once = np.flatnonzero(first < graph.indices)
        picked = once
        if once.size > counted:
            picked = np.sort(generator.choice(once, counted, replace=False))
        self.edges = np.stack((first[picked], graph.indices[picked]))
        """[2, edges]: the two ends of each on which it is counted."""
        self._edges_per_agent = once.size / graph.agents
        self._hop = hop
        # [2, edges, M]: hops until each end has it.
        near = hops(graph, self.edges.ravel()).reshape(2, picked.size, graph.agents)
        kept = sampled(graph, names, capacity)
        # Nobody passes on what boards have no room for; its author tells it to its neighbours.
        passed_on = np.isfinite(near) & (kept | (near == 0))
        mine = np.array([names[a] < names[b] for a, b in self.edges.T.tolist()], np.bool_)
        # The end that goes on telling where both have the same news.
        tells = np.stack((mine, ~mine))[:, :, None]
        both = near == near[::-1]
        self._at_first = self._delays(near, passed_on & ((near < near[::-1]) | both), rounds)
        self._later = self._delays(near, passed_on & ((near < near[::-1]) | (both & tells)), rounds)
        self._released = np.zeros(graph.agents, np.bool_)
        # After the last round: what comes too late, or never.
        self._sent = np.zeros((2, picked.size, rounds + 2), np.uint16)
        self.records = self._sent[:, :, :-1]
        """[2, edges, rounds + 1]: sent by the first end of each, and by the second."""
        self._counted_to = 0

    def release(self, agents: IntArray, rounds: IntArray) -> None:
        """These agents have released, each in its round; of one agent the earlier comes first."""
        _, first = np.unique(agents, return_index=True)
        new = np.zeros(agents.size, np.bool_)
        new[first] = ~self._released[agents[first]]
        self._released[agents] = True
        delay = self._later[agents]
        delay[new] = self._at_first[agents[new]]
        length = self._sent.shape[2]
        at = np.minimum(rounds[:, None] + delay, length - 1)
        at += np.arange(delay.shape[1]) * length
        np.add.at(self._sent.reshape(-1), at.ravel(), np.uint16(1))

    def _delays(self, near: FloatArray, sends: BoolArray, rounds: int) -> IntArray:
        """[M, 2 * edges]: rounds until an end sends a release; beyond all if never."""
        delays = np.where(sends, near * self._hop, rounds + 1).astype(np.int32)
        return np.ascontiguousarray(delays.reshape(-1, delays.shape[2]).T)

    def since_last(self, t: int, memory: float) -> Cost:
        """Per agent and round, up to round t since it was last asked for."""
        records = self.records[:, :, self._counted_to + 1 : t + 1]
        rounds = max(1, t - self._counted_to) * max(1, records.shape[1])
        self._counted_to = t
        messages = -(-records.astype(np.int64) // LARGEST_BATCH)
        size = records.sum() * (RECORD_SIZE + LENGTH_BYTES) + messages.sum() * FRAME_BYTES
        share = self._edges_per_agent / rounds
        return Cost(messages=messages.sum() * share, payload=size * share, memory=memory)
