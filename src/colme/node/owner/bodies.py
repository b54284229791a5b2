"""Samples as they come over HTTP: as JSON or as lines; all are numbers, or none is taken."""

import json
from math import isfinite

from colme.errors import SampleError


def json_of(body: bytes) -> list[object]:
    """Of a number, a list or an object with `samples`."""
    try:
        content = json.loads(body.decode())
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, dict) and content.keys() == {"samples"}:
        content = content["samples"]
    elif isinstance(content, int | float):
        content = [content]
    if not isinstance(content, list):
        expected = 'a number, a list of numbers or {"samples": [numbers]} in JSON'
        raise SampleError("body", "something else", expected)
    return content


def lines_of(body: bytes) -> list[object]:
    """A value a line."""
    try:
        text = body.decode().rstrip()
    except UnicodeDecodeError:
        raise SampleError("body", "something else", "text, one number a line") from None
    return [_as_number(line) for line in text.split("\n")] if text else []


def _as_number(line: str) -> object:
    try:
        return float(line.replace("_", "x"))  # Python's 1_000 is nobody else's number
    except ValueError:
        return line


def numbers(values: list[object]) -> list[float]:
    """All of them, or a SampleError that names the first bad one and never quotes it."""
    if not values:
        raise SampleError("samples", "none", "one number or more")
    return [_number(value, place) for place, value in enumerate(values)]


def _number(value: object, place: int) -> float:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            return float(value)
    except OverflowError:  # a whole number that no float holds
        pass
    raise SampleError(f"samples[{place}]", type(value).__name__, "a finite number")
