"""One open page: what it asks for, and what it is shown of a network and of curves.

It is shown plain data, fit for JSON: a number that is not finite is None.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

import numpy as np

from colme.config import validated
from colme.errors import ColmeError, ConfigError
from colme.experiment.run import Arrays, run
from colme.experiment.statistics import BatchMean, FloatArray, factor_band
from colme.explore.choices import Choices, fitted
from colme.explore.society import MOST_ROUNDS, Belief, Letter, Society
from colme.sim.scenario import Scenario
from colme.sim.simulation import Simulation

Shown = Mapping[str, Any]

ASKED_AT_ONCE = 16
"""Agents that are asked for their answer after each round while it plays; all where it rests."""
SLOWEST, FASTEST = 0.5, 30.0
"""Rounds a second."""
UNREAD = 8
"""Pictures that may wait for a slow browser before the next round does."""

_ONE_AT_A_TIME = threading.Lock()
"""Curves of a page that has moved on may take a moment to notice."""

LETTERS_AT_ONCE = 40
"""Newest messages of an agent that are shown; the page asks for earlier ones."""

RELEASES_AT_ONCE = 6

FEWEST = 3
"""Batches with a band: that of two would be thirteen standard errors wide."""

REFERENCES = {
    "local": ("local_mse", "Local: everybody alone"),
    "ideal": ("ideal", "Ideal of Proposition 3"),
    "class-ideal": ("class_ideal_mse", "Ideal of the whole class"),
}
"""Curves that no algorithm has: their sums, and what they are called."""


class Session:
    """Belongs to the loop it was made in. `shown` is what the page is to be told, in order."""

    def __init__(self) -> None:
        self.shown: asyncio.Queue[Shown] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._number = 0
        self._society: Society | None = None
        # Rounds are run in a thread: nobody changes the agents meanwhile.
        self._free = asyncio.Lock()
        self._playing: asyncio.Task[None] | None = None
        self._rate = 4.0
        self._watched: int | None = None

    async def take(self, asked: object) -> None:
        """Something that the page asked for; what is wrong with it is shown."""
        try:
            if not isinstance(asked, dict):
                raise ConfigError("message", type(asked).__name__, "an object")
            await self._do(asked)
        except ColmeError as error:
            self.shown.put_nowait({"type": "refused", "words": str(error)})

    def close(self) -> None:
        """The page has gone. A round that is under way ends in its thread, and nobody waits."""
        self._stop.set()
        if self._playing is not None:
            self._playing.cancel()

    async def _do(self, asked: Mapping[str, Any]) -> None:
        match asked.get("do"):
            case "choose":
                await self._choose(asked.get("choices"))
            case "play":
                self._rate = _rate(asked.get("rate"))
                self._require_society()
                if self._playing is None or self._playing.done():
                    self._playing = asyncio.create_task(self._play())
            case "pause":
                await self._rest()
                await self._changed(lambda society: None)
            case "step":
                await self._rest()
                await self._changed(Society.run_round)
            case "kill":
                await self._changed(lambda society: society.kill(self._agent(asked)))
            case "lie":
                await self._changed(lambda society: society.lie(self._agent(asked)))
            case "cut":
                await self._changed(Society.cut_in_two)
            case "look":
                await self._look(asked)
            case other:
                expected = "choose, play, pause, step, kill, lie, cut or look"
                raise ConfigError("do", other, expected)

    async def _choose(self, asked: object) -> None:
        if not isinstance(asked, dict):
            raise ConfigError("choices", type(asked).__name__, "an object")
        found = fitted(validated(Choices, asked))
        self._stop.set()
        self._stop = threading.Event()
        self._number += 1
        async with self._free:
            society = await asyncio.to_thread(Society, found.choices)
            self._society, self._watched = society, None
        self.shown.put_nowait(
            {
                "type": "chosen",
                "number": self._number,
                # As a link has them.
                "choices": {name: str(value).removesuffix(".0") for name, value in found.choices},
                "notes": found.notes,
                # What stays as it is while it plays.
                "network": {
                    "edges": society.edges,
                    "truth": society.truth.tolist(),
                    "means": society.choices.means,
                    "algorithm": society.choices.algorithm,
                },
            }
        )
        self._show_frame()
        arguments = (found.choices, self._number, self._stop)
        threading.Thread(target=self._compute, args=arguments, daemon=True).start()

    def _compute(self, choices: Choices, number: int, stop: threading.Event) -> None:
        """In a thread of its own."""

        def show(what: Shown) -> None:
            self._loop.call_soon_threadsafe(self.shown.put_nowait, {"number": number, **what})

        try:
            with _ONE_AT_A_TIME:
                draw_growing(choices.scenario(), stop, show)
        except Stopped:
            pass
        except ColmeError as error:
            show({"type": "refused", "words": str(error)})
        except RuntimeError:
            if not self._loop.is_closed():  # else nobody is there any more
                raise

    async def _play(self) -> None:
        while True:
            began = self._loop.time()
            # A new society may come between two rounds, never within one.
            async with self._free:
                society = self._require_society()
                if society.round >= MOST_ROUNDS:
                    break
                await asyncio.to_thread(society.run_round)
                await asyncio.to_thread(society.ask, ASKED_AT_ONCE)
                self._show_frame()
            passed = self._loop.time() - began
            await asyncio.sleep(max(0.0, 1 / self._rate - passed))
            while self.shown.qsize() > UNREAD:
                await asyncio.sleep(1 / FASTEST)
        self.shown.put_nowait({"type": "ended", "words": f"{MOST_ROUNDS} rounds are all there are"})

    async def _rest(self) -> None:
        task, self._playing = self._playing, None
        if task is not None and not task.done():
            async with self._free:  # Not in the middle of a round.
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _changed(self, change: Callable[[Society], None]) -> None:
        async with self._free:
            society = self._require_society()
            await asyncio.to_thread(change, society)
            await asyncio.to_thread(society.ask)
            self._show_frame()

    def _require_society(self) -> Society:
        if self._society is None:
            raise ConfigError("do", "something with the network", "choices first")
        return self._society

    async def _look(self, asked: Mapping[str, Any]) -> None:
        self._watched = None if asked.get("agent") is None else self._agent(asked)
        before = asked.get("before")
        async with self._free:
            self._show_inside(before if isinstance(before, int) else None)

    def _show_inside(self, before: int | None = None) -> None:
        if self._watched is not None:
            shown = _inside_shown(self._require_society(), self._watched, before)
            self.shown.put_nowait(shown)

    def _agent(self, asked: Mapping[str, Any]) -> int:
        agent = asked.get("agent")
        agents = 0 if self._society is None else len(self._society.agents)
        if type(agent) is not int or not 0 <= agent < agents:
            raise ConfigError("agent", agent, f"a number, 0 to {agents - 1}")
        return agent

    def _show_frame(self) -> None:
        self.shown.put_nowait(_frame_shown(self._require_society()))
        self._show_inside()


def _rate(asked: object) -> float:
    if not isinstance(asked, int | float) or not SLOWEST <= asked <= FASTEST:
        raise ConfigError("rate", asked, f"{SLOWEST:g} to {FASTEST:g} rounds a second")
    return float(asked)


def _frame_shown(society: Society) -> dict[str, Any]:
    """How it stands after a round."""
    lit = [number for number, edge in enumerate(society.edges) if edge in society.crossed]
    cut = [number for number, edge in enumerate(society.edges) if edge in society.cut]
    return {
        "type": "frame",
        "round": society.round,
        "lit": lit,
        "cut": cut,
        "away": sorted(society.away),
        "liars": sorted(society.liars),
        "errors": society.errors(),
        "agents": [_belief(belief) for belief in society.beliefs],
    }


def _belief(belief: Belief | None) -> dict[str, Any] | None:
    if belief is None:
        return None
    one = belief.estimate
    return {
        "value": one.value,
        "low": one.low,
        "high": one.high,
        "alone": one.alone,
        "alike": one.class_size,
        "trust": one.trust,
        "centre": belief.centre,
    }


def _inside_shown(society: Society, a: int, before: int | None) -> dict[str, Any]:
    """What leaves an agent, and what does not: its letters up to number `before`."""
    letters = society.letters[a]
    end = len(letters) if before is None else max(0, min(before, len(letters)))
    first = max(0, end - LETTERS_AT_ONCE)
    return {
        "type": "inside",
        "agent": a,
        "older": before is not None,
        "promise": society.promise(a),
        "truth": float(society.truth[a]),
        "exact": society.exact(a),
        "belief": _belief(society.beliefs[a]),
        "away": a in society.away,
        "lies": a in society.liars,
        "neighbours": [int(peer) for peer in society.agents[a].settings.neighbours],
        "releases": _releases(letters),
        "all": len(letters),
        "first": first,
        "letters": [asdict(one) for one in reversed(letters[first:end])],
    }


def _releases(letters: list[Letter]) -> list[dict[str, Any]]:
    """What it told of its own data, the newest first, each once however often it was sent."""
    found: dict[int, dict[str, Any]] = {}
    for letter in reversed(letters):
        if letter.released is not None and letter.count not in found:
            found[letter.count] = {
                "count": letter.count,
                "released": letter.released,
                "exact": letter.exact,
            }
        if len(found) == RELEASES_AT_ONCE:
            break
    return list(found.values())


class Stopped(Exception):  # noqa: N818 (not an error)
    """Ends a simulation whose curves nobody looks at any more."""


def draw_growing(
    scenario: Scenario, stop: threading.Event, show: Callable[[dict[str, Any]], None]
) -> None:
    """Show the curves of all runs so far, after each; raise `Stopped` soon after `stop` is set.

    They are errors, and errors as multiples of Local's, as plain data for the page. A number that
    is not finite is None.
    """
    simulation = Simulation(scenario)

    def report(_: int) -> None:
        if stop.is_set():
            raise Stopped

    def finished(parts: Sequence[Arrays]) -> None:
        report(0)
        show(_curves(simulation, parts))

    run(simulation, threads=1, report=report, finished=finished)


def _curves(simulation: Simulation, parts: Sequence[Arrays]) -> dict[str, Any]:
    recorded = simulation.prepared(0).recorded
    sums = {name: np.array([part[name] for part in parts]) for name in parts[0]}
    sums["ideal"] = sums["ideal"][:, None] / recorded
    runs, local = sums["runs"], sums["local_mse"]
    labels = [table.label for table in simulation.scenario.algorithms]
    errors = {name: (sums["mse"][:, number], name) for number, name in enumerate(labels)}
    errors |= {name: (sums[of], label) for name, (of, label) in REFERENCES.items()}

    def drawn(name: str, below: FloatArray) -> dict[str, Any]:
        above, label = errors[name]
        values = _values_shown(BatchMean(above, below))
        return {"name": name, "label": label, "at": recorded.tolist(), **values}

    return {
        "type": "curves",
        "runs": int(runs.sum()),
        "of": simulation.scenario.runs,
        "errors": [drawn(name, runs) for name in errors],
        "harms": [drawn(name, local) for name in errors if name != "local"],
    }


def _values_shown(mean: BatchMean) -> dict[str, list[float | None]]:
    """Return a curve and, from `FEWEST` batches on, its band."""
    shown = {"value": mean.value}
    if len(mean.above) >= FEWEST:
        shown["low"], shown["high"] = factor_band(mean.value, mean.margin)
    return {
        name: [value if isfinite(value) else None for value in values.tolist()]
        for name, values in shown.items()
    }
