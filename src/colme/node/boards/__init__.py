"""The agent's board: what comes is checked and merged, what is news is stored and passed on."""

from colme.node.boards.driver import BoardsDriver
from colme.node.boards.speakers import Speakers

__all__ = ["BoardsDriver", "Speakers"]
