"""The `colme` command: its subcommands, and errors in one line."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from colme import __version__
from colme.cli.bench import bench
from colme.cli.compare import compare
from colme.cli.demo import demo
from colme.cli.plot import plot
from colme.cli.reproduce import reproduce
from colme.cli.simulate import simulate
from colme.cli.theory import theory
from colme.errors import ColmeError

BAD_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    name="colme",
    help="Agents learn their own means faster together than alone: no server, privately.",
    add_completion=True,
)
app.command()(demo)
app.command()(theory)
app.command()(simulate)
app.command()(plot)
app.command()(compare)
app.command()(bench)
app.add_typer(reproduce, name="reproduce")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"colme {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    pass


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    command = typer.main.get_command(app)
    try:
        return command.main(list(arguments) or ["--help"], "colme", standalone_mode=False) or 0
    except (typer.Abort, KeyboardInterrupt):
        print(
            "colme: interrupted; what is finished is kept, and the same command resumes",
            file=sys.stderr,
        )
        return INTERRUPTED
    except typer.BadParameter as error:
        return _refuse(error.format_message())
    except typer.TyperException as error:
        return _refuse(f"{error} (see colme --help)")
    except ColmeError as error:
        return _refuse(str(error))


def _refuse(reason: str) -> int:
    print(f"colme: {reason}", file=sys.stderr)
    return BAD_INPUT
