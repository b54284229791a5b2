"""The command line: parse, call one library function, print. Exit code 2 for bad input."""

import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Entry point of the `colme` command."""
    try:
        from colme.cli.app import run
    except ModuleNotFoundError as missing:
        sys.exit(
            f"colme: this needs the package {missing.name}, which comes with the extra 'cli': "
            "pip install '.[cli]' in a clone of this project"
        )
    leave(run(sys.argv[1:]))


def leave(code: int) -> NoReturn:
    """End the process with this exit code, at once if it was interrupted."""
    from colme.cli.app import INTERRUPTED

    if code == INTERRUPTED:
        # Not to wait for threads in the middle of a batch: what is kept of a study is on disk.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
