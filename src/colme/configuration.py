"""Configuration from TOML or keyword arguments: validated, with errors that name the field."""

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from colme.errors import ConfigError


class Table(BaseModel):
    """A table of a configuration: frozen, and no fields but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


TableT = TypeVar("TableT", bound=Table)


def read_toml(field: str, path: Path) -> dict[str, Any]:
    """The content of a TOML file; `field` names it in errors."""
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise ConfigError(field, str(path), f"a TOML file to read ({error})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(field, str(path), f"valid TOML ({error})") from None


def validated(kind: type[TableT], fields: Mapping[str, Any]) -> TableT:
    """The table with these fields, or a ConfigError with the first thing wrong."""
    try:
        return kind.model_validate(dict(fields))
    except ValidationError as error:
        raise _first_of(error, kind) from None


def _first_of(error: ValidationError, kind: type[Table]) -> ConfigError:
    first = error.errors()[0]
    place = first["loc"]
    field = ".".join(map(str, place))
    if first["type"] != "extra_forbidden":
        expected = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        return ConfigError(field, first["input"], expected)
    known = sorted(_fields_at(kind, place[:-1]))
    close = difflib.get_close_matches(str(place[-1]), known, n=1)
    hint = f"{close[0]!r}, perhaps" if close else f"one of {', '.join(known)}"
    return ConfigError(field, f"a field called {place[-1]!r}", hint)


def _fields_at(kind: type[Table], place: tuple[int | str, ...]) -> list[str]:
    """The fields of the innermost table on the way to a place."""
    for part in place:
        field = kind.model_fields.get(str(part))
        if field is not None:
            kind = next(_tables_in(field.annotation), kind)
    return list(kind.model_fields)


def _tables_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, Table):
        yield annotation
    elif get_args(annotation) or isinstance(annotation, UnionType):
        for option in get_args(annotation):
            yield from _tables_in(option)
