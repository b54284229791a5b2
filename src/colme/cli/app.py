"""The `colme` command: its subcommands, and errors in one line."""

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from os import environ
from typing import Annotated, Any

import typer

from colme import __version__
from colme.cli.running import StoppedCommand
from colme.errors import ColmeError, needs

BAD_INPUT = 2
INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Offer:
    """A command as `colme --help` lists it, without importing its file."""

    extra: str
    """The extra that installs the packages it needs."""
    words: str


COMMANDS = {
    "demo": Offer(
        "sim",
        "Show in a minute what agents gain by collaborating, and save a picture.",
    ),
    "explore": Offer(
        "web",
        "Serve a page with sliders, curves and a network of real agents to play with.",
    ),
    "plan": Offer(
        "sim",
        "Forecast whether collaboration pays, from how many samples on, and at which epsilon.",
    ),
    "simulate": Offer("sim", "Simulate a scenario and measure the error over time."),
    "study": Offer(
        "sim",
        "Estimate how much each site in a table would gain by collaborating.",
    ),
    "plot": Offer("sim", "Draw a result over time as PNG, SVG and PDF, with 95% confidence bands."),
    "reproduce": Offer(
        "sim",
        "Reproduce the paper's figure and its claims, or the comparison with earlier systems.",
    ),
    "identity": Offer("node", "Make, show or renew the key and the certificate of a node."),
    "node": Offer("node", "Run a node until it is interrupted (SIGINT, SIGTERM or SIGHUP)."),
    "status": Offer("node", "Show a running node's estimate, round, privacy and neighbours."),
    "state": Offer("node", "Show, back up, restore or change the stored state of a node."),
    "fleet": Offer(
        "node",
        "Run real nodes on this machine with made-up data: a process each, TLS on loopback.",
    ),
}
"""Every command has a file in this folder."""

MOVED = {
    "bench": "python -m benchmarks speed, scale or node, in a clone of the project",
    "compare": "colme reproduce comparison",
    "export": "colme simulate --csv",
    "fleet --keep": "--out",
    "fleet --samples": "--rounds: a node takes ten samples in each",
    "fleet --sigma": "--means: the standard deviation of a sample is 0.1",
    **{
        f"plot --{name}": "colme.report.drawing in Python (docs/simulator.md)"
        for name in ("run", "agent", "format", "size", "x", "y")
    },
    **{
        f"reproduce {name}": f"python -m research {name}, in a clone of the project"
        for name in ("harm", "figure3", "schools", "wards")
    },
    "reproduce --runs": "--quick, or colme simulate paper --runs",
    "reproduce --verbose": "claims.txt in its folder, which lists all claims",
    "theory": "colme plan",
}
"""Commands and options of earlier versions, and what to use instead."""

COMPLETES = "_COLME_COMPLETE"
"""Set by the shell when it completes a line: then all options are needed."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"colme {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


def _application(loaded: Iterable[str]) -> typer.Typer:
    """Return the command line with all commands, of which those in `loaded` can run.

    The others are a name and a line of help: neither the start of a node nor `--help` waits for
    the imports of another command.
    """
    app = typer.Typer(
        name="colme",
        help="Agents learn their own means faster together than alone: no server, privately.",
        add_completion=True,
    )
    app.callback()(_options)
    for name, offer in COMMANDS.items():
        words = offer.words
        try:
            command = _load(name) if name in loaded else _announced
        except ModuleNotFoundError as missing:
            command = _unavailable(missing.name, offer.extra)
            words += f"\n\n{needs(missing.name, offer.extra)}".replace("[", r"\[")  # no markup
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        elif command.__module__ == __name__:
            # Accept any options, so that the first error is about what is missing.
            anything = {"ignore_unknown_options": True, "allow_extra_args": True}
            app.command(name, help=words, context_settings=anything)(command)
        else:
            app.command(name)(command)
    return app


def _load(name: str) -> Any:
    return getattr(import_module(f"colme.cli.{name}"), name)


def _announced() -> None:
    """Stand in for a command in `colme --help`; never run, since naming a command loads it."""


def _unavailable(package: str | None, extra: str) -> Callable[[], None]:
    def refuse() -> None:
        raise typer.TyperException(needs(package, extra))

    return refuse


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    options = [one.partition("=")[0] for one in arguments if one.startswith("--")]
    for words in (arguments[:1], arguments[:2], *([arguments[0], one] for one in options)):
        if (name := " ".join(words)) in MOVED:
            return _refuse(f"colme {name} is gone: use {MOVED[name]}")
    app = _application(COMMANDS if COMPLETES in environ else arguments[:1])
    groups = [group.name for group in app.registered_groups]
    if not arguments or (len(arguments) == 1 and arguments[0] in groups):
        arguments = [*arguments, "--help"]
    return run_app(app, arguments, "colme")


def run_app(app: typer.Typer, arguments: Sequence[str], program: str) -> int:
    """Run a command line with errors in one line, and return its exit code."""
    command = typer.main.get_command(app)
    warnings.showwarning = lambda message, *_, **__: _warn(message)
    try:
        _refuse_repeated(command, arguments)
        code: int = command.main(list(arguments), program, standalone_mode=False) or 0
        return _interrupted() if code == INTERRUPTED else code  # typer makes a code of it
    except (typer.Abort, KeyboardInterrupt):
        return _interrupted()
    except StoppedCommand as stopped:
        return _interrupted(str(stopped))
    except typer.BadParameter as error:
        return _refuse(_in_words(error.format_message()))
    except typer.TyperException as error:
        return _refuse(f"{error.format_message()} (see {program} --help)")
    except ColmeError as error:
        return _refuse(str(error))
    except ModuleNotFoundError as missing:
        offer = COMMANDS.get(arguments[0])
        return _refuse(needs(missing.name, offer.extra if offer else "all"))


def _in_words(message: str) -> str:
    """Return a message about an invalid value without how it was parsed."""
    words = message.replace("Input should be", "expected").partition(", unable to parse")[0]
    return words.replace("a valid integer", "a whole number").replace("a valid number", "a number")


def _refuse_repeated(command: Any, arguments: Sequence[str]) -> None:
    """Refuse an option given twice: the last value would count without a word."""
    for argument in arguments:
        command = getattr(command, "commands", {}).get(argument, command)
    lists = {name for option in command.params if option.multiple for name in option.opts}
    given = Counter(one.partition("=")[0] for one in arguments if one.startswith("--"))
    for option, times in given.items():
        if times > 1 and option not in lists:
            raise typer.TyperException(
                f"{option}: given {times} times, expected once (several values: with commas)"
            )


def _interrupted(words: str = "interrupted") -> int:
    print(f"colme: {words}", file=sys.stderr)
    return INTERRUPTED


def _warn(message: Warning | str) -> None:
    print(f"colme: warning: {message}", file=sys.stderr)


def _refuse(reason: str) -> int:
    print(f"colme: {reason}", file=sys.stderr)
    return BAD_INPUT
