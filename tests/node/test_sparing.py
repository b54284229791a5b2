"""A node's process has imported what an idle node needs, and numpy only once its owner has asked.

What that is in megabytes `python -m benchmarks node` measures (docs/node.md).
"""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

from colme.node.fleet import Member, Plan, prepare
from colme.node.sparing import hidden
from support import imported
from support.processes import ENDLESS, HTTP, Nodes, ask, rewritten

NUMERIC = {"numpy", "colme.inference"}
"""What an answer from a board needs."""
SPARED = {
    *("rich", "pygments", "greenlet"),
    *("opendp.prelude", "opendp.extras", "opendp.context", "polars", "sklearn"),
    *("numba", "llvmlite", "scipy", "networkx", "matplotlib", "pandas", "xarray"),
    *("colme.sim", "colme.graph", "colme.planner", "unittest"),
}
"""What is installed here, and a node has no use for."""
NEEDED = {"grpc", "opendp.measurements", "cryptography", "colme.node.boards", "structlog"}


def test_what_is_hidden_is_not_to_be_found_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    with pytest.raises(ModuleNotFoundError, match="this"), hidden("this"):
        import_module("this")
    assert "this" not in sys.modules
    with hidden("json"):
        assert import_module("json") is json  # Somebody has it already.
    assert sys.modules["json"] is json


def modules_of(nodes: Nodes, member: Member, written: Path) -> set[str]:
    """All that a node had imported when it ended."""
    nodes.stop(member)
    return set(written.read_text().split())


def test_a_node_imports_numpy_when_its_owner_asks_and_not_before(tmp_path: Path) -> None:
    """Two nodes of a relay, connected, with both their releases on both boards; one is asked."""
    plan = Plan(agents=2, degree=1, rounds=ENDLESS, means=(0.5,))
    members = [
        rewritten(member, HTTP | {"pace": "interval = 0.1"})
        for member in prepare(plan, tmp_path / "fleet")
    ]
    asked, idle = members
    written = {one.name: tmp_path / f"{one.name} imported" for one in members}
    with Nodes() as nodes:
        for one in members:
            through = (sys.executable, "-P", imported.__file__, str(written[one.name]))
            nodes.start(one, through=through)
        nodes.ready(*members)
        for one in members:
            assert ask(one, "/samples", [0.4, 0.5, 0.6] * 10) == (200, '{"taken":30}')
        for one in members:
            nodes.until(
                f"both releases at {one.name}",
                lambda one=one: nodes.status(one).records == 2,  # type: ignore[misc]
            )
        code, answer = ask(asked, "/estimate")
        assert code == 200
        assert json.loads(answer)["samples"] == 30
        of_idle, of_asked = (modules_of(nodes, one, written[one.name]) for one in (idle, asked))
    assert of_idle >= NEEDED
    assert of_idle & (SPARED | NUMERIC) == set()
    assert of_asked >= NUMERIC
    assert of_asked & SPARED == set()
