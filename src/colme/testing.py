"""Laws for those who write their own rule, baseline or engine: `check_rule` and `check_engine`.

The package holds its own to the same laws. A check raises an AssertionError that says which law is
broken, and by what; it draws the same cases every time. `check_rule` needs the base install only,
`check_engine` the extra `sim`.

>>> from colme.rules.decision import TightBernstein
>>> check_rule(TightBernstein())
"""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from math import inf, nextafter
from random import Random
from typing import TYPE_CHECKING, Any

from colme.rules.decision import DecisionRule, ThresholdRule
from colme.rules.release import Profile, Release

if TYPE_CHECKING:
    import xarray as xr

    from colme.sim.engines.engine import Cell, Record
    from colme.sim.simulation import Prepared

CASES = 100
"""Drawn for each law of a rule."""

ROUNDS, RUNS, AGENTS = 70, 3, 12
"""Of the simulations that an engine is tried on."""


def check_rule(rule: DecisionRule) -> None:
    """Hold a decision rule to `laws_of` it.

    Parameters
    ----------
    rule
        The rule, with its fields.

    Raises
    ------
    AssertionError
        If it breaks a law: its two ends disagree, its threshold is not a finite number of at least
        0, does not vanish, or falls when the other side knows less; its parameter is too small for
        the tail bound; or it is not a frozen value.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from colme import ThresholdRule
    >>> @dataclass(frozen=True)
    ... class Fixed(ThresholdRule):
    ...     width: float = 0.1
    ...     def threshold(self, mine, theirs):
    ...         return self.width
    >>> check_rule(Fixed())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    AssertionError: Fixed(width=0.1): the threshold vanishes ...
    """
    for law in laws_of(rule):
        hold(rule, law)


def check_engine(algorithm: Any) -> None:
    """Hold a baseline, an engine or any other algorithm of a scenario to `ENGINE_LAWS`.

    Parameters
    ----------
    algorithm
        Whatever a scenario takes: a class, an object, a name or a table with options.

    Raises
    ------
    AssertionError
        If it breaks a law: something that is measured is missing, not finite or negative; or a run
        depends on where it is cut, on the runs or algorithms beside it, or not on the seed alone.
    """
    trial = EngineTrial(algorithm)
    for law in ENGINE_LAWS:
        law(trial)


def _require(holds: bool, rule: object, law: str, *seen: object) -> None:
    if not holds:
        raise AssertionError(f"{rule}: {law}; not for {', '.join(map(str, seen)) or 'this rule'}")


def _releases(cases: Random) -> Release:
    return Release(
        count=_count(cases),
        mean=cases.uniform(-10, 10),
        variance=10 ** cases.uniform(-9, 1),
        beta=cases.choice([0.0, cases.uniform(0, 10)]),
    )


def _count(cases: Random) -> int:
    return cases.choice([1, 2, 10**6, round(10 ** cases.uniform(0, 6))])


def _profile(cases: Random) -> Profile:
    low, width = cases.uniform(-100, 100), cases.uniform(0.1, 100)
    sigma2 = cases.uniform(0.01, 0.99) * width * width / 4
    epsilon = cases.choice([0.1, 1.0, 4.0, inf])
    return Profile.bounded(low, low + width, epsilon=epsilon, sigma2=sigma2)


def _release_of(rule: DecisionRule, profile: Profile, count: int) -> Release:
    return Release(
        count=count,
        mean=0.0,
        variance=profile.released_variance(count, count),
        beta=rule.parameter(profile, count, count),
    )


def both_ends_decide_alike(rule: DecisionRule, cases: Random) -> None:
    """Both ends of an edge hold the same two releases, and must come to one decision."""
    mine, theirs = _releases(cases), _releases(cases)
    alike = rule.accepts("b", mine, theirs) == rule.accepts("a", theirs, mine)
    _require(alike, rule, "both ends decide alike", mine, theirs)


def the_threshold_is_symmetric_and_not_negative(rule: ThresholdRule, cases: Random) -> None:
    """Finite, too."""
    mine, theirs = _releases(cases), _releases(cases)
    there, back = rule.threshold(mine, theirs), rule.threshold(theirs, mine)
    sound = there == back and 0 <= there < inf
    _require(sound, rule, "the threshold is symmetric, finite and at least 0", mine, theirs)


def what_is_accepted_follows_from_the_threshold(rule: ThresholdRule, cases: Random) -> None:
    """Below it everything, above it nothing, at it what `inclusive` says."""
    here = replace(_releases(cases), mean=0.0)
    there = replace(here, count=_count(cases))
    z = rule.threshold(here, there)
    expected = {z: rule.inclusive, nextafter(z, inf): False} | (
        {nextafter(z, 0): True} if z > 0 else {}
    )
    for distance, accepted in expected.items():
        other = replace(there, mean=distance)
        found = {rule.accepts("b", here, other), rule.accepts("b", other, here)}
        _require(found == {accepted}, rule, "the threshold decides", here, other)


def a_release_can_carry_its_parameter(rule: DecisionRule, cases: Random) -> None:
    """Never below what the tail bound needs, and smaller with every sample."""
    profile, count = _profile(cases), _count(cases)
    now, later = (rule.parameter(profile, n, n) for n in (count, 4 * count))
    enough = profile.tight_parameter(count) <= now * (1 + 1e-12) and later <= now
    _require(enough, rule, "the parameter holds the tail, and falls", profile, count)


def the_threshold_vanishes(rule: ThresholdRule, cases: Random) -> None:
    """Sec. III-C: classes that differ are told apart in the end."""
    profile = _profile(cases)
    early, late = (_release_of(rule, profile, 10**k) for k in (4, 14))
    vanishes = rule.threshold(late, late) < 0.01 * rule.threshold(early, early)
    _require(vanishes, rule, "the threshold vanishes as samples come", profile)


def a_noisier_release_is_not_accepted_less(rule: ThresholdRule, cases: Random) -> None:
    """Who knows less of the other accepts more."""
    one = _release_of(rule, _profile(cases), cases.randint(1, 1000))
    clear = _release_of(rule, _profile(cases), cases.randint(1, 1000))
    noisy = replace(clear, variance=2 * clear.variance, beta=2 * clear.beta)
    grows = rule.threshold(one, noisy) >= rule.threshold(one, clear)
    _require(grows, rule, "more noise never lowers the threshold", one, clear)


def a_rule_is_a_frozen_value(rule: DecisionRule, cases: Random) -> None:
    """Equal where its fields are: what neighbours compare, and what states and results keep."""
    _require(is_dataclass(rule), rule, "a rule is a frozen dataclass")
    if not is_dataclass(rule) or isinstance(rule, type):
        return
    again = type(rule)(**{field.name: getattr(rule, field.name) for field in fields(rule)})
    same = again == rule and hash(again) == hash(rule)
    _require(same, rule, "rules with equal fields are equal")
    try:
        rule.another = 1
    except (AttributeError, TypeError):
        return
    _require(False, rule, "fields of a rule can't be changed")


Law = Callable[[Any, Random], None]
"""Raises an AssertionError if a rule breaks it in a case that it draws."""

RULE_LAWS: tuple[Law, ...] = (
    both_ends_decide_alike,
    a_release_can_carry_its_parameter,
    a_rule_is_a_frozen_value,
)
THRESHOLD_LAWS: tuple[Law, ...] = (
    the_threshold_is_symmetric_and_not_negative,
    what_is_accepted_follows_from_the_threshold,
    the_threshold_vanishes,
    a_noisier_release_is_not_accepted_less,
)


def laws_of(rule: DecisionRule) -> tuple[Law, ...]:
    """Return the laws that a rule has to keep."""
    return RULE_LAWS + (THRESHOLD_LAWS if isinstance(rule, ThresholdRule) else ())


def hold(rule: DecisionRule, law: Law) -> None:
    """Try a rule in `CASES` cases of a law, the same every time."""
    # A generator for each law: another law changes nobody's cases.
    cases = Random(1)
    for _ in range(CASES):
        law(rule, cases)


class EngineTrial:
    """Small simulations of one algorithm, for the laws of engines."""

    def __init__(self, algorithm: Any) -> None:
        self.algorithm = algorithm

    def simulate(
        self, *, seed: int = 4, beside: Sequence[str] = (), dtype: str | None = "float32"
    ) -> "xr.Dataset":
        """Return the results of 32 runs; `beside` are other algorithms on the same data."""
        import numpy as np

        from colme.sim.simulation import simulate

        others = [{"algorithm": name, "name": f"{name} beside"} for name in beside]
        algorithms = [*others[:1], self.algorithm, *others[1:]]
        return simulate(
            self._scenario(seed=seed, algorithms=algorithms),
            dtype=None if dtype is None else np.dtype(dtype).type,
        )

    @cached_property
    def simulated(self) -> "xr.Dataset":
        """What others are compared with."""
        return self.simulate()

    def study(self) -> "Prepared":
        """Return what all batches share."""
        from colme.sim.simulation import Prepared

        return Prepared(self._scenario(algorithms=[self.algorithm]), 4)

    def recorded(self, runs: int = RUNS, cuts: Sequence[int] = ()) -> "dict[Cell, Record]":
        """Return what a batch records that pauses after the rounds in `cuts`."""
        batch = self.study().batch(0, runs)
        start = 1
        for stop in (*cuts, ROUNDS):
            batch.advance(start, stop)
            start = stop + 1
        return {cell: one for engine in batch.engines for cell, one in engine.measured().items()}

    def _scenario(self, **changes: Any) -> Any:
        from colme.sim.scenario import Scenario

        fields: dict[str, Any] = {
            "agents": AGENTS,
            "graph": {"degree": 4},
            "epsilon": [4.0, inf],
            "rounds": ROUNDS,
            "recorded": 6,
            "eventful": False,
            "runs": 32,
            "seed": 4,
        }
        return Scenario(**(fields | changes))


def it_records_all_that_is_measured(trial: EngineTrial) -> None:
    """For each of its cells, in every recorded round of every run."""
    import numpy as np

    from colme.sim.engines.engine import MEASURED

    study = trial.study()
    record = trial.recorded()
    _require(set(study.cells) == record.keys(), trial.algorithm, "it records every epsilon")
    for cell, measured in record.items():
        _require(measured.keys() == MEASURED.keys(), cell, "it records all that is measured")
        for name, values in measured.items():
            _require(
                values.shape == (len(study.recorded), RUNS), cell, "a row each", name, values.shape
            )
            from_the_batch = name == "alone" and bool(np.isnan(values).all())
            sound = from_the_batch or bool((np.isfinite(values) & (values >= 0)).all())
            _require(sound, cell, "what is recorded is finite and at least 0", name)
        for name in ("error", "memory"):
            _require(bool((measured[name] > 0).all()), cell, "what is recorded is above 0", name)
        _require(bool((measured["local"] <= AGENTS).all()), cell, "no more agents than there are")
        for part, whole in (
            ("missed", "within"),
            ("mixed_up", "between"),
            ("covered", "intervals"),
        ):
            held = bool((measured[part] <= measured[whole]).all())
            _require(held, cell, "a part is at most the whole", part, whole)


def it_can_be_cut_anywhere(trial: EngineTrial) -> None:
    """Chunks of rounds are a matter of speed."""
    _same(trial, "cut", trial.recorded(), trial.recorded(cuts=(1, 2, 9, 10, 50)))


def a_run_does_not_depend_on_those_beside_it(trial: EngineTrial) -> None:
    """Runs that share a batch share a graph, and nothing else."""
    many = {
        cell: {name: values[:, :2] for name, values in one.items()}
        for cell, one in trial.recorded().items()
    }
    _same(trial, "beside other runs", trial.recorded(runs=2), many)


def it_sees_the_same_data_beside_others_as_alone(trial: EngineTrial) -> None:
    """Algorithms of one scenario are compared on the same data."""
    alone = trial.simulated.drop_attrs()
    beside = trial.simulate(beside=("local", "oracle"), dtype=None).drop_attrs()
    same = alone.equals(beside.sel(algorithm=alone.algorithm.values))
    _require(same, trial.algorithm, "the same data beside others as alone")


def it_depends_on_the_seed_and_nothing_else(trial: EngineTrial) -> None:
    """The same seed gives the same bits, another one others."""
    again, other = trial.simulate(), trial.simulate(seed=5, dtype=None)
    _require(trial.simulated.identical(again), trial.algorithm, "the same seed, the same bits")
    moved = not (trial.simulated.mse.values == other.mse.values).all()
    _require(moved, trial.algorithm, "another seed, other numbers")


def double_precision_tells_the_same(trial: EngineTrial) -> None:
    """Where no decision flips by rounding, single precision is off by its rounding alone."""
    import numpy as np

    double = trial.simulate(dtype="float64")
    np.testing.assert_allclose(trial.simulated.mse, double.mse, rtol=0.02)


def _same(
    trial: EngineTrial, how: str, one: "dict[Cell, Record]", other: "dict[Cell, Record]"
) -> None:
    for cell, record in one.items():
        for name, values in record.items():
            same = bool(((values == other[cell][name]) | (values != values)).all())
            _require(same, trial.algorithm, f"the same numbers when it is {how}", cell, name)


ENGINE_LAWS: tuple[Callable[[EngineTrial], None], ...] = (
    it_records_all_that_is_measured,
    it_can_be_cut_anywhere,
    a_run_does_not_depend_on_those_beside_it,
    it_sees_the_same_data_beside_others_as_alone,
    it_depends_on_the_seed_and_nothing_else,
    double_precision_tells_the_same,
)
