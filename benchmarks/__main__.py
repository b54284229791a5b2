"""`python -m benchmarks NAME`: run one measurement; `--help` after a name lists its options."""

import sys
from importlib import import_module

import typer

NAMES = ("speed", "scale", "node", "kernel", "answers", "boards", "invented", "pages")


def run(arguments: list[str]) -> None:
    """Run the measurement that the first argument names with the others as its options."""
    if not arguments or arguments[0] not in NAMES:
        sys.exit(f"usage: python -m benchmarks {'|'.join(NAMES)} [--help]")
    app = typer.Typer(add_completion=False)
    # Only the one that is asked for is imported: some need a browser, some a compiler.
    app.command()(import_module(f"benchmarks.{arguments[0]}").main)
    app(arguments[1:], prog_name=f"python -m benchmarks {arguments[0]}")


if __name__ == "__main__":
    run(sys.argv[1:])
