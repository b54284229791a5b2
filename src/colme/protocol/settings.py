"""What an agent is told once."""

from dataclasses import dataclass, field
from typing import Self

from colme.errors import ConfigError
from colme.protocol.algorithm import Algorithm
from colme.protocol.board.identity import BoardIdentity, InProcess
from colme.protocol.board.record import LARGEST_NUMBER, origin_of_key
from colme.rules.release import Profile, ReleaseSchedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Its name, its neighbours, what is public about its data, and the algorithm."""

    name: str
    neighbours: tuple[str, ...]
    profile: Profile
    algorithm: Algorithm
    identity: BoardIdentity | None = field(default=None, compare=False)
    """Signs what is passed on beyond the neighbours: needed where the algorithm relays."""
    incarnation: int = 0
    """Of a new state: higher than that of any state that was lost."""

    @classmethod
    def recommended(
        cls,
        name: str,
        neighbours: tuple[str, ...],
        profile: Profile,
        *,
        release_squares: bool = True,
        identity: BoardIdentity | None = None,
    ) -> Self:
        """With the algorithm that is recommended; without squares all variances must be known."""
        from colme.algorithms import named  # it knows those that are no part of the pure machine

        return cls(
            name=name,
            neighbours=neighbours,
            profile=profile,
            algorithm=named("recommended", release_squares=release_squares),
            identity=identity,
        )

    @property
    def signs_as(self) -> BoardIdentity:
        """Who it is to those who are not its neighbours.

        Without an identity only where nothing is signed: anybody can make signatures in a name.
        """
        if self.identity is None and self.algorithm.signs:
            expected = (
                "who signs the records: an Ed25519 identity (colme.signing), or, where all agents "
                "are in one process, InProcess(name) (colme.protocol.board.identity)"
            )
            raise ConfigError("identity", "none", expected)
        return self.identity or InProcess(self.name)

    @property
    def origin(self) -> str:
        """Whose its records are, where it signs any."""
        return origin_of_key(self.signs_as.key)

    @property
    def schedule(self) -> ReleaseSchedule:
        """Where its blocks end."""
        return self.algorithm.schedule_for(self.profile, self.origin)

    def __post_init__(self) -> None:
        if not _is_name(self.name):
            raise ConfigError("name", self.name, "some text")
        # A string is a sequence of names, too: of one letter each.
        if isinstance(self.neighbours, str):
            raise ConfigError("neighbours", self.neighbours, "a list of names")
        object.__setattr__(self, "neighbours", tuple(self.neighbours))
        if not all(_is_name(peer) for peer in self.neighbours):
            raise ConfigError("neighbours", self.neighbours, "a list of names")
        if not isinstance(self.profile, Profile):
            raise ConfigError("profile", self.profile, "a Profile, as Profile.bounded makes it")
        if not isinstance(self.algorithm, Algorithm):
            raise ConfigError("algorithm", self.algorithm, "an Algorithm, such as Relay()")
        whole = type(self.incarnation) is int
        if not (whole and 0 <= self.incarnation <= LARGEST_NUMBER):
            expected = f"a whole number, 0 to {LARGEST_NUMBER}"
            raise ConfigError("incarnation", self.incarnation, expected)
        if len(set(self.neighbours)) < len(self.neighbours):
            raise ConfigError("neighbours", self.neighbours, "every name once")
        if self.name in self.neighbours:
            raise ConfigError("neighbours", self.neighbours, f"names other than {self.name!r}")


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""
