"""States that earlier versions have stored (tests/states), to be opened by this one."""

import json
from dataclasses import replace
from pathlib import Path
from shutil import copyfile
from typing import Any

from colme.node.state.database import FILE
from colme.protocol.board.identity import InProcess
from colme.protocol.rounds.paper import Paper
from colme.protocol.settings import Settings
from colme.relay import Relay
from colme.rules.release import Profile

STATES = Path(__file__).parent.parent / "states"
SNAPSHOTS = sorted(STATES.glob("*/*.json"))
FILES = sorted(STATES.glob("*/*.sqlite"))
RELAY = STATES / "v0.2.0-dev" / "relay" / "a.sqlite"
"""Of agent `a` of four that relay: twenty samples, each released, and the records of all."""
FLEET = sorted(STATES.glob("*/fleet/*.sqlite"))
"""Of nodes that were neighbours, by their names."""


def settings_of(path: Path) -> Settings:
    """Settings for the agent whose state it is, to go on with relay."""
    squares = path.stem.endswith("-squares")
    return Settings(
        name="a",
        identity=InProcess("a"),
        neighbours=("b", "c", "d"),
        profile=Profile.bounded(0, 1, epsilon=4, sigma2=None if squares else 0.02),
        algorithm=Relay(release_squares=squares),
    )


PAPER = [path for path in FILES if path.stem == "paper-known"]
"""Those that `paper` opens; all go on with relay."""


def paper_of(path: Path) -> Settings:
    """Settings for the agent whose state it is, to go on in rounds."""
    return replace(settings_of(path), algorithm=Paper(), identity=None)


def story_of(path: Path) -> dict[str, Any]:
    """The snapshot in it, the events that followed, and what the agent ended with."""
    story: dict[str, Any] = json.loads(path.with_suffix(".json").read_text())
    return story


def put_into(folder: Path, path: Path) -> Path:
    """A copy of a stored state, in the place of a node's; never the file itself."""
    folder.mkdir(exist_ok=True)
    copyfile(path, folder / FILE)
    (folder / FILE).chmod(0o600)
    return folder
