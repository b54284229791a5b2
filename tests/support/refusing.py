"""Errors by type and field: tests check what was refused, not the words that say so."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

from colme.errors import ColmeError

E = TypeVar("E", bound=ColmeError)


@contextmanager
def refused(
    kind: type[E], field: str | None = None, *, words: str = "", **attributes: object
) -> Iterator[pytest.ExceptionInfo[E]]:
    """Expect an error of this type about this field, with these attributes (`seen`, `reason`).

    `words` are a part of its text, for errors that people are to understand.
    """
    with pytest.raises(kind) as caught:
        yield caught
    expected = attributes if field is None else {"field": field, **attributes}
    assert {name: getattr(caught.value, name) for name in expected} == expected, caught.value
    assert words in str(caught.value)
