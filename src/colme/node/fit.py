"""Whether a state is fit for a start: what its owner says of it, and feeds it, is true of it."""

from colme.errors import ConfigError
from colme.node.config import NodeConfig, SyntheticSource
from colme.node.state import REPEATABLE, Store, replaced_in


def require_empty(store: Store) -> None:
    """A loss is believed by a state that has neither samples nor a place in any file.

    A place that a start without the word has stored says nothing of what was read before.
    """
    if store.taken or store.marks.keys() - {REPEATABLE}:
        folder = store.folder
        begun = store.taken or store.floor
        expected = (
            "an empty state: only what was lost can be begun anew. "
            f"{'If this is not the newest, move' if begun else 'Move'} {folder} away, whole, "
            f"and say it again{'; else start without it' if begun else ''}"
            f"{replaced_in(folder)}"
        )
        seen = f"the state in {folder}, which has begun with samples or a file"
        raise ConfigError("--state-lost", seen, expected)


def noise_mark(config: NodeConfig, store: Store) -> dict[str, int]:
    """Noise that can be repeated must never meet real samples, not even in an old state.

    So a state has one kind from its first commit on, whether or not it took a sample in: those
    that a later start takes in may wait for their noise until yet another.
    """
    source = config.source
    repeatable = isinstance(source, SyntheticSource) and source.noise_seed is not None
    real = bool(store.marks.keys() - {REPEATABLE})  # Places in files: real samples came.
    before = store.marks.get(REPEATABLE, 0 if store.taken else None)
    if (before is not None and before != repeatable) or (real and repeatable):
        seen = f"{source.kind}, with {'repeatable' if repeatable else 'secure'} noise"
        whose = "a trial" if repeatable else "real samples"
        expected = f"a state of its own for {whose}: the one in {store.folder} is not"
        raise ConfigError("source", seen, expected)
    return {REPEATABLE: int(repeatable)}
