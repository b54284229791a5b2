"""Values on the command line that are more than a number."""

from colme.errors import ConfigError


def numbers(option: str, text: str) -> list[float]:
    """A comma-separated list of numbers."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(
            option, text, "numbers separated by commas, such as 0.2,0.4,0.8"
        ) from None
