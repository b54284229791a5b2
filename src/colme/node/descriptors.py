"""Descriptors: every connection takes one, and a process has only so many."""

from contextlib import suppress

try:
    import resource
except ImportError:  # Windows has no such limit.
    resource = None  # type: ignore[assignment]

ENOUGH = 2**16
"""More than a node ever uses; some systems allow a billion, which costs some libraries time."""
FEWEST = 8


def raise_limit() -> None:
    """Let this process have as many as it may, up to enough."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # As a sandbox may have it: with fewer, then.
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def bearable(most: int) -> int:
    """So many connections at one port, or fewer where that would be a quarter of the descriptors.

    A node has two ports; the other half is for its files, its own calls and what is being accepted.
    """
    if resource is None:
        return most
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else min(most, max(FEWEST, soft // 4))
