"""A process that is a node's alone spares what libraries take along only because it is installed.

structlog takes rich, to show local variables in tracebacks, which a node never does, and greenlet,
which it has none of. OpenDP takes numpy, in case it is given arrays: noise is one integer at a
time. Together they are 14 MB of memory (docs/node.md). A program that embeds a node may have a use
for them, so they are spared by `colme node` and by nothing else.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def hidden(*packages: str) -> Iterator[None]:
    """While it lasts these are not to be found, unless they are imported already.

    Before there are threads: what another one imports meanwhile would not find them either.
    """
    found = [name for name in packages if name not in sys.modules]
    sys.modules.update(dict.fromkeys(found))  # type: ignore[arg-type]  # None: as if not installed
    try:
        yield
    finally:
        for name in found:
            del sys.modules[name]


def import_opendp_alone() -> None:
    """Without numpy, which is imported when somebody else needs it."""
    with hidden("numpy"):
        try:
            import opendp._convert
            import opendp.measurements
        except ImportError:
            return  # Whoever draws noise will say so.
    # It looks for numpy once more at every number, in case that is an array. Nothing can be one as
    # long as nobody has imported numpy.
    look_for: Any = getattr(opendp._convert, "import_optional_dependency", None)
    if look_for is None:
        return

    def if_imported(name: str, raise_error: bool = True) -> Any:
        return look_for(name, raise_error) if raise_error or name in sys.modules else None

    opendp._convert.import_optional_dependency = if_imported
