"""A Dask cluster as the executor of a sweep: one that is there, or one that is started here."""

import logging
import re
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import ExitStack, contextmanager
from importlib import import_module, metadata
from typing import Any
from warnings import warn

from colme.errors import ConfigError, needs
from colme.sim.study.elsewhere import FIELD, another_version, versions

PATIENCE = 10.0
"""Seconds for a scheduler to answer."""

UNHEEDING = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""What a process started here does first. Ctrl-C reaches all that run in a terminal: whoever waits
for the result says so and ends them, and none has to tell of its own end."""

EXPECTED = "tcp://host:port or tls://host:port of a Dask scheduler, or local:N for N processes here"


def workers_here(where: str) -> int | None:
    """How many processes it asks for on this machine; None: on whatever the scheduler has."""
    local = re.fullmatch(r"local:([1-9]\d{0,3})", where)
    if local is not None:
        return int(local[1])
    if re.fullmatch(r"(tcp|tls)://[^/\s]+:\d{1,5}", where) is None:
        raise ConfigError(FIELD, where, EXPECTED)
    return None


@contextmanager
def on_cluster(where: str) -> Iterator[Executor]:
    """Until it is left, the workers there: see `EXPECTED`. One that dies is done without.

    Those that are there are checked for their versions now, others when they get something to do.
    """
    number = workers_here(where)
    dask = _distributed()
    with ExitStack() as open_until_left:
        open_until_left.enter_context(_quiet())
        if number is None:
            address, security = where, None
        else:
            cluster = open_until_left.enter_context(_started(dask, number))
            address, security = cluster.scheduler_address, cluster.security
        client = _client(dask, where, address, security)
        open_until_left.enter_context(client)
        _require_alike(client, where)
        # Not pure: the same order, sent twice, is to be computed twice.
        executor: Executor = client.get_executor(pure=False)
        try:
            yield executor
        except CancelledError:
            expected = "a scheduler that stays; finished batches are kept if there is a checkpoint"
            raise ConfigError(FIELD, where, expected) from None
        except dask.KilledWorker as error:
            seen = f"{where}: {error.allowed_failures + 1} workers died of the same batches"
            raise ConfigError(FIELD, seen, "workers with more memory, or smaller studies") from None


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ModuleNotFoundError as missing:
        raise ConfigError(FIELD, f"no {missing.name}", needs(missing.name, "cluster")) from None


def _client(dask: Any, where: str, address: str, security: Any) -> Any:
    if (
        where.startswith("tls://")
        and not dask.Security().get_connection_args("client")["ssl_context"]
    ):
        expected = "certificates in Dask's configuration (distributed.comm.tls), or tcp://"
        raise ConfigError(FIELD, where, expected)
    try:
        return dask.Client(address, timeout=PATIENCE, security=security, set_as_default=False)
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        expected = f"a Dask scheduler that answers there within {PATIENCE:g} s ({why})"
        raise ConfigError(FIELD, where, expected) from None


@contextmanager
def _started(dask: Any, number: int) -> Iterator[Any]:
    """Processes of one thread each, on loopback alone, and nobody else's: they speak TLS."""
    settings = import_module("dask").config
    # Nobody is to look at it, and nothing is to be seen there.
    bare: dict[str, list[str]] = {
        f"distributed.{one}.http.routes": [] for one in ("scheduler", "worker")
    }
    with (
        settings.set(bare),
        dask.LocalCluster(
            n_workers=number,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            security=True,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            memory_limit=0,
            preload=[*settings.get("distributed.worker.preload", []), UNHEEDING],
            silence_logs=logging.CRITICAL,
        ) as cluster,
    ):
        yield cluster


def _require_alike(client: Any, where: str) -> None:
    """By a function of Python's own: whatever version a worker has, it can be asked for it."""
    if not client.scheduler_info()["workers"]:
        warn(f"{where} has no workers yet: waiting for some", stacklevel=2)
    for package, wanted in versions():
        answers = client.run(metadata.version, package, on_error="return")
        for worker, answer in answers.items():
            if isinstance(answer, metadata.PackageNotFoundError):
                answer = "is missing"
            if isinstance(answer, str) and answer != wanted:  # else it has just gone
                raise another_version(package, f"{answer} on {worker}", wanted)


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask tells of every worker that comes and goes; what matters comes as an error."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
