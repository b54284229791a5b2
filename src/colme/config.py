"""Configuration from TOML or keyword arguments: validated tables, with errors that name the field.

Every `Table` turns the first thing that is wrong with it into a `ConfigError` about its own field;
the table around it puts the name of the place in front. So an error says `algorithms.0.rule`,
whatever unions and validators lie between, and nothing has to be read out of pydantic's places.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path
from typing import Any, Self, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from colme.errors import ConfigError, UnknownOption, one_of


class Table(BaseModel):
    """A table of a configuration: frozen, and no fields but its own."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_inf_nan="strings", use_attribute_docstrings=True
    )

    @model_validator(mode="wrap")
    @classmethod
    def _errors_name_the_field(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(given)
        except ValidationError as error:
            raise first_of(error, cls) from None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields replaced, validated like any other table.

        pydantic's own takes whatever it is given.
        """
        if not update:
            return super().model_copy(deep=deep)
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return validated(type(self), {**given, **update})


TableT = TypeVar("TableT", bound=Table)


def validated(kind: type[TableT], fields: Mapping[str, Any]) -> TableT:
    """Return the table with these fields, or raise a ConfigError with the first thing wrong."""
    try:
        return kind.model_validate(dict(fields))
    except ValidationError as error:
        raise first_of(error, kind) from None


def first_of(error: ValidationError, kind: type[Table]) -> ConfigError:
    """Return the first thing wrong with a table, by the name of its field."""
    first = error.errors()[0]
    # A field of this table, maybe numbers within a list; the rest are pydantic's names of types.
    place = [str(part) for n, part in enumerate(first["loc"]) if n == 0 or isinstance(part, int)]
    field = ".".join(place)
    match first["type"]:
        case "missing":
            return ConfigError(field, None, "it to be given")
        case "extra_forbidden":
            return unknown_field(field, list(kind.model_fields))
        case "value_error" if isinstance(inner := first["ctx"]["error"], ConfigError):
            inner.field = ".".join([*place, inner.field])
            return inner
        case other:
            words = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
            return ConfigError(field, first["input"], _IN_WORDS.get(other, words))


_IN_WORDS = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false"),
    "string_type": "text",
    "list_type": "a list",
}


def unknown_field(name: str, known: list[str]) -> ConfigError:
    """Return the error about a field that no table has, which may be a slip."""
    return ConfigError(name, f"a field called {name!r}", one_of(name, sorted(known)))


@dataclass(frozen=True, slots=True)
class KindBy:
    """Annotates a union of tables that a field, `tag`, tells apart.

    A name alone stands for a table with nothing else in it; a table without a tag is of the default
    kind. An option of another kind is an error that lists those of the chosen one.
    """

    tag: str
    default: str | None = None

    def __get_pydantic_core_schema__(self, union: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        kinds = {get_args(one.model_fields[self.tag].annotation)[0]: one for one in get_args(union)}
        return core_schema.no_info_before_validator_function(
            lambda value: self.pick(kinds, value), handler(union)
        )

    def pick(self, kinds: Mapping[str, type[Table]], value: Any) -> Any:
        """Return the table that a name or fields stand for; a table as it is."""
        if isinstance(value, Table):
            return value
        if not isinstance(value, str | Mapping):
            raise ValueError(f"a table, or one of {', '.join(kinds)}")
        given = {self.tag: value} if isinstance(value, str) else value
        fields = {self.tag: self.default} | {k: v for k, v in given.items() if v is not None}
        name = fields[self.tag]
        if name not in kinds:
            raise ConfigError(self.tag, name, one_of(str(name), list(kinds)))
        _require_options_of(kinds, name, self.tag, fields)
        return validated(kinds[name], fields)


def _require_options_of(
    kinds: Mapping[str, type[Table]], name: str, tag: str, fields: Mapping[str, Any]
) -> None:
    """Refuse an option that the chosen kind does not have."""
    own = kinds[name].model_fields
    if kinds[name].model_config.get("extra") == "allow":
        return
    every = {option for kind in kinds.values() for option in kind.model_fields}
    for option in fields:
        if option in every and option not in own:
            raise UnknownOption(option, name, sorted({*own} - {tag, "name"}))
        if option not in own:
            raise unknown_field(option, list(every))


def plain(value: Any) -> Any:
    """Return arrays, ranges and numbers of numpy as the lists and numbers of tables."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(one) for one in value]
    # numpy and pandas have it in common; that of a number is a number.
    return value.tolist() if hasattr(value, "tolist") else value


def as_json(value: Any, *, infinity: str | None = None) -> Any:
    """Return a value as JSON has it, which has neither NaN, which is null, nor infinity."""
    if isinstance(value, dict):
        return {name: as_json(one, infinity=infinity) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(one, infinity=infinity) for one in value]
    if isinstance(value, float) and not isfinite(value):
        return infinity if value == inf else None
    return value


def read_toml(field: str, path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; `field` names it in errors."""
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise ConfigError(field, str(path), f"a TOML file to read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(field, str(path), f"valid TOML ({error})") from None
