"""An agent's state as plain data and back. The state's own type hints are the format.

A stored state outlives the version that wrote it: `upgrades` brings it up to this one.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints

from colme.errors import InvalidValue, SnapshotError
from colme.protocol.events import Part
from colme.protocol.settings import Settings
from colme.protocol.stream import Stream
from colme.protocol.upgrades import VERSION, upgraded


@dataclass(frozen=True, slots=True)
class Restored:
    """What a whole snapshot holds."""

    stream: Stream
    exchange: Any


def dump(settings: Settings, parts: Mapping[Part, Any]) -> dict[str, Any]:
    """Plain data: dicts, lists, strings and numbers that JSON keeps exactly."""
    return {
        "version": VERSION,
        **_whose(settings),
        **{part.value: _plain(state) for part, state in parts.items()},
    }


def load(data: Mapping[str, Any], settings: Settings, *, exchange: type) -> Restored:
    """The parts that `dump` wrote, for the same agent.

    And for the same bounds, since sums are kept in steps of their lattice, and the same epsilon:
    another would be promised for samples that have been noised under this one. Where records are
    signed, for the same key: it says where blocks end and so what their noise weighs.
    """
    data = _upgraded(data)
    name, stored = settings.algorithm.name, data.get("algorithm")
    # A state of 0.1.0 may name none.
    if stored != name and not (stored is None and name in OF_ROUNDS):
        remedy = "; `Agent.switched` goes on with relay" if stored in (None, *OF_ROUNDS) else ""
        raise SnapshotError("algorithm", stored or "none named", repr(name) + remedy)
    stream = _stream_for(settings, data)
    heard = data.get(Part.EXCHANGE)
    if heard is None and not _required(exchange):
        heard = {}  # It may be lost: others have it too.
    return Restored(stream, _typed(exchange, heard, Part.EXCHANGE, exact=False))


def stream_of_rounds(data: Mapping[str, Any], settings: Settings) -> Stream:
    """The samples of a state that was stored in rounds, for an agent with other settings.

    Its name, bounds, epsilon and squares must be the same: what has had its noise has had it under
    these. What was exchanged in rounds is left behind.
    """
    data = _upgraded(data)
    stored = data.get("algorithm")
    if stored is not None and stored not in OF_ROUNDS:
        raise SnapshotError("algorithm", stored, f"one in rounds: {' or '.join(OF_ROUNDS)}")
    return _stream_for(settings, data)


RETIRED = "tracking"
"""An algorithm in rounds of earlier versions. Its states go on with relay."""
OF_ROUNDS = ("paper", RETIRED)
"""The algorithms whose states ran in rounds."""


def _upgraded(data: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        # Not the content: it has exact sums in it, which no error may show.
        expected = "a mapping with version, name, bounds and parts"
        raise SnapshotError("snapshot", type(data).__name__, expected)
    return upgraded(data)


def _stream_for(settings: Settings, data: Mapping[str, Any]) -> Stream:
    """The stream of a state, if it was stored under the privacy parameters of these settings."""
    for field, mine in _whose(settings).items():
        seen = data.get(field)
        if field == "algorithm" or (field == "epsilon" and seen is None):
            continue  # 0.1.0 did not say which epsilon: it is that of whoever opens it.
        if field == "origin" and data.get("algorithm") in (None, *OF_ROUNDS):
            continue  # In rounds nothing is signed.
        if seen != mine:
            raise SnapshotError(field, seen, repr(mine))
    # Nothing in the stream takes a default: a sample could then be noised twice, or not at all.
    stream: Stream = _typed(Stream, data.get(Part.STREAM), Part.STREAM, exact=True)
    squares = settings.algorithm.release_squares
    if stream.blocks and stream.with_squares != squares:
        # Squares of blocks that were noised without them would go out with no noise.
        expected = f"{stream.with_squares}, as in the blocks released so far"
        raise SnapshotError("release_squares", squares, expected)
    return stream


def _whose(settings: Settings) -> dict[str, object]:
    """What a state was made under, and is good for."""
    epsilon = settings.profile.epsilon
    head: dict[str, object] = {
        "name": settings.name,
        "bounds": list(settings.profile.bounds),
        "epsilon": epsilon if isfinite(epsilon) else str(epsilon),  # JSON has no infinity
        "algorithm": settings.algorithm.name,
    }
    return head | {"origin": settings.origin} if settings.algorithm.signs else head


def _plain(value: Any) -> Any:
    kind: type = type(value)
    if kind in _ATOMS:
        return value
    names = _field_names(kind)
    if names is not None:
        return {name: _plain(getattr(value, name)) for name in names}
    if kind is dict:
        return {key: _plain(item) for key, item in value.items()}
    return value.value if isinstance(value, Enum) else value


_ATOMS = frozenset({bool, int, float, str, NoneType})


@cache
def _field_names(kind: type) -> tuple[str, ...] | None:
    """Of a dataclass; a state is dumped every round, so they are looked up once."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None


_hints = cache(get_type_hints)


@cache
def _required(kind: type) -> frozenset[str]:
    """The fields of a dataclass that have no default."""
    return frozenset(
        field.name
        for field in fields(kind)
        if field.default is MISSING and field.default_factory is MISSING
    )


def _typed(kind: Any, value: Any, path: str, *, exact: bool) -> Any:
    """`value` as `kind`, or an error that names the path to what does not fit.

    Unless `exact`, a field that is absent takes its default.
    """
    if isinstance(kind, UnionType):
        (kind,) = (option for option in get_args(kind) if option is not NoneType)
        return None if value is None else _typed(kind, value, path, exact=exact)
    if get_origin(kind) is dict:
        _require(isinstance(value, dict), path, value, "a mapping")
        item = get_args(kind)[1]
        return {
            key: _typed(item, entry, f"{path}.{key}", exact=exact) for key, entry in value.items()
        }
    if is_dataclass(kind):
        return _of_fields(cast(type, kind), value, path, exact=exact)
    if issubclass(kind, Enum):
        options = [option.value for option in kind]
        _require(value in options, path, value, f"one of {options}")
        return kind(value)
    if kind is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        _require(number and isfinite(value), path, value, "a finite number")
        return float(value)
    _require(type(value) is kind, path, value, f"of type {kind.__name__}")
    return value


def _of_fields(kind: type, value: Any, path: str, *, exact: bool) -> Any:
    hints = _hints(kind)
    names = value.keys() if isinstance(value, dict) else set()
    needed = hints.keys() if exact else _required(kind)
    _require(
        isinstance(value, dict) and needed <= names <= hints.keys(),
        path,
        value,
        f"a mapping with {', '.join(hints)}",
    )
    parts = {key: _typed(hints[key], value[key], f"{path}.{key}", exact=exact) for key in names}
    try:
        return kind(**parts)
    except InvalidValue as error:
        raise SnapshotError(f"{path}.{error.field}", error.seen, error.expected) from error


def _require(condition: bool, path: str, seen: object, expected: str) -> None:
    if not condition:
        # A stream and whatever holds it have exact sums in them, which no error may show.
        private = path.startswith(Part.STREAM) or isinstance(seen, dict | list)
        raise SnapshotError(path, type(seen).__name__ if private else seen, expected)
