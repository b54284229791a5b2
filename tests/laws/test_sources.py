"""What every feed of samples must meet, wherever its samples come from.

Values come in order and each exactly once; a mark only grows, and to go on from any of them gives
exactly the rest; what is no sample is told by its line and never quoted; a feed that is ended has
lost nothing that was acknowledged. To add a feed is to add a `Kind`.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest

from colme.node import config
from colme.node.samples import feeds
from colme.node.samples.feeds import CHUNK, Feed, StdinFeed, make_feed
from colme.node.samples.lines import LARGEST_PORTION, SampleReader
from colme.node.state import is_seal
from support.taker import Enough, Taker
from support.waiting import PATIENCE, until

NUMBERS = [number / 8 for number in range(2 * LARGEST_PORTION + 500)]


@dataclass(frozen=True)
class Form:
    """How a line has its number."""

    column: str | None
    head: str
    line: Callable[[object], str]

    def content(self, values: Sequence[object]) -> bytes:
        return "".join([self.head, *(f"{self.line(value)}\n" for value in values)]).encode()


FORMS = {
    "numbers": Form(None, "", str),
    "csv": Form("price", "day,price\n", "mon,{}".format),
    "json": Form("price", "", '{{"price": {}}}'.format),
}


@contextmanager
def growing_file(folder: Path, content: bytes, form: Form, taker: Taker) -> Iterator[Feed]:
    """`kind = "file"`: it says how far it has come, and goes on from the taker's marks."""
    path = folder / "data"
    path.write_bytes(content)
    spec = config.FileSource(kind="file", path=path, column=form.column, poll=0.001)
    feed = make_feed(spec, marks=taker.marks, refused=taker.refuse)
    assert feed is not None
    yield feed


@contextmanager
def pipe(_: Path, content: bytes, form: Form, taker: Taker) -> Iterator[Feed]:
    """`kind = "stdin"`, at the end of a pipe."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as filled:
        filled.write(content)  # It fits into the pipe's buffer.
    try:
        yield StdinFeed(SampleReader(form.column, taker.refuse), reading)
    finally:
        os.close(reading)


@contextmanager
def file_as_input(folder: Path, content: bytes, form: Form, taker: Taker) -> Iterator[Feed]:
    """`kind = "stdin"`, with a file for it."""
    path = folder / "data"
    path.write_bytes(content)
    with path.open("rb", buffering=0) as file:
        yield StdinFeed(SampleReader(form.column, taker.refuse), file.fileno())


Kind = Callable[[Path, bytes, Form, Taker], AbstractContextManager[Feed]]
"""A feed that finds this content, as a node that has the taker's marks starts it."""
KINDS: dict[str, Kind] = {"file": growing_file, "pipe": pipe, "file as input": file_as_input}

each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
in_pieces = pytest.mark.parametrize("piece", [7, 4096, CHUNK])


def run(
    kind: Kind, folder: Path, content: bytes, form: Form, marks: Mapping[str, int] | None = None
) -> tuple[Taker, list[tuple[list[float], dict[str, int]]]]:
    """All that a feed hands over; with the portions, each as it came."""
    taker = Taker(until=len(content) if kind is growing_file else None, marks=dict(marks or {}))
    portions: list[tuple[list[float], dict[str, int]]] = []

    async def take(values: Sequence[float], reached: Mapping[str, int]) -> None:
        portions.append((list(values), dict(reached)))
        await taker.take(values, reached)

    async def whole(feed: Feed) -> None:
        async with asyncio.timeout(PATIENCE):
            try:
                await feed.run(take)
                assert kind is not growing_file, "a file that grows has no end"
            except Enough:
                pass

    with kind(folder, content, form, taker) as feed:
        asyncio.run(whole(feed))
    return taker, portions


@in_pieces
@each_form
@each_kind
def test_values_come_in_order_and_each_once(
    kind: Kind, form: Form, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the pieces end that it is read in, and never so many at once that all must wait."""
    monkeypatch.setattr(feeds, "CHUNK", piece)
    taker, portions = run(kind, tmp_path, form.content(NUMBERS), form)
    assert taker.values == NUMBERS
    assert taker.refused == []
    assert max(len(values) for values, _ in portions) <= LARGEST_PORTION
    assert len(portions) >= len(NUMBERS) / LARGEST_PORTION


@in_pieces
@each_form
@each_kind
def test_a_mark_only_grows_and_any_of_them_is_gone_on_from(
    kind: Kind, form: Form, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is no sample is passed over as well: it must not be told of again."""
    monkeypatch.setattr(feeds, "CHUNK", piece)
    lines: list[object] = [1, 2, "x", 3, "y", "z", 4, *range(5, 60)]
    content = form.content(lines)
    whole, portions = run(kind, tmp_path, content, form)
    marks = [reached for _, reached in portions]
    if kind is not growing_file:
        assert marks == [{}] * len(marks)
        return
    places = [place for reached in marks for name, place in reached.items() if not is_seal(name)]
    assert all(before < after for before, after in pairwise(places))
    assert places[-1] == len(content)
    for number, reached in enumerate(marks[:-1], 1):
        rest, _ = run(kind, tmp_path, content, form, marks=reached)
        before = [value for values, _ in portions[:number] for value in values]
        assert before + rest.values == whole.values
        assert rest.refused == whole.refused[len(whole.refused) - len(rest.refused) :]


@each_form
@each_kind
def test_what_is_no_sample_is_told_by_its_line_and_never_quoted(
    kind: Kind, form: Form, tmp_path: Path
) -> None:
    secret = "314159"
    lines: list[object] = [1, f"x{secret}", 2, f"{secret}_{secret}", f'"{secret}', "nan", 3]
    taker, _ = run(kind, tmp_path, form.content(lines), form)
    assert taker.values == [1, 2, 3]
    header = form.head.count("\n")
    assert [number for _, number in taker.refused] == [n + header for n in (2, 4, 5, 6)]
    assert secret not in str(taker.refused)


@pytest.mark.parametrize("after", [0, 1, 2])
@each_form
@each_kind
def test_to_end_a_feed_loses_nothing_that_was_acknowledged(
    kind: Kind, form: Form, after: int, tmp_path: Path
) -> None:
    """Ended while it waits for the disk: what was stored by then is a beginning, and what is handed
    over again from its mark is the rest."""
    content, taker = form.content(NUMBERS), Taker()

    async def end(feed: Feed) -> None:
        waiting = asyncio.Event()

        async def take(values: Sequence[float], reached: Mapping[str, int]) -> None:
            if taker.batches == after:
                waiting.set()
                await asyncio.Event().wait()  # The disk never answers.
            await taker.take(values, reached)

        task = asyncio.create_task(feed.run(take))
        await until(waiting.is_set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with kind(tmp_path, content, form, taker) as feed:
        asyncio.run(end(feed))
    assert taker.batches == after
    assert taker.values == NUMBERS[: len(taker.values)]
    if kind is growing_file:
        rest, _ = run(kind, tmp_path, content, form, marks=taker.marks)
        assert taker.values + rest.values == NUMBERS


def test_every_kind_of_source_is_held_to_these_laws_or_has_no_feed() -> None:
    """Samples by HTTP and made-up ones come without a feed: `test_owner.py`, `test_fleet.py`."""
    tables = get_args(get_args(config.Source)[0])
    kinds = {get_args(table.model_fields["kind"].annotation)[0] for table in tables}
    assert kinds == {"file", "stdin"} | {"http", "synthetic"}
