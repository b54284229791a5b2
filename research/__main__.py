"""`python -m research NAME`: reproduce one of the project's own results."""

import sys

import typer

from colme.cli import leave
from colme.cli.app import run_app
from research.examples import PASSED_ON, schools, wards
from research.figure3 import figure3
from research.harm import harm
from research.planner import planner
from research.scale import scale

app = typer.Typer(add_completion=False, help=__doc__)
for command in (harm, figure3, planner, scale):
    app.command()(command)
for example in (schools, wards):
    app.command(context_settings=PASSED_ON)(example)

if __name__ == "__main__":
    leave(run_app(app, sys.argv[1:] or ["--help"], "python -m research"))
