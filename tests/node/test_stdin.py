"""Standard input: read as it arrives, whatever it is, while all else goes on."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from colme.errors import ConfigError
from colme.node import config
from colme.node.samples.feeds import StdinFeed, make_feed
from colme.node.samples.lines import SampleReader
from support.refusing import refused
from support.taker import Taker


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


def test_waiting_for_a_silent_pipe_can_be_cancelled() -> None:
    reading, writing = os.pipe()

    async def wait_in_vain() -> None:
        source = StdinFeed(SampleReader(None, Taker().refuse), reading)
        task = asyncio.create_task(source.run(Taker().take))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert os.get_blocking(reading)
        assert not asyncio.get_running_loop().remove_reader(reading)

    try:
        asyncio.run(wait_in_vain())
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
