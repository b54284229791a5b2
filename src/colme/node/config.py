"""A node's configuration: one validated object, from TOML or from Python."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from ipaddress import ip_address
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, model_validator

from colme.configuration import Table, read_toml, validated
from colme.errors import ConfigError
from colme.protocol.rounds.paper import Paper
from colme.protocol.settings import Settings
from colme.rules.decision import Bernstein, PowerTheta
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


def _loopback(text: str) -> str:
    host, _ = split_address(text)
    try:
        local = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local:
        raise ValueError("Input should be an address of this machine alone, such as 127.0.0.1:7401")
    return text


Address = Annotated[str, AfterValidator(_address)]
LoopbackAddress = Annotated[str, AfterValidator(_loopback)]


class Theta(Table):
    """theta_t = min(2, scale / t^exponent), for the paper's rule."""

    scale: float = Field(3.0, gt=0)
    exponent: float = Field(0.2, ge=0)


class Agreed(Table):
    """What all neighbours must have alike; compared when two of them meet."""

    bounds: tuple[float, float]
    rule: Literal["recommended", "paper"] = "recommended"
    theta: Theta = Theta()
    rounds: Literal["clock", "free"] = "clock"
    interval: Seconds = 60.0
    start: AwareDatetime = datetime(2026, 1, 1, tzinfo=UTC)


class Privacy(Table):
    """This node's promise to its owner: pure epsilon for each sample (event level, replace-one)."""

    epsilon: float = Field(1.0, gt=0)
    sigma2: float | None = Field(None, ge=0)


class Pace(Table):
    """How long an exchange waits for a silent neighbour, and where a trial ends."""

    deadline: Seconds | None = None
    last_round: int | None = Field(None, ge=1)


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


Source = Annotated[
    StdinSource | FileSource | HttpSource | SyntheticSource, Field(discriminator="kind")
]


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
    pace: Pace = Pace()
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
    def load(cls, path: Path) -> Self:
        """From a TOML file; file names in it are relative to it."""
        return cls.build(read_toml("configuration", path), folder=path.parent)

    @property
    def deadline(self) -> float:
        """Seconds that an exchange waits: a quarter of a clock's interval at most."""
        if self.agreed.rounds == "free":
            return self.pace.deadline or 5.0
        return min(self.pace.deadline or 5.0, self.agreed.interval / 4)

    @property
    def profile(self) -> Profile:
        """What is public about the owner's data."""
        return Profile.bounded(
            *self.agreed.bounds, epsilon=self.privacy.epsilon, sigma2=self.privacy.sigma2
        )

    def settings(self, name: str) -> Settings:
        """The agent's settings; a variance that is not known is learned from released squares."""
        neighbours = tuple(neighbour.name for neighbour in self.neighbours)
        if self.agreed.rule == "paper":
            theta = self.agreed.theta
            paper = Paper(rule=Bernstein(PowerTheta(theta.scale, theta.exponent)))
            return Settings(name=name, neighbours=neighbours, profile=self.profile, algorithm=paper)
        return Settings.recommended(
            name, neighbours, self.profile, release_squares=self.privacy.sigma2 is None
        )

    def _checked(self) -> Self:
        try:
            self.profile  # noqa: B018 (it checks bounds, variance and epsilon together)
        except ConfigError as error:
            table = "agreed" if error.field == "bounds" else "privacy"
            raise ConfigError(f"{table}.{error.field}", error.seen, error.expected) from None
        return self
