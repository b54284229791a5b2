"""`python -m research NAME`: reproduce one of the project's own results."""

import sys

import typer

from colme.cli import leave
from colme.cli.app import run_app
from research.planner import planner
from research.scale import scale

app = typer.Typer(add_completion=False, help=__doc__)
for command in (planner, scale):
    app.command()(command)

if __name__ == "__main__":
    leave(run_app(app, sys.argv[1:] or ["--help"], "python -m research"))
