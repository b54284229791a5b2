"""How much relay gains, and that it is never much worse than being alone: measured against bars.

usage: python benchmarks/relay.py [--quick] [--seed N] [ROW ...]

Everybody has everybody's newest record at once. A table in Markdown: each row is a world, played
from t = 1 to 10,000 in 32 runs (64 or 200 where agents are few; --quick: an eighth), with figures
and their standard errors over runs. In bold: beyond its bar by the estimate and two standard
errors. The worst round and class are those with the largest estimate, of about 20 rounds: it is a
little above the truth. ROW is a part of a row's name.
"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from itertools import chain

from colme.inference.compiled import bring_compiler
from relay_measure import Figure, Played
from relay_play import play
from relay_rows import ROWS, Row

QUICK = 8


def played(row: Row, seed: int, runs: int) -> Played:
    """All runs, by round."""
    by_round: Played = {}
    for moment in chain.from_iterable(play(row.world, seed, run) for run in range(runs)):
        by_round.setdefault(moment.round, []).append(moment)
    return by_round


def line(name: str, figure: Figure, moments: Played, rare: bool) -> str:
    """Of the table. In bold: what is beyond its bar by the estimate and two standard errors."""
    cell = figure.read(moments, rare)
    measured = f"{cell.value:.3f} ± {cell.error:.3f}"
    if figure.misses(cell):
        measured = f"**{measured}**"
    where = f" ({cell.where})" if cell.where else ""
    bar = "" if figure.bar is None else f"{figure.bar:g}"
    return f"| {name} | {figure.words} | {measured}{where} | {bar} |"


def main() -> None:
    """All rows, or those whose names have one of the arguments in them."""
    bring_compiler()
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="a part of a row's name")
    parser.add_argument("--quick", action="store_true", help="an eighth of the runs")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    chosen = {
        name: row
        for name, row in ROWS.items()
        if not asked.rows or any(part in name for part in asked.rows)
    }
    if not chosen:
        parser.error(f"no row has {asked.rows} in its name")
    print("| row | figure | measured | bar |\n|---|---|---|---|")
    for name, row in chosen.items():
        moments = played(row, asked.seed, row.runs // QUICK if asked.quick else row.runs)
        for i, figure in enumerate(row.figures):
            print(line("" if i else name, figure, moments, row.world.rare), flush=True)


if __name__ == "__main__":
    main()
