"""What commands that simulate share: an output folder, a progress bar, resuming."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
import xarray as xr
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from colme.errors import ConfigError
from colme.sim import study
from colme.sim.scenario import Scenario
from colme.sim.study import Checkpoint

Out = Annotated[Path, typer.Option(help="Folder for figure and data.")]
Seed = Annotated[int, typer.Option(help="Same seed, same numbers.", min=0)]
Threads = Annotated[int | None, typer.Option(help="Threads.  All cores if not given.", min=1)]


WIDTH = 140
"""Of tables that go to a file."""


def prepare_folder(out: Path) -> None:
    """Make sure that results can be written there, before anything is computed."""
    probe = out / ".writable"
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigError("--out", str(out), f"a folder to write to ({error.strerror})") from None


def wide_console() -> Console:
    """For tables: where there is no terminal, none of its limits."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDTH)


def run_once(scenario: Scenario, *, out: Path, threads: int | None, label: str) -> xr.Dataset:
    """Batch by batch; a result that is in `out` already is not computed again."""
    name = Checkpoint.identity(scenario)
    path = out / f"{name}.nc"
    if path.exists():
        return study.load(path)
    return run(scenario, out=out, threads=threads, label=label, name=name, by_batch=True)


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, moved on by what it is told of run-rounds that are done."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f}%"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    ) as bar:
        task = bar.add_task(label, total=total, rate="compiling")

        def report(done: int) -> None:
            bar.advance(task, done)
            speed = bar.tasks[task].speed
            if speed:
                bar.update(task, rate=f"{speed:,.0f} run-rounds/s")

        yield report


def run(
    scenario: Scenario,
    *,
    out: Path | None,
    threads: int | None,
    label: str,
    name: str = "result",
    by_batch: bool = False,
    keep: Iterable[str] = (),
) -> xr.Dataset:
    """Simulate with a progress bar on a terminal; keep finished batches and the result in `out`."""
    checkpoint = None
    if out is not None:
        prepare_folder(out)
        checkpoint = Checkpoint.of(scenario, out)
    with progress(label, study.work(scenario)) as report:
        dataset = study.simulate(
            scenario,
            threads=threads,
            checkpoint=checkpoint,
            report=report,
            by_batch=by_batch,
            keep=keep,
        )
    if out is not None and checkpoint is not None:
        study.save(dataset, out / f"{name}.nc")
        checkpoint.remove()
    return dataset
