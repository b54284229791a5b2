"""What commands that simulate share: options, tables without limits, a run that can go on."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from colme.cli.interruption import interruptible
from colme.cli.progress import progress
from colme.cli.workers import Workers
from colme.errors import ConfigError

if TYPE_CHECKING:  # `--help` of commands that share these options waits for no compiler
    import xarray as xr

    from colme.sim.scenario import Scenario

Out = Annotated[Path, typer.Option(help="Folder for figure and data.")]
Seed = Annotated[int, typer.Option(help="Same seed, same numbers.", min=0)]
Threads = Annotated[int | None, typer.Option(help="Threads.  All cores if not given.", min=1)]

WIDTH = 140
"""Of tables that go to a file."""


def wide_console() -> Console:
    """For tables: where there is no terminal, none of its limits."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDTH)


def require_one(threads: int | None, cluster: Workers | None) -> None:
    """Refuse threads of this process where others compute; before a folder is taken."""
    if threads is not None and cluster is not None:
        raise ConfigError("--threads", threads, "none with --cluster, whose workers have their own")


def run(
    scenario: "Scenario",
    *,
    out: Path | None,
    threads: int | None,
    cluster: Workers | None,
    label: str,
    name: str = "result",
    by_batch: bool = False,
    keep: Iterable[str] = (),
) -> "xr.Dataset":
    """Simulate with a sign of progress; keep finished batches and the result in `out`.

    A result that is there already is not computed again: `out` is this study's (`Folder`).
    """
    from colme.sim import study
    from colme.sim.study import Checkpoint

    checkpoint, path = None, None
    if out is not None:
        path = out / f"{name}.nc"
        if path.exists():
            return study.load(path)
        checkpoint = Checkpoint.of(scenario, out)
    kept = None if checkpoint is None else checkpoint.folder
    with interruptible(kept), progress(label, study.work(scenario)) as report:
        dataset = study.simulate(
            scenario,
            threads=threads,
            executor=None if cluster is None else cluster.executor,
            checkpoint=checkpoint,
            report=report,
            by_batch=by_batch,
            keep=keep,
        )
    if path is not None and checkpoint is not None:
        path.parent.mkdir(exist_ok=True)
        study.save(dataset, path)
        checkpoint.remove()
    return dataset
