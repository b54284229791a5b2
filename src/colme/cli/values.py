"""Values on the command line that are more than a number."""

from colme.errors import ConfigError


def words(text: str) -> list[str]:
    """A comma-separated list."""
    return [part.strip() for part in text.split(",")]


def whole_numbers(option: str, text: str) -> list[int]:
    """A comma-separated list of whole numbers."""
    try:
        return [int(part) for part in words(text)]
    except ValueError:
        raise ConfigError(option, text, "whole numbers separated by commas") from None


def numbers(option: str, text: str) -> list[float]:
    """A comma-separated list of numbers."""
    try:
        return [float(part) for part in words(text)]
    except ValueError:
        raise ConfigError(
            option, text, "numbers separated by commas, such as 0.2,0.4,0.8"
        ) from None
