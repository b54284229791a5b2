"""What outlives a node: its state on the disk, copies of it, and what its owner may see of it."""

from colme.node.state.change import Change, change
from colme.node.state.copies import backup, newest_instead, replaced_in, restore
from colme.node.state.overview import Overview
from colme.node.state.promise import require_promise
from colme.node.state.store import Commit, Store
from colme.node.state.stored import BATCHES, REPEATABLE, Kept, RequestId, is_seal, seal_of, to_json

__all__ = [
    "BATCHES",
    "REPEATABLE",
    "Change",
    "Commit",
    "Kept",
    "Overview",
    "RequestId",
    "Store",
    "backup",
    "change",
    "is_seal",
    "newest_instead",
    "replaced_in",
    "require_promise",
    "restore",
    "seal_of",
    "to_json",
]
