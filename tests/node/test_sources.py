"""Sources: every sample once and none twice, from lines, growing files, standard input, made up."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from errno import EIO
from io import FileIO
from pathlib import Path
from threading import Thread, current_thread
from typing import BinaryIO

import numpy as np
import pytest

from colme.errors import ConfigError, SampleError
from colme.node import config
from colme.node.samples import feeds
from colme.node.samples.feeds import Feed, StdinFeed, Synthetic, make_feed, make_noise
from colme.node.samples.lines import LONGEST_LINE, SampleReader
from colme.node.state import is_seal
from colme.privacy.mechanism import SecureLaplace, SeededLaplace
from support.refusing import refused
from support.stored import SETTINGS
from support.taker import Enough, Taker
from support.waiting import until


def source_of(
    path: Path, taker: Taker, *, marks: Mapping[str, int], column: str | None = None
) -> Feed:
    spec = config.FileSource(kind="file", path=path, column=column, poll=0.001)
    source = make_feed(spec, marks=marks, refused=taker.refuse)
    assert source is not None
    return source


def follow(
    path: Path, until: int, *, column: str | None = None, marks: Mapping[str, int] | None = None
) -> Taker:
    """Tail a file up to a mark, as a node that starts with these marks."""
    taker = Taker(until=until, marks=dict(marks or {}))
    source = source_of(path, taker, marks=taker.marks, column=column)
    with pytest.raises(Enough):
        asyncio.run(asyncio.wait_for(source.run(taker.take), timeout=60))
    return taker


def places(taker: Taker) -> dict[str, int]:
    """How far each file has been read, by the marks that a node stores."""
    return {name: mark for name, mark in taker.marks.items() if not is_seal(name)}


def test_a_file_is_resumed_at_its_mark_and_every_sample_taken_once(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"1\n2\nx\n3")
    first = follow(path, 6)
    assert first.values == [1, 2]
    assert places(first) == {f"file:{path}": 6}
    assert first.refused == [("not a number", 3)]
    with path.open("ab") as file:
        file.write(b"3\n4\ny\n")
    second = follow(path, 13, marks=first.marks)
    assert second.values == [33, 4]
    assert second.refused == [("not a number", 6)]
    with path.open("ab") as file:
        file.write(b"5\n")
    assert follow(path, 15, marks=second.marks).values == [5]


def test_the_format_is_read_again_when_a_file_is_resumed(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"\nday,price\nmon,1\n")
    first = follow(path, 17, column="price")
    with path.open("ab") as file:
        file.write(b"tue,2\n")
    assert follow(path, 23, column="price", marks=first.marks).values == [2]

    path = tmp_path / "objects"
    path.write_bytes(b'{broken\n{"price": 2}\n')
    first = follow(path, 21, column="price")
    with path.open("ab") as file:
        file.write(b'{"price": 3}\n')
    assert follow(path, 34, column="price", marks=first.marks).values == [3]


async def test_lines_are_read_as_they_are_written_and_only_when_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data"
    taker = Taker()
    source = source_of(path, taker, marks={})
    find, looks = feeds.regular_file, 0
    followed: list[BinaryIO] = []

    def look(path: Path) -> BinaryIO:
        nonlocal looks
        looks += 1
        followed.append(find(path))
        return followed[-1]

    monkeypatch.setattr(feeds, "regular_file", look)

    task = asyncio.create_task(source.run(taker.take))
    await until(lambda: looks > 5)  # It looks for the file many times, and says so once.
    for piece, taken in ((b"1", []), (b"2\n3", [12]), (b"4\n", [12, 34])):
        with path.open("ab") as file:
            file.write(piece)
        await until(lambda: followed and followed[0].tell() == path.stat().st_size)
        await until(lambda wanted=taken: taker.values == wanted)  # type: ignore[misc]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert taker.refused == [("file not there yet", 0)]
    assert taker.values == [12, 34]


def refusal_after(path: Path, change: str) -> str:
    """What a node says that has read a file to its end, and then this happens to it."""
    taker = Taker()
    source = source_of(path, taker, marks={})

    async def take(values: Sequence[float], marks: Mapping[str, int]) -> None:
        """The feed waits for it, so nothing reads while the file changes."""
        await taker.take(values, marks)
        if change == "shrink":
            os.truncate(path, 2)
        elif change == "write anew":
            with path.open("r+b") as file:  # The newest first, as an export may have them.
                file.write(b"5\n4\n3\n2\n1\n")
        elif change == "write anew, as long":
            with path.open("r+b") as file:
                file.write(b"4\n3\n2\n")
        elif change == "replace":
            other = path.with_name("other")
            other.write_bytes(path.read_bytes() + b"4\n")
            other.replace(path)
        elif change == "folder":
            path.parent.rename(path.parent.with_name("elsewhere"))
            path.parent.write_bytes(b"no folder")
        else:
            path.unlink()

    with pytest.raises(SampleError) as caught:
        asyncio.run(asyncio.wait_for(source.run(take), timeout=60))
    assert taker.values == [1, 2, 3]
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("shrink", "shorter"),
        ("replace", "another file"),
        ("remove", "gone"),
        ("write anew", "other lines"),
        ("write anew, as long", "other lines"),
    ],
)
def test_a_file_that_is_not_the_same_any_more_is_not_read_on(
    tmp_path: Path, change: str, text: str
) -> None:
    """Noising a sample twice leaks it: what might come a second time is refused."""
    path = tmp_path / "data"
    path.write_bytes(b"1\n2\n3\n")
    refusal = refusal_after(path, change)
    assert text in refusal
    assert "twice" in refusal
    assert "new file name" in refusal


def test_a_file_whose_folder_is_none_any_more_is_not_read_on(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "data"
    path.parent.mkdir()
    path.write_bytes(b"1\n2\n3\n")
    assert "which can't be found (Not a directory)" in refusal_after(path, "folder")


@pytest.mark.parametrize("mark", [0, 2])
def test_a_disk_that_can_not_be_read_stops_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: int
) -> None:
    """Both where it begins and where it goes on."""

    class Broken(FileIO):
        def read(self, _size: int | None = -1, /) -> bytes:
            raise OSError(EIO, os.strerror(EIO))

    path = tmp_path / "data"
    path.write_bytes(b"1\n2\n3\n")
    monkeypatch.setattr(feeds, "regular_file", lambda path: Broken(path))
    taker, why = stopped(path, {f"file:{path}": mark})
    assert why.startswith("source.path")
    assert taker.values == []


@pytest.mark.parametrize(("content", "text"), [(b"1\n2\n", "shorter"), (b"1\n22222\n", "other")])
def test_a_file_that_changed_between_two_runs_is_not_read(
    tmp_path: Path, content: bytes, text: str
) -> None:
    path = tmp_path / "data"
    path.write_bytes(content)
    taker, why = stopped(path, {f"file:{path}": 6})
    assert text in why
    assert taker.batches == 0


def stopped(path: Path, marks: Mapping[str, int], column: str | None = None) -> tuple[Taker, str]:
    """A node that starts with these marks, and why its source stops."""
    taker = Taker(marks=dict(marks))
    source = source_of(path, taker, marks=marks, column=column)
    with pytest.raises(SampleError) as caught:
        asyncio.run(asyncio.wait_for(source.run(taker.take), timeout=60))
    return taker, str(caught.value)


@pytest.mark.parametrize("rows", [3, 9_000])
def test_a_file_that_was_written_anew_between_two_runs_is_not_read(
    tmp_path: Path, rows: int
) -> None:
    """However far from its mark the difference is: all that was read is compared."""
    path = tmp_path / "data"
    content = b"".join(b"%d\n" % (1000 + row) for row in range(rows))
    path.write_bytes(content)
    marks = follow(path, len(content)).marks
    path.write_bytes(b"9" + content[1:] + b"7\n")
    for _ in range(2):
        taker, why = stopped(path, marks)
        assert "other lines than before" in why
        assert taker.batches == 0
    path.write_bytes(content + b"7\n")
    assert follow(path, len(content) + 2, marks=marks).values == [7]


def test_what_was_there_before_is_taken_as_it_is_once(tmp_path: Path) -> None:
    """An earlier version stored how far it had read, and so does whoever skips the first lines. A
    digest of another place than that says nothing of it."""
    path = tmp_path / "data"
    path.write_bytes(b"1\n2\n")
    other = {f"file:{path}": 4, f"seal of file:{path}": 2 << 64}
    for before in ({f"file:{path}": 4}, other):
        path.write_bytes(b"1\n2\n")
        first = follow(path, 4, marks=before)
        assert first.values == []
        path.write_bytes(b"3\n2\n1\n")
        assert "other lines" in stopped(path, first.marks)[1]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_column_without_numbers_stops_the_source_and_its_file_stays_unread(
    tmp_path: Path, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The column is put right, and the same rows are read: nothing was stored of them before."""
    if not at_once:
        monkeypatch.setattr(feeds, "CHUNK", 5)
    path = tmp_path / "data"
    rows = [f"{number},mon" for number in range(30)]
    content = "\n".join(["price,day", *rows, ""])
    path.write_text(content)
    taker, why = stopped(path, {}, column="day")
    assert "whose first 20 rows are no samples" in why
    assert "a number in the column 'day': correct source.column" in why
    assert "mon" not in why
    assert (taker.batches, taker.marks) == (0, {})
    assert follow(path, len(content), column="price").values == list(range(30))


def test_some_rows_without_numbers_do_not_stop_a_source(tmp_path: Path) -> None:
    """Neither at the beginning nor later, where a sensor may fail for long."""
    path = tmp_path / "data"
    content = b"-\n" * 19 + b"1\n" + b"-\n" * 50 + b"2\n"
    path.write_bytes(content)
    first = follow(path, len(content))
    assert first.values == [1, 2]
    more = b"-\n" * 50 + b"3\n"
    path.write_bytes(content + more)
    assert follow(path, len(content + more), marks=first.marks).values == [3]


def test_only_aregular_file_is_followed(tmp_path: Path) -> None:
    """To open a pipe would hold up the whole node."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        source = source_of(path, Taker(), marks={})
        with pytest.raises(ConfigError, match="a regular file"):
            asyncio.run(source.run(Taker().take))


def test_a_relative_path_and_the_same_path_in_full_share_a_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").write_bytes(b"1\n")
    monkeypatch.chdir(tmp_path)
    taker = follow(Path("..", tmp_path.name, "data"), 2)
    assert places(taker) == {f"file:{tmp_path / 'data'}": 2}


SYNTHETIC = config.SyntheticSource(kind="synthetic", mean=0.4, sigma=0.1, seed=7, per_round=20_000)


def test_made_up_samples_have_the_mean_the_variance_and_the_range() -> None:
    """Uniform: within sigma sqrt 3 of the mean. Standard errors: of the mean sigma / sqrt n, of the
    variance sigma^2 sqrt(0.8 / n), as a uniform distribution's fourth moment is 1.8 sigma^4."""
    samples = np.array(Synthetic(SYNTHETIC).samples(3))
    assert samples.shape == (20_000,)
    assert abs(samples - 0.4).max() <= 0.1 * 3**0.5
    assert abs(samples.mean() - 0.4) < 4 * 0.1 / 20_000**0.5
    assert abs(samples.var() - 0.01) < 4 * 0.01 * (0.8 / 20_000) ** 0.5


def test_made_up_samples_depend_on_the_seed_and_the_round_alone() -> None:
    spec = SYNTHETIC.model_copy(update={"per_round": 2})
    source = Synthetic(spec)
    first, second = source.samples(1), source.samples(2)
    assert Synthetic(spec).samples(2) == second
    assert not set(first) & set(second)
    assert Synthetic(spec.model_copy(update={"seed": 8})).samples(1) != first
    assert Synthetic(spec.model_copy(update={"per_round": 0})).samples(1) == []


def test_noise_is_repeatable_for_made_up_data_that_asks_for_it_and_nowhere_else() -> None:
    seeded = SYNTHETIC.model_copy(update={"noise_seed": 5})
    again = SeededLaplace(5)
    noise = make_noise(seeded, SETTINGS)
    assert [noise(10) for _ in range(20)] == [again(10) for _ in range(20)]
    others: list[config.Source] = [
        SYNTHETIC,
        config.HttpSource(kind="http"),
        config.StdinSource(kind="stdin"),
        config.FileSource(kind="file", path=Path("data")),
    ]
    for spec in others:
        assert isinstance(make_noise(spec, SETTINGS), SecureLaplace)


def test_samples_by_http_and_made_up_ones_have_nothing_to_run() -> None:
    for spec in (config.HttpSource(kind="http"), SYNTHETIC):
        assert make_feed(spec, marks={}, refused=Taker().refuse) is None


def test_a_pipe_is_read_as_data_arrive_and_others_run_meanwhile() -> None:
    reading, writing = os.pipe()
    taker = Taker()
    source = StdinFeed(SampleReader(None, taker.refuse), reading)

    async def talk() -> None:
        arrived = asyncio.Event()

        async def take(values: Sequence[float], marks: Mapping[str, int]) -> None:
            await taker.take(values, marks)
            arrived.set()

        task = asyncio.create_task(source.run(take))
        for number in (b"1\n", b"2\nx\n", b"3\n"):
            os.write(writing, number)
            await asyncio.wait_for(arrived.wait(), timeout=60)
            arrived.clear()
        os.write(writing, b"4")
        os.close(writing)
        await asyncio.wait_for(task, timeout=60)

    try:
        asyncio.run(talk())
    finally:
        os.close(reading)
    assert taker.values == [1, 2, 3, 4]
    assert taker.batches == 4
    assert taker.marks == {}
    assert taker.refused == [("not a number", 3)]


async def test_waiting_for_a_silent_pipe_can_be_cancelled() -> None:
    reading, writing = os.pipe()
    source = StdinFeed(SampleReader(None, Taker().refuse), reading)
    task = asyncio.create_task(source.run(Taker().take))
    await asyncio.sleep(0)
    task.cancel()
    try:
        with pytest.raises(asyncio.CancelledError):
            await task
        assert os.get_blocking(reading)
        assert not asyncio.get_running_loop().remove_reader(reading)
    finally:
        os.close(reading)
        os.close(writing)


PROGRAM = """
import asyncio, json, sys
from colme.node import config
from colme.node.samples.feeds import make_feed

taken = []
async def take(values, marks):
    taken.extend(values)

spec = config.StdinSource(kind="stdin", column="price")
source = make_feed(spec, marks={}, refused=lambda reason, number: None)
asyncio.run(source.run(take))
print(json.dumps(taken))
"""


@pytest.mark.parametrize("kind", ["pipe", "file", "nothing"])
def test_standard_input_of_a_real_process(tmp_path: Path, kind: str) -> None:
    data = tmp_path / "data"
    data.write_bytes(b"day,price\nmon,1\ntue,2.5\n")
    with data.open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            stdin={"pipe": None, "file": file, "nothing": subprocess.DEVNULL}[kind],
            input=data.read_bytes() if kind == "pipe" else None,
            stdout=subprocess.PIPE,
            timeout=120,
            check=True,
        )
    assert json.loads(done.stdout) == ([] if kind == "nothing" else [1, 2.5])


def test_a_closed_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with refused(ConfigError, "source.kind", seen="stdin, which is closed"):
        make_feed(config.StdinSource(kind="stdin"), marks={}, refused=Taker().refuse)


@dataclass
class Read:
    """What came of a stream."""

    values: list[float] = field(default_factory=list)
    refused: list[tuple[str, int]] = field(default_factory=list)

    def refuse(self, reason: str, line_number: int) -> None:
        self.refused.append((reason, line_number))


def read(content: bytes, column: str | None = None) -> Read:
    """What comes of a finished stream, in pieces of all sizes alike."""
    results = []
    for piece in (len(content) or 1, 7, 1):
        result = Read()
        reader = SampleReader(column, result.refuse)
        for start in range(0, len(content), piece):
            for batch in reader.feed(content[start : start + piece]):
                result.values += batch.values
        for batch in reader.finish():
            result.values += batch.values
        results.append(result)
    assert results[0] == results[1] == results[2]
    return results[0]


def test_plain_numbers() -> None:
    result = read(b"\xef\xbb\xbf1\n-2.5\r\n\n  3e-2 \n.5\n7")
    assert result.values == [1, -2.5, 0.03, 0.5, 7]
    assert result.refused == []


def test_what_is_no_plain_number_is_refused_by_reason_and_line() -> None:
    lines = [b"1", b"abc", b"nan", b"-inf", b"1e999", b"", b"1,2", b'{"a": 1}', b"1_0", b"\xff"]
    result = read(b"\n".join([*lines, b"true", b"0x10", b"2"]))
    assert result.values == [1, 2]
    assert result.refused == [
        ("not a number", 2),
        ("not finite", 3),
        ("not finite", 4),
        ("not finite", 5),
        ("not a number", 7),
        ("not a number", 8),
        ("not a number", 9),
        ("not UTF-8", 10),
        ("not a number", 11),
        ("not a number", 12),
    ]


def test_a_column_of_csv() -> None:
    result = read(b'\n"the day", price \n"2026-01-01, noon",1.5\n\n"say ""x""","2"\r\n', "price")
    assert result.values == [1.5, 2]
    assert result.refused == []


def test_rows_that_do_not_fit_the_header_are_refused() -> None:
    result = read(b'a,price\n1,2\n5\n1,2,3\n1,x\n1,\n"1,2\n1,"2"3\n{"price": 1}\n1,4\n', "price")
    assert result.values == [2, 4]
    assert result.refused == [
        ("not as many fields as the header", 3),
        ("not as many fields as the header", 4),
        ("not a number", 5),
        ("not a number", 6),
        ("not CSV", 7),
        ("not CSV", 8),
        ("not as many fields as the header", 9),
    ]


@pytest.mark.parametrize("first", [b"day,prize", b"price,price", b"0.25,0.5", b'"price'])
def test_a_header_without_the_column_stops_the_source(first: bytes) -> None:
    """Else every row would be refused and counted as read; and the first line may be data."""
    with refused(ConfigError, "source.column", seen="price") as caught:
        read(first + b"\n1,2\n", "price")
    assert first.decode().strip('"') not in str(caught.value).replace("'price'", "")


def test_a_key_of_json_objects() -> None:
    result = read(b'{"price": 1, "x": [2]}\n  {"price": 2.5}\n\n{"price": "3"}\n', "price")
    assert result.values == [1, 2.5, 3]
    assert result.refused == []


def test_objects_without_a_number_there_are_refused() -> None:
    values = ["true", "null", "[1]", '"x"', "NaN", "-Infinity", "1e999", "9" * 5000]
    lines = [f'{{"price": {value}}}' for value in values]
    lines += ['{"prize": 1}', '{"price": 1', "[1]", "price", '{"x":' + "[" * 50_000]
    result = read("\n".join([*lines, '{"price": 1}']).encode(), "price")
    assert result.values == [1]
    assert [reason for reason, _ in result.refused] == (
        ["not a number"] * 4
        + ["not finite"] * 4
        + ["no column 'price'", "not JSON", "not a JSON object", "not JSON", "not JSON"]
    )
    assert [number for _, number in result.refused] == list(range(1, 14))


def test_a_line_too_long_is_refused_and_never_held() -> None:
    result = Read()
    reader = SampleReader(None, result.refuse)
    whole = b"1\n" + b"9" * (10 * LONGEST_LINE) + b"\n2\n"
    sizes = []
    for start in range(0, len(whole), 1000):
        for batch in reader.feed(whole[start : start + 1000]):
            result.values += batch.values
            sizes.append(batch.size)
        assert len(reader._unfinished) <= LONGEST_LINE
    assert result.values == [1, 2]
    assert result.refused == [("line too long", 2)]
    assert sum(sizes) == len(whole)


def test_the_longest_line_is_read() -> None:
    result = read(b"0" * (LONGEST_LINE - 1) + b"5\n" + b"0" * LONGEST_LINE + b"5\n")
    assert result.values == [5]
    assert result.refused == [("line too long", 2)]


def test_nothing_of_a_refused_line_is_told() -> None:
    secret = "314159"
    for column, lines in {
        None: [f"x{secret}", f"{secret},{secret}", f"{secret * 60}e{secret}", f"\udcff{secret}"],
        "price": [f'{{"price": "x{secret}"}}', f'{{"{secret}": 1}}', f'{{"price": {secret}'],
    }.items():
        content = "\n".join(lines).encode(errors="surrogateescape")
        result = read(content, column)
        assert len(result.refused) == len(lines)
        assert secret not in str(result.refused)
    result = read(f'price,x\n"{secret}\n{secret}\n{secret}x,1\n'.encode(), "price")
    assert len(result.refused) == 3
    assert secret not in str(result.refused)


@pytest.mark.parametrize("mark", [0, 2])
def test_a_file_is_read_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: int
) -> None:
    """A disk may let a reader wait, where it begins and where it goes on: the node must go on."""
    readers: set[Thread] = set()

    class Watched(FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            readers.add(current_thread())
            return super().read(size)

    def opened(path: Path) -> FileIO:
        readers.add(current_thread())
        return Watched(path)

    path = tmp_path / "data"
    path.write_bytes(b"1\n2\n3\n")
    monkeypatch.setattr(feeds, "regular_file", opened)
    assert follow(path, 6, marks={f"file:{path}": mark}).values == [1, 2, 3][mark // 2 :]
    assert readers
    assert current_thread() not in readers
