"""Where a node's samples come from, and the noise that suits them."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from math import sqrt
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, Protocol, assert_never

from colme.errors import ConfigError, SampleError
from colme.network import NoiseSource
from colme.node import config
from colme.node.samples.lines import Portion, Prefix, SampleReader, TellRefused
from colme.node.state import seal_of
from colme.node.thread import CallThread
from colme.privacy.mechanism import LARGEST_SECURE_SCALE, SecureLaplace, SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.settings import Settings

CHUNK = 64 * 1024
FIRST_ROWS = 20
"""If so many at the beginning of a file are no samples, the column or the file is the wrong one."""

Take = Callable[[Sequence[float], Mapping[str, int]], Awaitable[None]]
"""Gives samples to the node and returns once they are durable, together with the places to resume
at: source key to byte offset, and what was before them."""


class Feed(Protocol):
    """A stream of samples."""

    async def run(self, take: Take) -> None:
        """Hand over samples until the stream ends or the task is cancelled."""


def make_feed(
    spec: config.Source, *, marks: Mapping[str, int], refused: TellRefused
) -> Feed | None:
    """The feed that a configuration asks for; none where samples come without one."""
    match spec:
        case config.StdinSource():
            if sys.stdin is None:
                expected = "an open standard input, or another kind of source"
                raise ConfigError("source.kind", "stdin, which is closed", expected)
            return StdinFeed(SampleReader(spec.column, refused))
        case config.FileSource():
            return FileFeed(spec, marks=marks, refused=refused)
        case config.HttpSource() | config.SyntheticSource():
            return None  # The owner's side brings them, and the rounds.
        case _:
            assert_never(spec)


def make_noise(spec: config.Source, settings: Settings) -> NoiseSource:
    """Secure noise; repeatable noise for made-up data alone, if it is asked for.

    Whatever the agent will ask of it can be drawn: else a node would take samples in, and stop for
    ever at its first release.
    """
    if isinstance(spec, config.SyntheticSource) and spec.noise_seed is not None:
        return SeededLaplace(spec.noise_seed)
    noise, scales = SecureLaplace(), Agent(settings).scales
    if max(scales) > LARGEST_SECURE_SCALE:
        epsilon = settings.profile.epsilon
        # Three digits, never rounded below what works.
        smallest = 1.005 * epsilon * max(scales) / LARGEST_SECURE_SCALE
        given = "" if len(scales) == 1 else "; less with privacy.sigma2, where it is publicly known"
        expected = f"at least {smallest:.3g}: larger noise can't be drawn exactly{given}"
        raise ConfigError("privacy.epsilon", epsilon, expected)
    noise.prepare(scales)
    return noise


class StdinFeed:
    """Lines of standard input, as they arrive."""

    def __init__(self, reader: SampleReader, descriptor: int = 0) -> None:
        self._reader = reader
        self._descriptor = descriptor

    async def run(self, take: Take) -> None:
        """Hand over samples until the input ends."""
        while chunk := await self._next_chunk():
            await _take_all(self._reader.feed(chunk), take)
        await _take_all(self._reader.finish(), take)

    async def _next_chunk(self) -> bytes:
        """What has arrived; the descriptor stays blocking, for others share a terminal."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        try:
            loop.add_reader(self._descriptor, ready.set)
        except PermissionError:
            # A regular file can't be waited for: it is always ready, but its disk may not be.
            return await asyncio.to_thread(os.read, self._descriptor, CHUNK)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._descriptor)
        return os.read(self._descriptor, CHUNK)


async def _take_all(portions: Iterable[Portion], take: Take) -> None:
    for portion in portions:
        if portion.values:
            await take(portion.values, {})


class FileFeed:
    """Complete lines of a file that grows, each exactly once."""

    def __init__(
        self, spec: config.FileSource, *, marks: Mapping[str, int], refused: TellRefused
    ) -> None:
        self._path = spec.path
        self._poll = spec.poll
        self._refused = refused
        self._column = spec.column
        self._reader = SampleReader(spec.column, refused)
        self._read_so_far = Prefix()
        self._key = mark_of(spec.path)
        self._mark = marks.get(self._key, 0)
        self._seal = marks.get(seal_of(self._key))
        self._begun = self._mark > 0
        self._file: BinaryIO | None = None

    async def run(self, take: Take) -> None:
        """Hand over the lines after the mark, and those still to come."""
        # A disk, above all one behind a network, may let a reader wait: the node goes on meanwhile.
        thread = CallThread("samples")
        try:
            await self._open(thread)
            await self._resume(thread, take)
            while True:
                chunk = await thread.reach(self._next_chunk)
                await self._hand_over(chunk, take)
                await asyncio.sleep(0 if chunk else self._poll)
        finally:
            thread.end(self._close)

    async def _hand_over(self, chunk: bytes, take: Take) -> None:
        start = self._read_so_far.size
        for portion in self._reader.feed(chunk):
            self._mark += portion.size
            self._read_so_far.add(chunk[self._read_so_far.size - start : self._mark - start])
            if not self._begun:
                if self._reader.unfit >= FIRST_ROWS:
                    raise self._no_samples()
                # Nothing is stored before the first sample: what is wrong can be put right then,
                # and is read from the beginning.
                self._begun = bool(portion.values)
            if self._begun:
                await take(portion.values, self._reached)
        self._read_so_far.add(chunk[self._read_so_far.size - start :])

    @property
    def _reached(self) -> dict[str, int]:
        return {self._key: self._mark, seal_of(self._key): self._read_so_far.seal}

    async def _open(self, thread: CallThread) -> None:
        told = False
        while self._file is None:
            try:
                await thread.reach(self._find)
            except FileNotFoundError:
                if not told:
                    self._refused("file not there yet", 0)
                    told = True
                await asyncio.sleep(self._poll)

    async def _resume(self, thread: CallThread, take: Take) -> None:
        while self._read_so_far.size < self._mark:
            piece = await thread.reach(self._next_of_before)
            self._read_so_far.add(piece)
            self._reader.skip(piece)
        if self._reader.is_inside_a_line:
            raise self._changed("other lines than before")
        if self._seal is not None and self._read_so_far.ends_where(self._seal):
            if self._seal != self._read_so_far.seal:
                raise self._changed("other lines than before")
        elif self._mark:
            # Of an earlier version, or begun after the lines that were there: taken as it is, once.
            await take([], self._reached)

    # What follows runs in the feed's own thread, while the event loop waits for its result.

    def _find(self) -> None:
        self._file = regular_file(self._path)

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _next_chunk(self) -> bytes:
        chunk = self._read(CHUNK)
        if not chunk:
            self._require_same()
        self._require_unchanged()
        return chunk

    def _next_of_before(self) -> bytes:
        self._require_same(self._mark)
        return self._read(min(CHUNK, self._mark - self._read_so_far.size))

    def _require_unchanged(self) -> None:
        """A file that is written anew keeps its name and may grow: its new lines are elsewhere.

        Looked at after reading on: whoever writes anew comes by here first.
        """
        assert self._file is not None
        place, tail = self._file.tell(), self._read_so_far.tail
        self._file.seek(self._read_so_far.size - len(tail))
        found = self._read(len(tail))
        self._file.seek(place)
        if found != tail:
            raise self._changed("other lines than before")

    def _require_same(self, read: int = 0) -> None:
        """What was read must be there still: else samples could come a second time."""
        assert self._file is not None
        opened = os.fstat(self._file.fileno())
        if opened.st_size < max(read, self._file.tell()):
            raise self._changed("shorter than before")
        try:
            named = os.stat(self._path)
        except FileNotFoundError:
            raise self._changed("gone") from None
        except OSError as error:
            raise self._changed(f"which can't be found ({error.strerror})") from None
        if not os.path.samestat(opened, named):
            raise self._changed("another file than before")

    def _read(self, size: int) -> bytes:
        assert self._file is not None
        try:
            return self._file.read(size)
        except OSError as error:
            raise self._changed(f"which can't be read ({error.strerror})") from None

    def _no_samples(self) -> SampleError:
        where = "on each line" if self._column is None else f"in the column {self._column!r}"
        return SampleError(
            "source.path",
            f"{self._path}, whose first {FIRST_ROWS} rows are no samples",
            f"a number {where}: correct source.column or the file, and start the node again; "
            "nothing of it has been taken in",
        )

    def _changed(self, how: str) -> SampleError:
        expected = (
            "a file that only grows: reading it again could take samples in twice,"
            " and noising them twice would leak them; give new samples a new file name"
        )
        return SampleError("source.path", f"{self._path}, {how}", expected)


def mark_of(path: Path) -> str:
    """The name under which is stored how far a file has been read."""
    return f"file:{os.path.abspath(path)}"


def regular_file(path: Path) -> BinaryIO:
    """The file, opened to be read as it grows; a FileNotFoundError if it is not there yet."""
    try:
        # To open a pipe would wait for its writer, and the node with it.
        if not S_ISREG(path.stat().st_mode):
            raise ConfigError("source.path", str(path), "a regular file; kind = 'stdin' for a pipe")
        return path.open("rb", buffering=0)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigError("source.path", str(path), f"a file to read ({error.strerror})") from None


class Synthetic:
    """Made-up uniform samples, so many a round."""

    def __init__(self, spec: config.SyntheticSource) -> None:
        self._spec = spec

    def samples(self, t: int) -> list[float]:
        """Those of round t, by the seed and t alone: a restart neither repeats nor skips any."""
        import numpy as np  # Of a trial alone: who has samples of their own need not load it.

        spec = self._spec
        generator = np.random.default_rng((spec.seed, t))
        half_range = spec.sigma * sqrt(3)
        draws = generator.uniform(spec.mean - half_range, spec.mean + half_range, spec.per_round)
        return [float(draw) for draw in draws]
