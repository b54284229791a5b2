"""A program that runs a module as `python -m` would, and writes down all that it has imported.

    python -P imported.py FILE python -m MODULE ARGUMENTS

So what stands before a command (`Nodes.start(..., through=...)`) looks into its process.
"""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    out, _, _, module, *arguments = sys.argv[1:]
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        Path(out).write_text("\n".join(sys.modules))
