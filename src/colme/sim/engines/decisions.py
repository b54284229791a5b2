"""Decision rules in the form that the kernel needs.

A rule whose thresholds follow from public facts (counts, variances) is a table over rounds: one
for all edges (`threshold_table`), or one for each edge if profiles differ (`EdgeThresholds`). A
rule that looks at the released means (`probe` finds that out beforehand), or that has no threshold,
is asked in Python, edge by edge (`PythonRule`), which takes a thousand times as long.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from colme.errors import ConfigError
from colme.rules.decision import RULES, DecisionRule, ThresholdRule
from colme.rules.release import Profile, Release
from colme.sim.engines.engine import FloatArray
from colme.sim.kernel.arrays import WORD, Array, Edges, RunningMeans, at_most


class LooksAtMeans(Exception):  # noqa: N818 (it says what the rule does)
    """A threshold that depends on the released means: no table over rounds can hold it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unseen:
    """A release of which only what is public beforehand may be looked at."""

    count: int
    variance: Any
    beta: Any

    @property
    def mean(self) -> float:
        raise LooksAtMeans


def threshold_table(rule: ThresholdRule, profile: Profile, rounds: int) -> FloatArray:
    """z(1), z(2), ...: the rule's threshold for a pair of equals, with one sample a round."""
    releases = (_release(rule, profile, t) for t in range(1, rounds + 1))
    return np.array([rule.threshold(one, one) for one in releases])


def _release(rule: ThresholdRule, profile: Profile, t: int) -> Release:
    facts: Any = _Unseen(
        count=t,
        variance=profile.released_variance(t, t),
        beta=rule.parameter(profile, t, t),
    )
    return cast(Release, facts)  # all of a release but its mean


PROBED = 20
"""Different profiles whose pairs are tried beforehand."""

AHEAD, FACTS = 1024, 2_000_000
"""Rounds for which public facts about releases are computed at a time, and how many in all."""


def probe(rule: ThresholdRule, profiles: Iterable[Profile]) -> None:
    """Raise LooksAtMeans if the rule looks at them where the two ends differ."""
    kinds = list(dict.fromkeys(profiles))[:PROBED]
    for t in (1, 2, 10, 100, 10_000):
        releases = [_release(rule, profile, t) for profile in kinds]
        for mine in releases:
            for theirs in releases:
                rule.threshold(mine, theirs)


class EdgeThresholds:
    """The thresholds of edges between agents with profiles of their own, a few rounds at a time.

    `profiles[c]` are those of the agents of class c, or one that all of them share; `ends` are the
    agents of each edge. `z`, real [E, rows, classes^2], gets those of round t at (t - 1) % rows,
    such that distance < z is the decision. If all share one profile, E is 1.
    """

    def __init__(
        self,
        rule: ThresholdRule,
        profiles: Sequence[Sequence[Profile]],
        ends: tuple[Array, Array],
        z: Array,
    ) -> None:
        self._rule, self._z = rule, z
        self._kinds = list(dict.fromkeys(one for of_class in profiles for one in of_class))
        number = {profile: kind for kind, profile in enumerate(self._kinds)}
        kind_of = np.array([[number[one] for one in of_class] for of_class in profiles])
        if kind_of.shape[1] == 1:
            ends = np.zeros(1, int), np.zeros(1, int)
        mine, theirs = (kind_of[:, end].T for end in ends)  # [E, classes]
        pairs = np.stack(np.broadcast_arrays(mine[:, :, None], theirs[:, None, :]), axis=-1)
        # Rules are symmetric, so the two orders of a pair are one.
        pairs = np.sort(pairs.reshape(-1, 2), axis=1)
        self._pairs, pair_of = np.unique(pairs, axis=0, return_inverse=True)
        self._pair_of = pair_of.reshape(len(z), -1)
        self._ahead = max(1, min(AHEAD, FACTS // len(self._kinds)))
        self._known_from = -self._ahead
        self._known: FloatArray = np.empty(0)

    def fill(self, first: int, last: int) -> None:
        """Compute the thresholds of rounds first..last, no more than there are rows."""
        for t in range(first, last + 1):
            z = self._of_pairs(t)
            z = at_most(z, self._z.dtype) if self._rule.inclusive else z
            self._z[:, (t - 1) % self._z.shape[1]] = z[self._pair_of]

    def _of_pairs(self, t: int) -> FloatArray:
        mine, theirs = self._pairs.T
        # A rule of the package takes arrays as well as numbers.
        if type(self._rule) in RULES.values():
            variance, beta = self._facts(t)
            one: Any = _Unseen(count=t, variance=variance[mine], beta=beta[mine])
            other: Any = _Unseen(count=t, variance=variance[theirs], beta=beta[theirs])
            return np.broadcast_to(self._rule.threshold(one, other), mine.shape)
        # One by one: what a custom rule does with arrays is not known.
        releases = [_release(self._rule, profile, t) for profile in self._kinds]
        pairs = zip(mine.tolist(), theirs.tolist(), strict=True)
        try:
            return np.array([self._rule.threshold(releases[a], releases[b]) for a, b in pairs])
        except LooksAtMeans:
            expected = "one that looks at the means of most pairs, or of none"
            raise ConfigError("rule", type(self._rule).__name__, expected) from None

    def _facts(self, t: int) -> tuple[FloatArray, FloatArray]:
        """Variance and parameter of a release of t samples, of each kind."""
        if not 0 <= t - self._known_from < self._ahead:
            self._known_from = t
            n: Any = np.arange(t, t + self._ahead, dtype=np.float64)
            self._known = np.array(
                [
                    (profile.released_variance(n, n), self._rule.parameter(profile, n, n))
                    for profile in self._kinds
                ]
            )
        variance, beta = self._known[:, :, t - self._known_from].T
        return variance, beta


class PythonRule:
    """A rule that no table can hold: writes what it accepts into the words that the kernel reads.

    Slow: a call for each edge, run and round. docs/own.md says how slow.
    """

    def __init__(
        self,
        rule: DecisionRule,
        profiles: Sequence[Sequence[Profile]],
        edges: Edges,
        given: Array,
        centre: float,
    ) -> None:
        """`profiles[run]` are those that agents report; `given[:, run]` are the words to write."""
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
        """Decide about all edges in round t, in all runs. Agents are named by their numbers."""
        held = (t - 1) % len(stream.data)
        # A custom rule may look at more than differences: it is shown the means themselves.
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
