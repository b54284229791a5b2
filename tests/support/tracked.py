"""What an agent that tracks is told."""

from colme.protocol.rounds.tracking import Tracking
from colme.protocol.settings import Settings
from colme.rules.release import Profile


def tracking(
    name: str, neighbours: tuple[str, ...], profile: Profile, *, release_squares: bool = False
) -> Settings:
    """Its variance is known, unless squares are released."""
    algorithm = Tracking(release_squares=release_squares)
    return Settings(name=name, neighbours=neighbours, profile=profile, algorithm=algorithm)
