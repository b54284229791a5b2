"""The command line: parse, call one library function, print. Exit code 2 for bad input."""

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
    sys.exit(run(sys.argv[1:]))
