"""Measurements of simulator, node and pages on this machine.

Run them from a clone of the project: `python -m benchmarks speed`, and likewise every other file
of this folder that has a `main`. None of this is installed with the package.
"""

import json
from collections.abc import Mapping
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def show(measured: Mapping[str, object], as_json: bool) -> None:
    """Print what was measured: as JSON, or as indented lines with a number each."""
    typer.echo(json.dumps(measured) if as_json else _lines(measured).lstrip())


def _lines(measured: object, indent: str = "") -> str:
    if not isinstance(measured, Mapping):
        return f"{measured:,.3f}"
    return "".join(
        f"\n{indent}{str(name).replace('_', ' ')}: {_lines(one, indent + '  ')}"
        for name, one in measured.items()
    )
