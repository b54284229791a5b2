"""A Dask cluster as an executor: `tcp://host:port` or `tls://host:port` of its scheduler.

Nothing else imports Dask. One worker that dies is done without.
"""

import logging
import re
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import contextmanager
from importlib import import_module, metadata
from typing import Any
from warnings import warn

from colme.errors import ConfigError, needs
from colme.experiment.workers import another_version, versions

FIELD = "--cluster"

PATIENCE = 10.0
"""Seconds for a scheduler to answer."""


def require_address(where: str) -> str:
    """Return the address, or raise a ConfigError."""
    if re.fullmatch(r"(tcp|tls)://[^/\s]+:\d{1,5}", where) is None:
        expected = "tcp://host:port or tls://host:port of a Dask scheduler (here: --workers N)"
        raise ConfigError(FIELD, where, expected)
    return where


@contextmanager
def on_cluster(where: str) -> Iterator[Executor]:
    """Reach a cluster; its executor serves until the context is left.

    Versions of workers that are there are checked now, of others when they get something to do.
    """
    require_address(where)
    try:
        dask = import_module("distributed")
    except ModuleNotFoundError as missing:
        raise ConfigError(FIELD, f"no {missing.name}", needs(missing.name, "cluster")) from None
    with _quiet(), _client(dask, where) as client:
        _require_same_versions(client, where)
        try:
            # Not pure: the same part, sent twice, is to be computed twice.
            yield client.get_executor(pure=False)
        except CancelledError:
            expected = "a scheduler that stays; finished parts are stored in --out"
            raise ConfigError(FIELD, where, expected) from None
        except dask.KilledWorker as error:
            seen = f"{where}: {error.allowed_failures + 1} workers died of the same part"
            raise ConfigError(FIELD, seen, "workers with more memory, or fewer agents") from None


def _client(dask: Any, where: str) -> Any:
    certified = dask.Security().get_connection_args("client")["ssl_context"]
    if where.startswith("tls://") and not certified:
        expected = "certificates in Dask's configuration (distributed.comm.tls), or tcp://"
        raise ConfigError(FIELD, where, expected)
    try:
        return dask.Client(where, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        expected = f"a Dask scheduler that answers there within {PATIENCE:g} s ({why})"
        raise ConfigError(FIELD, where, expected) from None


def _require_same_versions(client: Any, where: str) -> None:
    """Ask by a function of Python's own, which a worker of any version can run."""
    if not client.scheduler_info()["workers"]:
        warn(f"{where} has no workers yet: waiting for some", stacklevel=2)
    for package, wanted in versions():
        answers = client.run(metadata.version, package, on_error="return")
        for worker, answer in answers.items():
            if isinstance(answer, metadata.PackageNotFoundError):
                answer = "is missing"
            if isinstance(answer, str) and answer != wanted:  # else the worker has just gone
                raise another_version(package, f"{answer} on {worker}", wanted)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask, which logs every worker that comes and goes; what matters is an error."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
