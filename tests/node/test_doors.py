"""A name of a node means one thing, and an import brings no more than it needs."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import colme.node

COMPILER = ("numba", "colme.sim")
SERVER = ("uvicorn", "starlette")


def test_a_name_means_one_thing() -> None:
    """No two files of a node define the same public name."""
    found: Counter[str] = Counter()
    for path in Path(*colme.node.__path__).rglob("*.py"):
        if not path.stem.endswith("_pb2"):
            found.update(_defined(ast.parse(path.read_text())))
    assert [name for name, times in found.items() if times > 1] == []


def _defined(tree: ast.Module) -> set[str]:
    names = set()
    for one in tree.body:
        match one:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize(
    ("module", "spared"),
    [
        ("colme.node.wire.codec", ("sqlite3", "grpc", "pydantic", *COMPILER)),
        ("colme.node.state", ("grpc", "pydantic", "cryptography", *SERVER, *COMPILER)),
        ("colme.node.trust.identity", ("grpc", "pydantic", "sqlite3", *SERVER, *COMPILER)),
        ("colme.node.session.neighbourhood", ("grpc", *SERVER)),
        ("colme.node.owner.client", ("grpc", "sqlite3", "structlog", *SERVER, *COMPILER)),
        ("colme.node.fleet", ("grpc", "sqlite3", *SERVER, "numba", "networkx")),
        ("colme.node.node", ("numpy", "networkx", *COMPILER)),
    ],
)
def test_an_import_spares_what_it_does_not_need(module: str, spared: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(*sorted(set({spared!r}) & sys.modules.keys()))"
    # A fresh interpreter: this one has imported everything.
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.split() == []


HEAVY = ("numba", "llvmlite", "scipy", "networkx", "matplotlib", "pandas", "xarray")

ANSWERING = """
import sys
import colme.node.node
from colme import Network, Profile, SeededLaplace
names = [f"node {i}" for i in range(20)]
network = Network.of_equals(
    {name: [names[i - 1], names[(i + 1) % 20]] for i, name in enumerate(names)},
    profile=Profile.bounded(0, 1, epsilon=4),
    noise=SeededLaplace(1),
)
network.run([0.2 + 0.6 * (i % 2)] * 20 for i in range(200))
assert any(one.collaborative for one in network.estimates().values())
print(*sorted(set(HEAVY) & sys.modules.keys()))
"""


def test_a_node_that_answers_has_imported_nothing_heavy() -> None:
    """All that a node runs, and answers that rest on others' records: without what only the
    simulator needs, though it is installed. numba and what it brings along would take 130 MB."""
    run = subprocess.run(
        [sys.executable, "-c", f"HEAVY = {HEAVY!r}\n{ANSWERING}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert run.stdout.split() == []
