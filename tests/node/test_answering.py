"""The owner's answer with a board: of one shape, computed when asked for, off the event loop."""

import asyncio
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from colme.errors import LocalProtocolError
from colme.node.owner.answer import Answering, why_alone
from colme.node.owner.status import Answer
from colme.relay import Relay
from support.boarded import Boarded, boarded, somebody
from support.boards import written
from support.refusing import refused


def many(one: Boarded, *, mean: float, first: int = 0, count: int = 40) -> None:
    """Records of others who know their means well, with the errors that their noise makes."""
    means = np.random.default_rng(first).normal(mean, 0.0035, count)
    one.tell(
        "b",
        *(
            written(somebody(first + n), mean=float(means[n]), count=2000, variance=0.01)
            for n in range(count)
        ),
    )


def test_it_has_one_shape() -> None:
    names = [field.name for field in fields(Answer)]
    assert names == [
        *("value", "low", "high", "alone", "samples", "records", "classes", "oldest", "why")
    ]


async def test_it_rests_on_the_records_and_says_so(tmp_path: Path) -> None:
    async with boarded(tmp_path) as one:
        answering = Answering(one.driver)
        with refused(LocalProtocolError, "estimate"):
            await answering.answer()
        await one.driver.observe([0.45, 0.55, 0.4, 0.6, 0.52])
        alone = await answering.answer()
        assert (alone.records, alone.classes, alone.oldest) == (0, None, None)
        assert alone.why is not None
        assert alone.why.startswith("nobody else has released something")
        assert alone.value == alone.alone
        for n, mean in enumerate([0.5, 0.9]):
            many(one, mean=mean, first=100 * n)
        together = await answering.answer()
        assert together.why is None
        assert (together.records, together.classes) == (80, 2)
        assert together.alone == alone.alone
        assert together.low < together.value < together.high
        assert together.high - together.low < alone.high - alone.low
        assert together.oldest is not None
        assert together.oldest >= 0


async def test_it_is_computed_once_and_again_when_something_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    compute: Any = Relay.answer

    def counted(*arguments: Any) -> Any:
        threads.append(threading.current_thread())
        return compute(*arguments)

    monkeypatch.setattr(Relay, "answer", counted)

    async with boarded(tmp_path) as one:
        answering = Answering(one.driver)
        await one.driver.observe([0.5] * 4)
        many(one, mean=0.5)
        first, second = await asyncio.gather(answering.answer(), answering.answer())
        assert first.value == second.value
        assert len(threads) == 1
        assert threads[0] is not threading.main_thread()
        many(one, mean=0.5)  # The same again: no news.
        await answering.answer()
        assert len(threads) == 1
        many(one, mean=0.5, first=100)
        await answering.answer()
        assert len(threads) == 2
        await one.driver.observe([0.5])
        await answering.answer()
        assert len(threads) == 3


def test_in_rounds_it_says_how_many_look_alike() -> None:
    assert why_alone(0, 3) == "of 3 neighbours none looks alike so far"
    assert why_alone(1, 3).startswith("of 3 neighbours 1 looks alike")
