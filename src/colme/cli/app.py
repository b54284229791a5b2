"""The `colme` command: its subcommands, and errors in one line."""

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Annotated

import typer

from colme import __version__
from colme.errors import ColmeError

BAD_INPUT = 2
INTERRUPTED = 130

EXTRA_OF = {
    "demo": "sim",
    "theory": "sim",
    "simulate": "sim",
    "plot": "sim",
    "export": "sim",
    "compare": "sim",
    "reproduce": "sim",
    "bench": "all",
    "identity": "node",
    "node": "node",
    "status": "node",
    "state": "node",
    "fleet": "node",
}
"""Every command is a file of this folder; its extra brings what it needs."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"colme {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    pass


def _application(names: Iterable[str]) -> typer.Typer:
    """The command line with these commands; a node's start need not wait for a compiler's."""
    app = typer.Typer(
        name="colme",
        help="Agents learn their own means faster together than alone: no server, privately.",
        add_completion=True,
    )
    app.callback()(_options)
    for name in names:
        try:
            command = getattr(import_module(f"colme.cli.{name}"), name)
        except ModuleNotFoundError as missing:
            command = _unavailable(missing.name, EXTRA_OF[name])
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def _unavailable(package: str | None, extra: str) -> Callable[[], None]:
    remedy = f"pip install 'colme[{extra}]'"

    def refuse() -> None:
        raise typer.TyperException(f"this command needs the package {package}: {remedy}")

    refuse.__doc__ = f"Not installed: {remedy}".replace("[", r"\[")  # else it is markup
    return refuse


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    known = [argument for argument in arguments[:1] if argument in EXTRA_OF]
    app = _application(known or EXTRA_OF)
    groups = [group.name for group in app.registered_groups]
    if not arguments or (len(arguments) == 1 and arguments[0] in groups):
        arguments = [*arguments, "--help"]
    command = typer.main.get_command(app)
    try:
        return command.main(list(arguments), "colme", standalone_mode=False) or 0
    except (typer.Abort, KeyboardInterrupt):
        print(
            "colme: interrupted; a study keeps what is finished, and the same command resumes it",
            file=sys.stderr,
        )
        return INTERRUPTED
    except typer.BadParameter as error:
        return _refuse(error.format_message())
    except typer.TyperException as error:
        return _refuse(f"{error} (see colme --help)")
    except ColmeError as error:
        return _refuse(str(error))
    except ModuleNotFoundError as missing:
        return _refuse(f"this needs the package {missing.name}: pip install 'colme[all]'")


def _refuse(reason: str) -> int:
    print(f"colme: {reason}", file=sys.stderr)
    return BAD_INPUT
