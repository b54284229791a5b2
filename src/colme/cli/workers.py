"""`--cluster`: who computes, where it is not this process."""

import warnings
from concurrent.futures import Executor
from contextlib import ExitStack
from types import TracebackType
from typing import Annotated, Self

import typer


class Workers:
    """Of a cluster that is reached, or started, once something is to be computed there.

    From then on it serves all that a command computes, and is left when the command ends.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self._opened = ExitStack()
        self._executor: Executor | None = None

    @property
    def here(self) -> int | None:
        """Processes on this machine, if they are."""
        from colme.sim.study import workers_here

        return workers_here(self.where)

    def warn_of_rows(self) -> None:
        """Where data of the user's own would be on the network for others to read."""
        if self.where.startswith("tcp://") and "//127." not in self.where:
            warnings.warn(f"all rows are sent to {self.where}, not encrypted", stacklevel=2)

    @property
    def executor(self) -> Executor:
        """To be asked for by whoever has something to compute."""
        from colme.sim.study import on_cluster

        if self._executor is None:
            self._executor = self._opened.enter_context(on_cluster(self.where))
        return self._executor

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return self._opened.__exit__(kind, error, trace)


def _until_the_end(context: typer.Context, workers: Workers | None) -> Workers | None:
    if workers is not None:
        _ = workers.here  # refuses an invalid address
        context.with_resource(workers)
    return workers


Cluster = Annotated[
    Workers | None,
    typer.Option(
        help="Compute on a Dask cluster instead of threads: tcp://host:port of its scheduler, or"
        " local:N for N processes here.",
        metavar="ADDRESS",
        parser=Workers,
        callback=_until_the_end,
        show_default=False,
    ),
]
