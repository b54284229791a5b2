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
    """A command, as `colme --help` has it: its file in this folder is not read for that."""

    extra: str
    """What brings the packages it needs."""
    words: str


COMMANDS = {
    "demo": Offer(
        "sim",
        "Watch agents learn their own means together, privately: what it is worth, in a minute.",
    ),
    "explore": Offer(
        "web",
        "Play with it in a browser: sliders, curves as they come, a network of real agents.",
    ),
    "theory": Offer(
        "sim",
        "Ask before joining: does it pay, from how many samples on, by how much, at which epsilon?",
    ),
    "simulate": Offer("sim", "Simulate a scenario and measure the error over time."),
    "study": Offer(
        "sim",
        "Estimate how much each site in a table would gain by collaborating.",
    ),
    "plot": Offer(
        "sim", "Draw a result over time with 95% confidence bands: errors, or any other quantity."
    ),
    "reproduce": Offer(
        "sim",
        "Reproduce the paper's figure and its claims, or the comparison with earlier systems.",
    ),
    "identity": Offer(
        "node", "Who a node is: a key of its own, and a certificate to hand to its neighbours."
    ),
    "node": Offer("node", "Run a node until it is interrupted (SIGINT or SIGTERM)."),
    "status": Offer("node", "Show a running node's estimate, round, privacy and neighbours."),
    "state": Offer("node", "A node's stored state: show it, back it up, restore it, change it."),
    "fleet": Offer(
        "node",
        "Start real nodes: a process each, certificates and TLS on loopback, made-up data.",
    ),
}
"""Every command is a file of this folder."""

MOVED = {
    "bench": "python -m benchmarks speed, scale or node, in a clone of the project",
    "compare": "colme reproduce comparison",
    "export": "colme simulate --csv",
    **{
        f"reproduce {name}": f"python -m research {name}, in a clone of the project"
        for name in ("harm", "figure3", "schools", "wards")
    },
}
"""Commands of earlier versions, and what to use instead."""

COMPLETES = "_COLME_COMPLETE"
"""Set by the shell when it asks what may come next: then every option is wanted."""


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


def _application(loaded: Iterable[str]) -> typer.Typer:
    """The command line with all commands, these ready to run.

    The others are names and a line of help: neither a node's start nor `--help` need wait for a
    compiler's.
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
            # Whatever its options are: what is missing is said first.
            anything = {"ignore_unknown_options": True, "allow_extra_args": True}
            app.command(name, help=words, context_settings=anything)(command)
        else:
            app.command(name)(command)
    return app


def _load(name: str) -> Any:
    return getattr(import_module(f"colme.cli.{name}"), name)


def _announced() -> None:
    """Is never run: whoever names a command gets it loaded."""


def _unavailable(package: str | None, extra: str) -> Callable[[], None]:
    def refuse() -> None:
        raise typer.TyperException(needs(package, extra))

    return refuse


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    for name in (" ".join(arguments[:2]), " ".join(arguments[:1])):
        if name in MOVED:
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
    """Of a value that is no number: what was expected, and not how it was parsed."""
    words = message.replace("Input should be", "expected").partition(", unable to parse")[0]
    return words.replace("a valid integer", "a whole number").replace("a valid number", "a number")


def _refuse_repeated(command: Any, arguments: Sequence[str]) -> None:
    """Of two values the last would count, unsaid."""
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
