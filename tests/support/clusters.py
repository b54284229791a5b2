"""A Dask scheduler and its workers, in processes of their own on loopback, and always ended."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.elsewhere import until


@contextmanager
def scheduler(folder: Path) -> Iterator[str]:
    """Its address, once it listens."""
    file = folder / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    options += ["--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(file)]
    with _running("distributed.cli.dask_scheduler", options, folder / "scheduler.log"):
        until("a scheduler", lambda: file.exists() and file.read_text().rstrip().endswith("}"))
        yield str(json.loads(file.read_text())["address"])


@contextmanager
def workers(address: str, number: int, folder: Path) -> Iterator[None]:
    """So many processes, each under a nanny that replaces it when it dies."""
    options = [address, "--nworkers", str(number), "--nthreads", "1", "--host", "127.0.0.1"]
    options += ["--no-dashboard", "--memory-limit", "0", "--local-directory", str(folder)]
    log = folder / "workers.log"
    with _running("distributed.cli.dask_worker", options, log):
        until("workers", lambda: log.read_text().count("Registered to:") >= number, log.read_text)
        yield


@contextmanager
def _running(module: str, options: list[str], log: Path) -> Iterator[None]:
    with log.open("ab") as file:
        command = [sys.executable, "-m", module, *options]
        process = subprocess.Popen(command, stdout=file, stderr=file)
        try:
            yield
        finally:
            process.kill()  # The processes of a nanny end with it.
            process.wait()
