"""What an agent is told once."""

from dataclasses import dataclass
from typing import Self

from colme.errors import ConfigError
from colme.protocol.algorithm import Algorithm
from colme.protocol.algorithms import named
from colme.rules.release import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Its name, its neighbours, what is public about its data, and the algorithm."""

    name: str
    neighbours: tuple[str, ...]
    profile: Profile
    algorithm: Algorithm

    @classmethod
    def recommended(
        cls,
        name: str,
        neighbours: tuple[str, ...],
        profile: Profile,
        *,
        release_squares: bool = False,
    ) -> Self:
        """With the algorithm that is recommended."""
        return cls(
            name=name,
            neighbours=neighbours,
            profile=profile,
            algorithm=named("recommended", release_squares=release_squares),
        )

    def __post_init__(self) -> None:
        if not isinstance(self.algorithm, Algorithm):
            raise ConfigError("algorithm", self.algorithm, "an Algorithm, such as Tracking()")
        if len(set(self.neighbours)) < len(self.neighbours):
            raise ConfigError("neighbours", self.neighbours, "every name once")
        if self.name in self.neighbours:
            raise ConfigError("neighbours", self.neighbours, f"names other than {self.name!r}")
