"""A decision rule that no table can hold, asked edge by edge, lane by lane, in every round."""

from collections.abc import Sequence

import numpy as np

from colme.rules.decision import DecisionRule
from colme.rules.release import Profile, Release
from colme.sim.engines.measure import Array, FloatArray
from colme.sim.kernel import WORD, Edges, RunningMeans


class Judge:
    """Writes what the rule accepts into the words that the kernel reads.

    Slow: a call for each edge, run and round. docs/own.md has how slow.
    """

    def __init__(
        self,
        rule: DecisionRule,
        profiles: Sequence[Sequence[Profile]],
        edges: Edges,
        given: Array,
        centre: float,
    ) -> None:
        """`profiles[run]` are the agents', and `given[:, run]` are the words to write."""
        self._rule = rule
        self._profiles = profiles
        self._given = given
        self._centre = centre
        self._rows = [
            (w, [(a, int(b)) for b in edges.indices[e : min(e + WORD, edges.indptr[a + 1])]])
            for a in range(edges.indptr.size - 1)
            for w, e in zip(
                range(edges.words[a], edges.words[a + 1]),
                range(edges.indptr[a], edges.indptr[a + 1], WORD),
                strict=True,
            )
        ]

    def decide(self, t: int, stream: RunningMeans, scale: FloatArray) -> None:
        """For round t, in all runs. Agents have their numbers for names."""
        held = (t - 1) % len(stream.data)
        # A rule of one's own may look at more than differences: it is shown the means themselves.
        x = stream.data[held] + scale[:, None] * stream.noise[held] + self._centre
        facts = {
            profile: (profile.released_variance(t, t), self._rule.parameter(profile, t, t))
            for profile in {one for profiles in self._profiles for one in profiles}
        }
        for lane, profiles in enumerate(self._profiles):
            releases = [
                Release(count=t, mean=float(mean), variance=facts[one][0], beta=facts[one][1])
                for mean, one in zip(x[:, lane].tolist(), profiles, strict=True)
            ]
            for w, row in self._rows:
                word = 0
                for a, b in row:
                    accepted = self._rule.accepts(str(b), releases[a], releases[b])
                    word = word + word + bool(accepted)
                self._given[w, lane] = np.uint32(word).view(np.int32)
