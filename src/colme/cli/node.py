"""`colme node`: one agent among real neighbours."""

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from colme.cli.app import BAD_INPUT
from colme.errors import ColmeError, ConfigError

if TYPE_CHECKING:  # `--help` waits for nothing that computes
    from colme.node.config import NodeConfig
    from colme.node.node import Node

# Before gRPC is imported: it would report to standard error in a form of its own, besides the log.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")


def node(
    config: Annotated[Path, typer.Option(help="Configuration of the node (TOML).")] = Path(
        "node.toml"
    ),
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Check the configuration, ask every neighbour, and start nothing."
        ),
    ] = False,
    state_lost: Annotated[
        bool,
        typer.Option(
            "--state-lost",
            help="Confirm once that the earlier state is lost and that none of its samples will be "
            "fed again.",
        ),
    ] = False,
    first_lines: Annotated[
        Literal["take", "skip"] | None,
        typer.Option(
            help="Existing lines of a file that this state has not read: skip them, or take them "
            "(only if no node ever read them).",
        ),
    ] = None,
    told_nothing_since: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Confirm that nothing was sent to this former neighbour, which a restored state "
            "can't ask, since the backup.",
        ),
    ] = None,
) -> None:
    """Run a node until it is interrupted (SIGINT, SIGTERM or SIGHUP)."""
    from colme.node import log
    from colme.node.config import NodeConfig
    from colme.node.files import raise_limit
    from colme.node.node import Node
    from colme.node.session.rehearsal import check as check_neighbours

    settings = NodeConfig.load(config)
    if check:
        if state_lost or first_lines or told_nothing_since:
            expected = (
                "it alone: --state-lost, --first-lines and --told-nothing-since are for a start"
            )
            raise ConfigError("--check", "a word beside it", expected)
        findings = asyncio.run(check_neighbours(settings))
        for one in findings:
            typer.echo(f"{'ok ' if one.well else 'BAD'} {one.peer} at {one.address}: {one.words}")
        typer.echo(f"{config}: valid; {len(findings)} neighbours asked")
        _say_what_the_start_will_ask(settings)
        raise typer.Exit(0 if all(one.well for one in findings) else 1)
    log.configure(settings.log, name=str(config))
    member = Node(
        settings,
        state_lost=state_lost,
        first_lines=first_lines,
        told_nothing_since=told_nothing_since or (),
    )
    raise_limit()
    with log.in_a_thread() as write:
        try:
            asyncio.run(_run(member))
        except ColmeError as error:
            # After the log, and no longer to wait for than that is.
            write(f"colme: {error}")
            raise typer.Exit(BAD_INPUT) from None


def _say_what_the_start_will_ask(settings: "NodeConfig") -> None:
    """Print what the start will require about a file that the state has not read."""
    from colme.node.samples.first_lines import first_marks
    from colme.node.state import Overview

    marks: Mapping[str, int] = {}
    lost = False
    if settings.state.is_dir() and any(settings.state.iterdir()):
        found = Overview.of(settings.state)
        marks, lost = found.marks, found.follows_a_loss
    try:
        first_marks(settings.source, marks, None, state_lost=lost)
    except ConfigError as error:
        typer.echo(f"the start will say: {error}")


async def _run(node: "Node") -> None:
    from colme.node.log import logger

    loop, stopped = asyncio.get_running_loop(), asyncio.Event()

    def stop(number: signal.Signals) -> None:
        logger().info("stopping", signal=number.name)
        stopped.set()

    # SIGHUP comes where a terminal is closed. Unhandled it would kill without a word.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop, number)
    async with node as running:
        ways_to_end = {
            asyncio.create_task(stopped.wait()),
            asyncio.create_task(running.failed()),
        }
        done, others = await asyncio.wait(ways_to_end, return_when=asyncio.FIRST_COMPLETED)
        for task in others:
            task.cancel()
        for task in done:
            task.result()
