"""`colme demo`: real agents in memory, and what they gain."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import track

from colme.cli.printing import plain_console
from colme.cli.running import Epsilon, Seed
from colme.rules.release import level

if TYPE_CHECKING:  # `--help` waits for nothing that computes
    from colme.sim.demonstration import Demonstration


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("demo"),
    rounds: Annotated[
        int, typer.Option(help="Rounds, one sample of each agent a round.", min=1)
    ] = 600,
    epsilon: Epsilon = 1.0,
    seed: Seed = 1,
) -> None:
    """Show in a minute what agents gain by collaborating, and save a picture.

    Real agents exchange real messages in memory, with the recommended algorithm. Each agent sees
    its own samples and the releases of others, nothing else.
    """
    from colme.experiment.run import require_writable
    from colme.report import curves
    from colme.rules.release import Profile
    from colme.sim.demonstration import AGENTS, demonstrate

    Profile.bounded(0, 1, epsilon=epsilon)  # refused before there is a folder
    require_writable(out)
    console = plain_console()
    steps = track(
        range(1, rounds + 1),
        f"{AGENTS} agents",
        console=Console(stderr=True),
        transient=True,
        disable=not console.is_terminal,
    )
    result = demonstrate(rounds, steps, epsilon=epsilon, seed=seed)
    paths = curves.save(curves.demonstration(result, epsilon=epsilon), out, "demo")
    for text in _told(result, epsilon, paths[0]):
        console.print(text)


def _told(result: "Demonstration", epsilon: float, picture: Path) -> list[str]:
    from colme.sim.demonstration import AGENTS, DEGREE, MEANS

    alone, together, ideal = (
        result.errors(one)[-1] for one in (result.local, result.together, result.ideal)
    )
    samples, means = int(result.rounds[-1]), ", ".join(f"{mean:g}" for mean in MEANS)
    return [
        f"Together they are off by {together:.4f}, alone by {alone:.4f}: as if everybody had"
        f" {result.samples_saved:.1f} times as many samples.",
        "",
        f"{AGENTS} agents with {DEGREE} neighbours each took {samples:,} samples each; their true"
        f" means are {means}, and nobody knows who is like it.",
        "No sample left an agent: what others saw is pure epsilon-differentially private for each"
        f" sample, epsilon = {level(epsilon)} (event level, replace-one, counts public).",
        "",
        f"  alone     {alone:.4f}  Local: the mean of one's own samples",
        f"  together  {together:.4f}  relay: one's own samples and what everybody has released",
        f"  at best   {ideal:.4f}  Ideal: all raw data of all who are alike, which nobody has",
        "  (root mean squared errors)",
        "",
        f"The picture: {picture}",
        "",
        "What to do next:",
        "  would it pay for you?     colme study records.csv --site ... --value ... --bounds 0,10"
        " --epsilon 1 --out study",
        "  another setting           colme simulate --agents 100 --degree 8 --out result",
        "  real processes and TLS    colme fleet",
        "  the paper's figure        colme reproduce figure1 --quick --out figure1",
    ]
