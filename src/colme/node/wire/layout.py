"""A dataclass and the message of `neighbour.proto` that has its name, field by field.

A field stands in the dataclass and in the proto, and nowhere else: `X | None` is a field that may
be absent, a dataclass within is a message within.
"""

from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any, get_args, get_type_hints

from google.protobuf.message import Message as Proto


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How values of a dataclass are written and read: on the path of every message."""

    made: type
    names: tuple[str, ...]
    """Of its fields, the same as in the proto."""
    within: tuple[tuple[str, "Layout"], ...]
    """Fields that are dataclasses themselves."""
    optional: tuple[str, ...]
    """Fields that may be None."""

    def written(self, value: object) -> dict[str, Any]:
        """As a proto's constructor takes it, to which None is a field left out."""
        content = {name: getattr(value, name) for name in self.names}
        for name, layout in self.within:
            if content[name] is not None:
                content[name] = layout.written(content[name])
        return content

    def read(self, proto: Proto) -> Any:
        """The value in it, checked by the dataclass itself."""
        content = {name: getattr(proto, name) for name in self.names}
        # An absent field reads as 0 or an empty message: that it is absent has to be asked for.
        for name in self.optional:
            if not proto.HasField(name):
                content[name] = None
        for name, layout in self.within:
            if content[name] is not None:
                content[name] = layout.read(content[name])
        return self.made(**content)


@cache
def layout_of(made: type) -> Layout:
    """The layout of a dataclass, looked up once: its fields do not change."""
    hints = get_type_hints(made)
    kinds = {one.name: get_args(hints[one.name]) or (hints[one.name],) for one in fields(made)}
    return Layout(
        made=made,
        names=tuple(kinds),
        within=tuple(
            (name, layout_of(kind))
            for name in kinds
            for kind in kinds[name]
            if isinstance(kind, type) and is_dataclass(kind)
        ),
        optional=tuple(name for name in kinds if NoneType in kinds[name]),
    )
