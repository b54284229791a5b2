"""What a scenario can say, in words: every field with its default, and every kind of table."""

from collections.abc import Iterator
from typing import Any

from pydantic.fields import FieldInfo

from colme.configuration import Table, literals, tables_in
from colme.sim.scenario.scenario import Scenario


def described() -> Iterator[tuple[str, str, str]]:
    """Lines of a table: a field, its default, what it is.

    The kinds that a field may be follow it, one a line, and their own fields after each.
    """
    for name, field in Scenario.model_fields.items():
        yield name, _default(field), _words(field.description)
        shared: set[str] = set()
        for kind in tables_in(field.annotation):
            options = dict(kind.model_fields)
            tag = next((one for one in options if literals(options[one].annotation)), None)
            if tag is not None:
                (value,) = literals(options.pop(tag).annotation)
                yield f"  {name}.{tag} = {value}", "", _words(kind.__doc__)
            for option, inner in options.items():
                # What several kinds have is told at the first of them.
                if option not in shared or inner.description is None:
                    yield f"    {name}.{option}", _default(inner), _words(inner.description)
                    shared.add(option)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be given"
    value: Any = field.get_default(call_default_factory=True)
    if isinstance(value, list) and value and isinstance(value[0], Table):
        value = value[0]
    if isinstance(value, Table):
        return next(
            str(getattr(value, one))
            for one, inner in type(value).model_fields.items()
            if literals(inner.annotation)
        )
    return "" if value is None else str(value)


def _words(text: str | None) -> str:
    return " ".join((text or "").split())
