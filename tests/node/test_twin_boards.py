"""Whatever leaves a node that relays follows from its releases.

Other samples, made up for by noise, show in nothing that is said, counted or held for others.
"""

import asyncio
from pathlib import Path

import pytest

from colme.node.wire.codec import encode, parts_of
from support.boarded import boarded, settings_of, somebody
from support.boards import written
from support.twins import Numbers, Reckoning, Samples, stream, twins
from support.waiting import until

ROUNDS = 10


def shown(metrics: bytes) -> list[str]:
    """What does not tell of this machine's time."""
    lines = metrics.decode().splitlines()
    of_time = ("commit_seconds", "process_", "_created")
    return [line for line in lines if not any(word in line for word in of_time)]


async def life(folder: Path, samples: Samples, draws: Numbers, *, squares: bool) -> list[object]:
    """All that others see of it, tick by tick, with a restart in the middle."""
    half = len(samples) // 2
    first = await start(folder, samples[:half], draws[:half], squares=squares)
    return [*first, *await start(folder, samples[half:], draws[half:], squares=squares)]


async def start(folder: Path, samples: Samples, draws: Numbers, *, squares: bool) -> list[object]:
    seen: list[object] = []
    due = iter([draw for one in draws for draw in one])
    async with boarded(folder, interval=3600, squares=squares, noise=lambda _: next(due)) as one:
        one.driver.start(0)
        await until(lambda: one.driver.began is not None)
        one.answer("b")
        for taken in samples:
            await one.driver.observe(taken)
            one.tell("c", written(somebody(len(seen) % 7), sequence=1 + len(seen)))
            one.driver._forget_timers()
            one.driver._tick()
            await one.driver.flush()
            seen.append(shown(one.metrics.text()))
        seen += [
            (said.peer, [encode(part, 1) for part in parts_of(said.message)]) for said in one.posts
        ]
        assert one.failures == []
        assert next(due, None) is None, "all draws were taken, each once"
    return seen


@pytest.mark.parametrize("squares", [False, True])
def test_other_samples_show_in_nothing(tmp_path: Path, squares: bool) -> None:
    reckoning = Reckoning.of(settings_of(squares=squares))
    mine = stream(ROUNDS, seed=3)
    numbers = reckoning.numbers(mine)
    draws = [[1000 + 17 * n for n in range(len(one))] for one in numbers]
    assert sum(map(len, draws)) > 5
    expected = asyncio.run(life(tmp_path / "mine", mine, draws, squares=squares))
    for number, (name, other) in enumerate(twins(mine)):
        made_up = reckoning.made_up(draws, mine, other)
        seen = asyncio.run(life(tmp_path / f"{number}", other, made_up, squares=squares))
        assert seen == expected, name
