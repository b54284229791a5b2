"""Things of a user's own, by name: `module:attribute` in a configuration, and back."""

import importlib
import sys
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

from colme.errors import ConfigError
from colme.rules.decision import RULES, DecisionRule, theta_from

OBJECT = "object"
"""The key of the name in a table that also has the fields."""


def is_own(text: object) -> bool:
    """Whether it names something of the user's own."""
    return isinstance(text, str) and ":" in text


def search_in(folder: Path) -> None:
    """Look for modules there too: beside the file that names them."""
    # At the end: a folder of scenarios must not shadow an installed module.
    place = str(folder.absolute())
    if place not in sys.path:
        sys.path.append(place)


def load(field: str, text: str) -> Any:
    """What `module:attribute` names."""
    module, _, attribute = text.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in attribute.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, ValueError) as error:
        expected = f"module:attribute of a module that can be imported here ({error})"
        raise ConfigError(field, text, expected) from None
    return found


def rule_from(value: Any, options: Mapping[str, Any]) -> DecisionRule:
    """A decision rule of the user's own: an object, or its name with the fields to make it with."""
    if isinstance(value, Mapping):
        options = {name: one for name, one in {**value, **options}.items() if name != OBJECT}
        value = value.get(OBJECT, value)
    # As `plain_rule` wrote it, and as a configuration has it for the rules of the package.
    options = {
        name: theta_from(one) if name == "theta" and isinstance(one, Mapping) else one
        for name, one in options.items()
    }
    found = load("rule", value) if is_own(value) else value
    if not isinstance(found, DecisionRule) and callable(found):
        try:
            found, options = found(**options), {}
        except TypeError as error:
            raise ConfigError("rule", value, f"other fields ({error})") from None
    if not isinstance(found, DecisionRule):
        raise ConfigError("rule", value, "a colme.DecisionRule, or module:attribute of one")
    for option, seen in options.items():
        raise ConfigError(option, seen, f"no options: {value} is a rule with its fields already")
    return found


def text_of(thing: Any) -> str:
    """`module:attribute` of an object that has a name of its own, or of its class."""
    if isinstance(thing, str):
        return thing
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}:{named.__qualname__}"


def plain_rule(rule: DecisionRule) -> dict[str, Any]:
    """Its identity: who it is and its fields. `rule_from` makes the same again."""
    return {OBJECT: text_of(type(rule)), **fields_of(rule)}


def fields_of(rule: DecisionRule) -> dict[str, Any]:
    """The values that make this rule what it is, as plain data."""
    if is_dataclass(rule):
        values = {field.name: getattr(rule, field.name) for field in fields(rule)}
    else:
        slots = [name for kind in type(rule).__mro__ for name in getattr(kind, "__slots__", ())]
        values = {name: getattr(rule, name) for name in slots if hasattr(rule, name)}
        values |= getattr(rule, "__dict__", {})
    return {name: _plain(value) for name, value in sorted(values.items())}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, set | frozenset):
        # In an order of their own: that of a set differs from process to process.
        return sorted((_plain(one) for one in value), key=repr)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if callable(value):
        return text_of(value)
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


def rule_name(rule: DecisionRule) -> str:
    """In a word: its name in configurations, or its class."""
    names = {kind: name for name, kind in RULES.items()}
    return names.get(type(rule), type(rule).__name__)
