"""What outlives a node: its state on the disk, copies of it, and what its owner may see of it."""

from colme.node.state.change import Change, change
from colme.node.state.copies import backup, restore
from colme.node.state.overview import Overview
from colme.node.state.replaced import replaced_in
from colme.node.state.store import Commit, Store
from colme.node.state.stored import REPEATABLE, to_json

__all__ = [
    "REPEATABLE",
    "Change",
    "Commit",
    "Overview",
    "Store",
    "backup",
    "change",
    "replaced_in",
    "restore",
    "to_json",
]
