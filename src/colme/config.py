"""Configuration from TOML or keyword arguments: validated, with errors that name the field."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from colme.errors import ConfigError, UnknownOption, one_of


class Table(BaseModel):
    """A table of a configuration: frozen, and no fields but its own."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_inf_nan="strings", use_attribute_docstrings=True
    )


TableT = TypeVar("TableT", bound=Table)


def of_kind(tag: str, default: str) -> Callable[[Any], Any]:
    """For tables told apart by `tag`: a name alone is one, and none is the default."""

    def with_tag(value: Any) -> Any:
        if isinstance(value, str):
            value = {tag: value}
        if isinstance(value, dict):
            return {tag: default} | {key: one for key, one in value.items() if one is not None}
        return value

    return with_tag


def plain(value: Any) -> Any:
    """Arrays, ranges and numbers of numpy as the lists and numbers that tables are made of."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(one) for one in value]
    # numpy and pandas have it in common; that of a number is a number.
    return value.tolist() if hasattr(value, "tolist") else value


def read_toml(field: str, path: Path) -> dict[str, Any]:
    """The content of a TOML file; `field` names it in errors."""
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise ConfigError(field, str(path), f"a TOML file to read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(field, str(path), f"valid TOML ({error})") from None


def validated(kind: type[TableT], fields: Mapping[str, Any]) -> TableT:
    """The table with these fields, or a ConfigError with the first thing wrong."""
    with errors_named(kind):
        return kind.model_validate(dict(fields))


@contextmanager
def errors_named(kind: type[Table]) -> Iterator[None]:
    """What is wrong with a table comes as a ConfigError: the first, with the name of its field."""
    try:
        yield
    except ValidationError as error:
        raise _first_of(error, kind) from None


def _first_of(error: ValidationError, kind: type[Table]) -> ConfigError:
    first = error.errors()[0]
    place, tables = _place_of(first["loc"], kind)
    field = ".".join(map(str, place))
    match first["type"]:
        case "missing":
            return ConfigError(field, None, "it to be given")
        case "extra_forbidden":
            return _unknown(field, str(place[-1]), tables)
        case "union_tag_invalid":
            context = first["ctx"]
            known = [one.strip("'") for one in str(context["expected_tags"]).split(", ")]
            name, tag = context["discriminator"].strip("'"), str(context["tag"])
            return ConfigError(f"{field}.{name}", tag, one_of(tag, known))
        case "value_error" if isinstance(told := first["ctx"]["error"], ConfigError):
            told.field = f"{field}.{told.field}" if field else told.field
            return told
        case _:
            return ConfigError(field, first["input"], _expected(first))


_IN_WORDS = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false"),
    "string_type": "text",
    "list_type": "a list",
}


def _expected(first: ErrorDetails) -> str:
    if first["type"] in _IN_WORDS:
        return _IN_WORDS[first["type"]]
    return first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")


def _unknown(field: str, name: str, tables: "_Tables") -> ConfigError:
    """A field that is not there: another kind of the same thing may have it, or it is a slip."""
    own = sorted(tables.chosen.model_fields)
    if tables.tag is not None:
        if name in {one for table in tables.union for one in table.model_fields}:
            return UnknownOption(field, tables.tag, _options_of(tables.chosen))
        own = sorted({*own, *(one for table in tables.union for one in table.model_fields)})
    return ConfigError(field, f"a field called {name!r}", one_of(name, own))


def _options_of(table: type[Table]) -> list[str]:
    """Its fields, but for the one that says which table it is, and what it is called."""
    return sorted(
        name
        for name, field in table.model_fields.items()
        if name != "name" and len(literals(field.annotation)) != 1
    )


def literals(annotation: Any) -> tuple[Any, ...]:
    """The values that it allows, where it lists them."""
    return get_args(annotation) if get_origin(annotation) is Literal else ()


class _Tables:
    """The innermost table on the way to a place; with its tag where it is one of a union."""

    def __init__(self, chosen: type[Table]) -> None:
        self.chosen = chosen
        self.union: list[type[Table]] = [chosen]
        self.tag: str | None = None


def _place_of(
    loc: tuple[int | str, ...], kind: type[Table]
) -> tuple[tuple[int | str, ...], _Tables]:
    """The place as its author knows it, without pydantic's tags of unions."""
    place: list[int | str] = []
    found = _Tables(kind)
    for part in loc:
        field = found.chosen.model_fields.get(str(part))
        if field is not None:
            place.append(part)
            inside = list(tables_in(field.annotation))
            if inside:
                found = _Tables(inside[0])
                found.union = inside
        elif len(found.union) > 1 and found.tag is None and isinstance(part, str):
            found.chosen = _tagged(found.union, part)
            found.tag = part
        else:
            place.append(part)
    return tuple(place), found


def _tagged(tables: list[type[Table]], tag: str) -> type[Table]:
    """The one with a field that says this and nothing else; the last one takes whatever is left."""
    for table in tables:
        for field in table.model_fields.values():
            if tag in literals(field.annotation):
                return table
    return tables[-1]


def tables_in(annotation: Any) -> Iterator[type[Table]]:
    """The kinds of tables that a field may be."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        yield annotation
    elif get_args(annotation) or isinstance(annotation, UnionType):
        for option in get_args(annotation):
            yield from tables_in(option)
