"""Marks, of how far a source has been read, are stored by names; this is what goes with a mark."""

_SEAL = "seal of "


def seal_of(mark: str) -> str:
    """The name for what the bytes before a mark were: a digest of them, not a place to go on at."""
    return f"{_SEAL}{mark}"


def is_seal(name: str) -> bool:
    """Whether it is such a name: nothing to be shown, for a digest can be guessed at."""
    return name.startswith(_SEAL)
