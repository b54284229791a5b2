"""The `colme` command: its subcommands, and errors in one line."""

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from os import environ
from typing import Annotated, Any

import typer

from colme import __version__
from colme.cli.running import StoppedCommand
from colme.errors import ColmeError, needs

BAD_INPUT = 2
INTERRUPTED = 130

COMMANDS = {
    "demo": (
        "sim",
        "Show in a minute what agents gain by collaborating, and save a picture.",
    ),
    "explore": (
        "web",
        "Serve a page with sliders, curves and a network of real agents to play with.",
    ),
    "plan": (
        "sim",
        "Forecast whether collaboration pays, from how many samples on, and at which epsilon.",
    ),
    "simulate": ("sim", "Simulate a scenario and measure the error over time."),
    "study": (
        "sim",
        "Estimate how much each site in a table would gain by collaborating.",
    ),
    "plot": ("sim", "Draw a result over time as PNG, SVG and PDF, with 95% confidence bands."),
    "reproduce": (
        "sim",
        "Reproduce the paper's figure and its claims, or the comparison with earlier systems.",
    ),
    "identity": ("node", "Make, show or renew the key and the certificate of a node."),
    "node": ("node", "Run a node until it is interrupted (SIGINT, SIGTERM or SIGHUP)."),
    "status": ("node", "Show a running node's estimate, round, privacy and neighbours."),
    "state": ("node", "Show, back up, restore or change the stored state of a node."),
    "fleet": (
        "node",
        "Run real nodes on this machine with made-up data: a process each, TLS on loopback.",
    ),
}
"""Every command has a file in this folder. Here: the extra that installs the packages it needs, and
its line in `colme --help`, which imports no file of a command."""

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
    for name, (extra, words) in COMMANDS.items():
        command, refusal = None, ""
        try:
            command = _load(name) if name in loaded else None
        except ModuleNotFoundError as missing:
            refusal = needs(missing.name, extra)
            words += f"\n\n{refusal}".replace("[", r"\[")  # no markup
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        elif command is not None:
            app.command(name)(command)
        else:
            # Accept any options, so that the first error is about what is missing.
            anything = {"ignore_unknown_options": True, "allow_extra_args": True}
            app.command(name, help=words, context_settings=anything)(_refusing(refusal))
    return app


def _load(name: str) -> Any:
    return getattr(import_module(f"colme.cli.{name}"), name)


def _refusing(words: str) -> Callable[[], None]:
    """Return a command that can't run. One that is only listed never does: naming it loads it."""

    def refuse() -> None:
        raise typer.TyperException(words)

    return refuse


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    options = [one.partition("=")[0] for one in arguments if one.startswith("--")]
    for words in (arguments[:1], arguments[:2], *([arguments[0], one] for one in options)):
        if (name := " ".join(words)) in MOVED:
            return _end(f"colme {name} is gone: use {MOVED[name]}")
    app = _application(COMMANDS if COMPLETES in environ else arguments[:1])
    groups = [group.name for group in app.registered_groups]
    if not arguments or (len(arguments) == 1 and arguments[0] in groups):
        arguments = [*arguments, "--help"]
    return run_app(app, arguments, "colme")


def run_app(app: typer.Typer, arguments: Sequence[str], program: str) -> int:
    """Run a command line with errors in one line, and return its exit code."""
    command = typer.main.get_command(app)
    warnings.showwarning = lambda message, *_, **__: print(
        f"colme: warning: {message}", file=sys.stderr
    )
    try:
        _refuse_repeated(command, arguments)
        code: int = command.main(list(arguments), program, standalone_mode=False) or 0
        # Of a Ctrl-C that it has seen, typer keeps the exit code alone.
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        return code
    except (typer.Abort, KeyboardInterrupt):
        return _end("interrupted", INTERRUPTED)
    except StoppedCommand as stopped:
        return _end(str(stopped), INTERRUPTED)
    except typer.BadParameter as error:
        return _end(_in_words(error.format_message()))
    except typer.TyperException as error:
        return _end(f"{error.format_message()} (see {program} --help)")
    except ColmeError as error:
        return _end(str(error))
    except ModuleNotFoundError as missing:
        extra, _ = COMMANDS.get(arguments[0], ("all", ""))
        return _end(needs(missing.name, extra))


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


def _end(words: str, code: int = BAD_INPUT) -> int:
    """Say why a command ends, and return its exit code."""
    print(f"colme: {words}", file=sys.stderr)
    return code
