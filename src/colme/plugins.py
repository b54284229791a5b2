"""Custom rules, baselines and engines: from `module:attribute` to the object, and its identity.

The identity of a rule is its name and its fields (`plain_rule`); neighbours compare it. What a
computation depends on is more: the source of every module that defines it, too (`sources`).
"""

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from math import inf
from operator import attrgetter
from pathlib import Path
from types import FunctionType
from typing import Any
from uuid import uuid4

from colme.errors import ConfigError
from colme.rules.decision import (
    RULES,
    DecisionRule,
    PowerTheta,
    made_with,
    require_sound,
    theta_from,
)

OBJECT = "object"
"""The key of the name in a table that also has the fields."""


def is_own(text: object) -> bool:
    """Return whether it names something of the user's own."""
    return isinstance(text, str) and ":" in text


searched: list[str] = []
"""Folders given to `search_in`: a worker in another process has to search them, too."""


def search_in(folder: Path) -> None:
    """Search a folder for modules, too: the one with the file that names them."""
    # At the end: a folder of scenarios must not shadow an installed module.
    place = str(folder.absolute())
    if place not in sys.path:
        sys.path.append(place)
    if place not in searched:
        searched.append(place)


def load(field: str, text: str) -> Any:
    """Return what `module:attribute` names; `field` is the one that errors are about."""
    module, _, attribute = text.partition(":")
    try:
        imported = importlib.import_module(module)
        source_digest(module)  # before anybody edits the file
        return attrgetter(attribute)(imported)
    except Exception as error:  # whatever a module of the user's own raises while it is imported
        why = f"{type(error).__name__}: {error}"
        expected = f"module:attribute of a module that can be imported here ({why})"
        raise ConfigError(field, text, expected) from error


def sources(value: Any) -> dict[str, str]:
    """Return name and digest of the source of everything of the user's own that plain data name.

    These are the modules of each `module:attribute` among `value`'s rules, algorithms and objects,
    and those of the classes that it derives from; in a session that has no file, what was typed.
    Modules of colme and of the standard library are left out: their versions tell them apart.
    """
    found: dict[str, str] = {}
    for text in names_in(value):
        kind = _kind_of(text)
        bases = getattr(kind, "__mro__", ())
        modules = {text.partition(":")[0], *(base.__module__ for base in bases)}
        own = {name for name in modules if not _is_installed(name)}
        found |= {name: source_digest(name) for name in own}
        if any(found[name] == "" for name in own):
            found[text] = _typed_digest(kind)
    return dict(sorted(found.items()))


def names_in(value: Any, key: str = "") -> Iterator[str]:
    """Yield every `module:attribute` in plain data."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from names_in(one, name)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from names_in(one)
    elif key in ("algorithm", "rule", OBJECT) and is_own(value):
        yield value


def _kind_of(text: str) -> Any:
    """Return the class or function that a name stands for, or the class of the object."""
    module, _, attribute = text.partition(":")
    found: Any = sys.modules.get(module)
    for name in attribute.split("."):
        found = getattr(found, name, None)
    return found if isinstance(found, type | FunctionType) else type(found)


def _typed_digest(kind: Any) -> str:
    try:
        return hashlib.sha256(inspect.getsource(kind).encode()).hexdigest()
    except (OSError, TypeError):
        # Nobody knows its source, so nothing that another process computed is taken for its own.
        return f"{_PROCESS} {id(kind)}"


_PROCESS = uuid4().hex


def _is_installed(module: str) -> bool:
    return module.partition(".")[0] in {"colme", *sys.stdlib_module_names}


_DIGESTS: dict[str, tuple[object, str]] = {}
"""Digests of modules as they were imported: a file edited since is not what is executed."""


def source_digest(module: str) -> str:
    """Return the SHA-256 of the source file of an imported module; "" if it has no file."""
    imported = sys.modules[module]
    spec, digest = _DIGESTS.get(module, (None, None))
    if digest is None or spec is not imported.__spec__:  # a reload has a new spec
        file = Path(getattr(imported, "__file__", None) or "")
        digest = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
        _DIGESTS[module] = imported.__spec__, digest
    return digest


def rule_from(value: Any, options: Mapping[str, Any]) -> DecisionRule:
    """Return a custom rule, from an object, or from its name and the fields to make it with."""
    if isinstance(value, Mapping):
        options = {name: one for name, one in {**value, **options}.items() if name != OBJECT}
        value = value.get(OBJECT, value)
    found = load("rule", value) if is_own(value) else value
    if not isinstance(found, DecisionRule) and callable(found):
        found, options = _made(found, text_of(value), options), {}
    if not isinstance(found, DecisionRule):
        raise ConfigError("rule", value, "a colme.DecisionRule, or module:attribute of one")
    for option, seen in options.items():
        raise ConfigError(option, seen, f"no options: {value} is a rule with its fields already")
    require_sound(found)
    plain_rule(found)  # raises for fields by which two rules could not be told apart
    return found


def _made(kind: Callable[..., Any], text: str, options: Mapping[str, Any]) -> Any:
    return made_with(kind, text, {name: _unplain(name, one) for name, one in options.items()})


def _unplain(name: str, value: Any) -> Any:
    """Return the value of a field as `fields_of` wrote it, or as a configuration has it."""
    if isinstance(value, Mapping) and OBJECT in value:
        found = load(name, value[OBJECT])
        others = {key: one for key, one in value.items() if key != OBJECT}
        return _made(found, value[OBJECT], others) if isinstance(found, type) else found
    if name == "theta" and isinstance(value, Mapping):
        return theta_from(value)
    return tuple(value) if isinstance(value, list) else value


def text_of(thing: Any) -> str:
    """Return `module:attribute` of an object that has a name of its own, or of its class."""
    if isinstance(thing, str):
        return thing
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}:{named.__qualname__}"


def plain_rule(rule: DecisionRule) -> dict[str, Any]:
    """Return the identity of a rule: its class and fields. `rule_from` makes it again."""
    return {OBJECT: text_of(type(rule)), **fields_of(rule)}


def fields_of(rule: DecisionRule) -> dict[str, Any]:
    """Return the values that tell a rule from others of its class, as plain data."""
    return {name: _plain(name, value) for name, value in sorted(_values_of(rule).items())}


def _values_of(thing: Any) -> dict[str, Any]:
    if is_dataclass(thing):
        return {field.name: getattr(thing, field.name) for field in fields(thing)}
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    values = {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
    return values | getattr(thing, "__dict__", {})


def _plain(name: str, value: Any) -> Any:
    """Return a value as plain data. Two values that differ must not look the same."""
    match value:
        case bool() | int() | str() | None:
            return value
        case float():
            # JSON has no infinity: it goes by its name, as anything does that has one.
            return {OBJECT: "math:inf"} if value == inf else value
        case PowerTheta():
            return {"exponent": value.exponent, "scale": value.scale}
        case dict():
            return {str(key): _plain(name, one) for key, one in value.items()}
        case set() | frozenset():
            # In an order of their own: that of a set differs from process to process.
            return sorted((_plain(name, one) for one in value), key=repr)
        case list() | tuple():
            return [_plain(name, one) for one in value]
        case FunctionType() if "<" not in value.__qualname__:
            return {OBJECT: text_of(value)}
    if is_dataclass(value) and not isinstance(value, type):
        inside = {key: _plain(name, one) for key, one in _values_of(value).items()}
        return {OBJECT: text_of(type(value)), **inside}
    expected = "plain data, a dataclass or a function with a name: fields are a rule's identity"
    raise ConfigError(f"rule.{name}", value, expected)


def rule_name(rule: DecisionRule) -> str:
    """Return the name of a rule in configurations, or that of its class."""
    names = {kind: name for name, kind in RULES.items()}
    return names.get(type(rule), type(rule).__name__)
