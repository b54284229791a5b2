"""An agent's state as plain data and back. The state's own type hints are the format."""

from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints

from colme.errors import InvalidValue, SnapshotError
from colme.protocol.state import Peer, State

VERSION = 3


def dump(state: State, *, name: str, bounds: tuple[float, float]) -> dict[str, Any]:
    """Plain data: dicts, lists, strings and numbers that JSON keeps exactly."""
    return {"version": VERSION, "name": name, "bounds": list(bounds), "state": _plain(state)}


def load(
    data: Mapping[str, Any], *, name: str, bounds: tuple[float, float], neighbours: Collection[str]
) -> State:
    """The state that `dump` wrote, for the same agent: neighbours may have come and gone.

    And for the same bounds: sums are kept in steps of their lattice.
    """
    if not isinstance(data, Mapping):
        raise SnapshotError("snapshot", data, "a mapping with version, name, bounds and state")
    for field, expected in (("version", VERSION), ("name", name), ("bounds", list(bounds))):
        if data.get(field) != expected:
            raise SnapshotError(field, data.get(field), repr(expected))
    state: State = _typed(State, data.get("state"), "state")
    state.peers = {peer: state.peers.get(peer, Peer()) for peer in neighbours}
    return state


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


def _typed(kind: Any, value: Any, path: str) -> Any:
    """`value` as `kind`, or an error that names the path to what does not fit."""
    if isinstance(kind, UnionType):
        (kind,) = (option for option in get_args(kind) if option is not NoneType)
        return None if value is None else _typed(kind, value, path)
    if get_origin(kind) is dict:
        _require(isinstance(value, dict), path, value, "a mapping")
        item = get_args(kind)[1]
        return {key: _typed(item, entry, f"{path}.{key}") for key, entry in value.items()}
    if is_dataclass(kind):
        hints = _hints(cast(type, kind))
        _require(
            isinstance(value, dict) and value.keys() == hints.keys(),
            path,
            value,
            f"a mapping with {', '.join(hints)}",
        )
        parts = {key: _typed(hint, value[key], f"{path}.{key}") for key, hint in hints.items()}
        try:
            return kind(**parts)  # type: ignore[operator]  # a dataclass type, not an instance
        except InvalidValue as error:
            raise SnapshotError(f"{path}.{error.field}", error.seen, error.expected) from error
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


def _require(condition: bool, path: str, seen: object, expected: str) -> None:
    if not condition:
        # A stream and whatever holds it have exact sums in them, which no error may show.
        private = path.startswith("state.stream") or isinstance(seen, dict | list)
        raise SnapshotError(path, type(seen).__name__ if private else seen, expected)
