"""Processes of `colme node` that are forked from one which has imported all that they need.

They are real: of their own, to be killed, with the exit code of the command. But importing takes a
second of processor time, and tests start hundreds of nodes.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path

_context = get_context("forkserver")
_context.set_forkserver_preload(["colme.cli.node", "colme.node.node", "opendp.measurements"])


class Forked:
    """A process, as `subprocess.Popen` has it, without standard input."""

    stdin = None

    def __init__(self, arguments: Sequence[str], log: Path) -> None:
        self._process = _context.Process(target=_run, args=(arguments, log), daemon=True)
        self._process.start()

    @property
    def pid(self) -> int:
        """Of the process, as long as it runs."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("colme", timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        """Unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """At once."""
        self.send_signal(signal.SIGKILL)


def _run(arguments: Sequence[str], log: Path) -> None:
    """What `python -m colme` does, with all that is written in the log."""
    with log.open("ab") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
    sys.argv = ["colme", *arguments]
    from colme.cli import main

    main()
