"""Options that commands share, values that are more than a number, and the one way to run."""

import os
import sys
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colme.errors import ConfigError

if TYPE_CHECKING:  # a command's help waits neither for numpy nor for a compiler
    from colme.experiment.run import Experiment, RunResult

Out = Annotated[
    Path | None,
    typer.Option(help="Folder for the results. The same command resumes in it.", metavar="DIR"),
]
Seed = Annotated[int, typer.Option(help="Random seed. Same seed, same numbers.", min=0)]
Threads = Annotated[
    int | None,
    typer.Option(help="Threads of this process.", min=1, show_default="all cores"),
]
Workers = Annotated[
    int | None,
    typer.Option(help="Processes on this machine, instead of threads.", min=1, metavar="N"),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Compute on a Dask cluster: tcp://host:port of its scheduler.", metavar="ADDRESS"
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Delete other results in this folder, then start.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Epsilon = Annotated[
    float,
    typer.Option(help="Privacy of each sample (replace-one, counts public); inf for none."),
]

WORTH_SAYING = 2**30
"""Bytes of memory from which on a command says how much it will take."""
LIMIT = Path("/sys/fs/cgroup/memory.max")
"""File with the memory limit of a container."""


def words(text: str) -> list[str]:
    """Return the parts of a comma-separated list."""
    return [part.strip() for part in text.split(",")]


def numbers(option: str, text: str) -> list[float]:
    """Return the numbers of a comma-separated list."""
    try:
        return [float(part) for part in words(text)]
    except ValueError:
        expected = "numbers separated by commas, such as 0.2,0.4,0.8"
        raise ConfigError(option, text, expected) from None


class StoppedCommand(Exception):  # noqa: N818 (not an error)
    """Ctrl-C, with what is stored: of a KeyboardInterrupt typer would keep the exit code alone."""


def run_shown(
    experiment: "Experiment[Any, Any]",
    label: str,
    *,
    out: Path | None = None,
    force: bool = False,
    threads: int | None = None,
    workers: int | None = None,
    cluster: str | None = None,
) -> "RunResult[Any]":
    """Run an experiment with a sign of progress, on what was asked for."""
    from colme.experiment.run import Interrupted, progress, run

    given = {"--threads": threads, "--workers": workers, "--cluster": cluster}
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) > 1:
        raise ConfigError(chosen[0], given[chosen[0]], f"nothing, beside {chosen[1]}")
    if cluster is None:
        require_memory(experiment, threads or workers or os.cpu_count() or 1, force=force)
    try:
        with (
            _executor(workers, cluster) as executor,
            progress(label, experiment.total_work()) as report,
        ):
            return run(
                experiment, out=out, force=force, threads=threads, executor=executor, report=report
            )
    except Interrupted as stopped:
        raise StoppedCommand(str(stopped)) from None


def _executor(workers: int | None, cluster: str | None) -> AbstractContextManager[Executor | None]:
    if workers is not None:
        from colme.experiment.workers import processes

        return processes(workers)
    if cluster is not None:
        from colme.experiment.cluster import on_cluster

        return on_cluster(cluster)
    return nullcontext()


def require_memory(experiment: "Experiment[Any, Any]", at_once: int, *, force: bool) -> None:
    """Refuse what does not fit into memory, before anything is computed."""
    needed = experiment.memory_of_part() * min(at_once, len(experiment.parts()))
    if needed >= WORTH_SAYING:
        print(f"colme: about {_gib(needed)} of memory will be taken", file=sys.stderr, flush=True)
    there = memory_of_machine()
    if there is not None and needed > there and not force:
        seen = f"about {_gib(needed)} of memory where there are {_gib(there)}"
        fewer = "fewer agents, runs or algorithms, --threads 1, or --force to try all the same"
        raise ConfigError("memory", seen, fewer)


def memory_of_machine() -> int | None:
    """Return the bytes that this process may have; None if the machine does not say."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
    try:
        return min(there, int(LIMIT.read_text()))
    except (OSError, ValueError):  # There is no limit.
        return there


def _gib(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB"
