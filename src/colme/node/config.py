"""A node's configuration: one validated object, from TOML or from Python."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from inspect import signature
from ipaddress import ip_address
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from colme import plugins
from colme.algorithms import ALGORITHMS, ALIASES, named, resolved
from colme.config import KindBy, Table, read_toml, validated
from colme.errors import ConfigError, UnknownOption, one_of
from colme.protocol.algorithm import Algorithm
from colme.protocol.board.identity import BoardIdentity
from colme.protocol.rounds.paper import UNTUNED, Paper
from colme.protocol.settings import Settings
from colme.protocol.snapshot import RETIRED
from colme.rules.decision import RULES, DecisionRule, Oracle, Situation
from colme.rules.release import Profile

Seconds = Annotated[float, Field(gt=0, lt=inf)]


_HOST_AND_PORT = re.compile(
    r"(\[(?P<ipv6>[0-9a-f:.%\w]+)\]|(?P<host>[^\s:/\[\]]+)):(?P<port>\d{1,5})", re.ASCII | re.I
)


def split_address(text: str) -> tuple[str, int]:
    """Host and port of `host:port`; an IPv6 host stands in brackets."""
    parts = _HOST_AND_PORT.fullmatch(text)
    if parts is None or int(parts["port"]) >= 2**16:
        raise ValueError("Input should be host:port, such as 127.0.0.1:7400 or [::1]:7400")
    return parts["ipv6"] or parts["host"], int(parts["port"])


def _address(text: str) -> str:
    split_address(text)
    return text


def is_loopback(host: str) -> bool:
    """Whether a name or an address is this machine's, for itself alone."""
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _loopback(text: str) -> str:
    host, _ = split_address(text)
    if not is_loopback(host):
        raise ValueError("Input should be an address of this machine alone, such as 127.0.0.1:7401")
    return text


Address = Annotated[str, AfterValidator(_address)]
LoopbackAddress = Annotated[str, AfterValidator(_loopback)]


def _algorithm(name: str) -> str:
    try:
        meant = resolved(name)
    except ConfigError as error:
        raise ValueError(error.expected) from None  # the table names the field
    if meant not in ALGORITHMS:
        raise ValueError(one_of(name, [*ALIASES, *ALGORITHMS]))
    return meant


class Agreed(Table):
    """What all neighbours must have alike; compared when two of them meet.

    Whatever else stands in the table is an option of the algorithm: for `paper` its `rule`, and the
    fields of that rule. Which there are depends on what was chosen: `decision_rule` checks them.
    """

    model_config = ConfigDict(extra="allow")

    bounds: tuple[float, float]
    algorithm: Annotated[str, AfterValidator(_algorithm)] = resolved("recommended")
    """Never an alias: one that moves must not part neighbours of two versions."""
    rounds: Literal["clock", "free"] = "clock"
    interval: Seconds = 60.0
    start: AwareDatetime = datetime(2026, 1, 1, tzinfo=UTC)

    @model_validator(mode="before")
    @classmethod
    def _as_in_the_first_version(cls, table: Any) -> Any:
        """0.1.0 had two algorithms, called them rules, and recommended one that was retired."""
        if not isinstance(table, Mapping) or "algorithm" in table:
            return table
        names = {"recommended": RETIRED, "paper": Paper.name}
        rule = table.get("rule")
        if not isinstance(rule, str) or rule not in names:
            return table
        others = {key: value for key, value in table.items() if key != "rule"}
        return {**others, "algorithm": names[rule]}

    @property
    def in_rounds(self) -> bool:
        """Whether neighbours exchange in rounds, which they have to agree on."""
        return self.algorithm == Paper.name

    def require_no_rounds(self) -> None:
        """An algorithm without rounds has nothing to agree on about them.

        A configuration that speaks of rounds and names no algorithm was written when they were what
        was meant: it is not taken for another one.
        """
        if self.in_rounds:
            return
        for field in ("rounds", "interval", "start"):
            if field in self.model_fields_set:
                expected = (
                    f"none: {self.algorithm!r}, which is meant where no algorithm is named, has no "
                    "rounds, and pace.interval is each node's own. Remove the field. A state that "
                    "ran in rounds goes on after `colme state change`"
                )
                raise ConfigError(field, str(getattr(self, field)), expected)

    @property
    def decision_rule(self) -> DecisionRule | None:
        """Who looks alike, where the algorithm leaves that open; or what is wrong with it."""
        options = dict(self.model_extra or {})
        if self.algorithm != Paper.name:
            for option in options:
                raise _unknown(option, self.algorithm)
            return None
        name = options.pop("rule", plugins.rule_name(UNTUNED))
        if isinstance(name, str) and not plugins.is_own(name):
            return _built_in(name, options)
        return _without_the_truth(plugins.rule_from(name, options))

    def algorithm_for(self, privacy: "Privacy") -> Algorithm:
        """The algorithm itself; a variance that is not known is learned from released squares."""
        rule = self.decision_rule
        if rule is not None:
            return named(self.algorithm, rule=rule)
        return named(self.algorithm, release_squares=privacy.sigma2 is None)


NOBODYS = Situation(agents=2, degree=1, epsilon=1)
"""Nothing is tuned to a node's own situation: its neighbours have other degrees and epsilons, and
would decide by other rules. What would follow from it has to be given, and is compared."""

_RULES = {name: kind for name, kind in RULES.items() if kind is not Oracle}
_OPTIONS = {"rule", *(option for kind in _RULES.values() for option in signature(kind).parameters)}


def _built_in(name: str, options: dict[str, Any]) -> DecisionRule:
    """The rule of this name, the same for whoever has the same options."""
    if name not in RULES:
        expected = f"one of {', '.join(_RULES)}, or module:attribute of your own"
        raise ConfigError("rule", name, expected)
    if name not in _RULES:
        raise _omniscient(name)
    for option in options:
        if option not in _OPTIONS:
            raise _unknown(option, name)
    kind, theta = _RULES[name], options.get("theta", {})
    if theta == "paper":
        expected = "a table with scale and exponent: the paper's differ by degree and epsilon"
        raise ConfigError("theta", theta, expected)
    if isinstance(UNTUNED, kind) and isinstance(theta, Mapping):
        options["theta"] = plugins.fields_of(UNTUNED)["theta"] | dict(theta)
    for option in kind.suited(NOBODYS):
        if option not in options:
            raise ConfigError(option, "nothing", f"{name!r} to have one, alike at all neighbours")
    return kind.tuned(name, NOBODYS, options)


def _without_the_truth(rule: DecisionRule) -> DecisionRule:
    if isinstance(rule, Oracle):
        raise _omniscient(plugins.rule_name(rule))
    return rule


def _omniscient(name: str) -> ConfigError:
    expected = f"a rule that does not know the truth, which no node does: {', '.join(_RULES)}"
    return ConfigError("rule", name, expected)


def _unknown(option: str, kind: str) -> ConfigError:
    """Some other rule or algorithm has it, or it is a slip."""
    if option in _OPTIONS:
        return UnknownOption(option, kind, [])
    known = sorted({*Agreed.model_fields, *_OPTIONS})
    return ConfigError(option, f"a field called {option!r}", one_of(option, known))


class Privacy(Table):
    """This node's promise to its owner: pure epsilon for each sample (event level, replace-one)."""

    epsilon: float = Field(1.0, gt=0)
    sigma2: float | None = Field(None, ge=0)


class Timing(Table):
    """How often there is news, how long silent neighbours are waited for, where a trial ends."""

    interval: Seconds = 10.0
    """Of relay: news goes out at most once in so many seconds."""
    deadline: Seconds | None = None
    last_round: int | None = Field(None, ge=1)


Origin = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


class Origins(Table):
    """Of relay: whose records are taken, beyond the neighbours' own."""

    behind: int = Field(1000, ge=0)
    """Origins that one neighbour may bring, at most."""
    roster: tuple[Origin, ...] | None = None
    """These alone, whoever brings them."""


class Neighbour(Table):
    """A neighbour is a name, an address and its certificate."""

    name: str = Field(min_length=1)
    address: Address
    certificate: Path


class StdinSource(Table):
    """One number, CSV row or JSON object a line."""

    kind: Literal["stdin"]
    column: str | None = None


class FileSource(Table):
    """A file that grows: the same lines."""

    kind: Literal["file"]
    path: Path
    column: str | None = None
    poll: Seconds = 0.5


class HttpSource(Table):
    """POST /samples of the owner's side."""

    kind: Literal["http"]


class SyntheticSource(Table):
    """Made-up uniform data for trials, so many a round; only here may noise be repeatable."""

    kind: Literal["synthetic"]
    mean: float
    sigma: float = Field(ge=0)
    seed: int = Field(ge=0)
    per_round: int = Field(1, ge=0)
    noise_seed: int | None = Field(None, ge=0)


Source = Annotated[StdinSource | FileSource | HttpSource | SyntheticSource, KindBy("kind")]


class Owner(Table):
    """The owner's side: loopback only."""

    listen: LoopbackAddress = "127.0.0.1:7401"


class Log(Table):
    """Where the log goes is for the shell to say: it is written to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "json", "text"] = "auto"


class NodeConfig(Table):
    """All that a node is told."""

    identity: Path
    state: Path
    listen: Address
    agreed: Agreed
    privacy: Privacy = Privacy()
    pace: Timing = Timing()
    origins: Origins = Origins()
    neighbours: tuple[Neighbour, ...] = ()
    source: Source = HttpSource(kind="http")
    owner: Annotated[Owner | None, BeforeValidator(lambda value: value or None)] = Owner()
    """`owner = false` leaves it out."""
    log: Log = Log()

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [neighbour.name for neighbour in self.neighbours]
        if len(set(names)) < len(names):
            raise ValueError(f"every neighbour's name once, not {names}")
        return self

    @classmethod
    def build(cls, fields: Mapping[str, Any], *, folder: Path = Path()) -> Self:
        """From plain data; file names in it are relative to the folder."""
        config = validated(cls, fields)
        return config.model_copy(
            update={
                "identity": folder / config.identity,
                "state": folder / config.state,
                "neighbours": tuple(
                    one.model_copy(update={"certificate": folder / one.certificate})
                    for one in config.neighbours
                ),
                "source": config.source.model_copy(update={"path": folder / config.source.path})
                if isinstance(config.source, FileSource)
                else config.source,
            }
        )._checked()

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """From a TOML file; file names in it are relative to it, and modules may lie beside it."""
        path = Path(path)
        plugins.search_in(path.parent)
        return cls.build(read_toml("configuration", path), folder=path.parent)

    @property
    def deadline(self) -> float:
        """Seconds that an exchange waits: a quarter of a clock's interval at most."""
        if self.agreed.rounds == "free" or not self.agreed.in_rounds:
            return self.pace.deadline or 5.0
        return min(self.pace.deadline or 5.0, self.agreed.interval / 4)

    @property
    def profile(self) -> Profile:
        """What is public about the owner's data."""
        return Profile.bounded(
            *self.agreed.bounds, epsilon=self.privacy.epsilon, sigma2=self.privacy.sigma2
        )

    def settings(self, name: str, identity: BoardIdentity | None = None) -> Settings:
        """The agent's settings; `identity` signs what it sends beyond its neighbours."""
        return Settings(
            name=name,
            neighbours=tuple(neighbour.name for neighbour in self.neighbours),
            profile=self.profile,
            algorithm=self.agreed.algorithm_for(self.privacy),
            identity=None if self.agreed.in_rounds else identity,
        )

    def _checked(self) -> Self:
        try:
            self.agreed.algorithm_for(self.privacy)
            self.agreed.require_no_rounds()
        except ConfigError as error:
            error.field = f"agreed.{error.field}"
            raise
        try:
            self.profile  # noqa: B018 (it checks bounds, variance and epsilon together)
        except ConfigError as error:
            table = "agreed" if error.field == "bounds" else "privacy"
            raise ConfigError(f"{table}.{error.field}", error.seen, error.expected) from None
        return self
