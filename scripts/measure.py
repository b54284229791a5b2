"""Print the weight of the project: what a reader has to walk through, as a table.

A statement is an `ast.stmt` node that is not a docstring: it stays the same when lines are joined,
squeezed or moved. An import edge goes from one module of `src` to another one that it imports.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
FEW_LINES = 60
"""A file with fewer lines needs a reason."""
GENERATED = "_pb2.py"


def files(folder: Path) -> list[Path]:
    """Return the Python files of a folder that people wrote; a missing folder has none."""
    return sorted(path for path in folder.rglob("*.py") if not path.name.endswith(GENERATED))


def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def statements(tree: ast.Module) -> int:
    """Count statements, without docstrings (those of attributes included)."""
    return sum(isinstance(node, ast.stmt) and not _is_docstring(node) for node in ast.walk(tree))


def _is_docstring(node: ast.stmt) -> bool:
    constant = node.value if isinstance(node, ast.Expr) else None
    return isinstance(constant, ast.Constant) and isinstance(constant.value, str)


def comments(path: Path) -> int:
    """Count lines that are comments alone."""
    return sum(line.lstrip().startswith("#") for line in path.read_text("utf-8").splitlines())


def module_name(path: Path) -> str:
    """Return the dotted name of a source file."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.Module, modules: set[str]) -> Iterator[str]:
    """Yield the modules of `modules` that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                whole = f"{node.module}.{one.name}"
                if whole in modules:
                    yield whole
                elif node.module in modules:
                    yield node.module


def public_names(tree: ast.Module) -> int:
    """Count functions and classes at the top of a file without a leading underscore."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return sum(isinstance(node, kinds) and not node.name.startswith("_") for node in tree.body)


def commands_and_options() -> tuple[int, int]:
    """Count commands, with those of groups, and all that can be given to them."""
    import typer

    from colme.cli import app

    def leaves(command: Any) -> Iterator[Any]:
        below = getattr(command, "commands", None)
        if below is None:
            yield command
        else:
            for one in below.values():
                yield from leaves(one)

    whole = list(leaves(typer.main.get_command(app._application(app.COMMANDS))))
    return len(whole), sum(len(command.params) for command in whole)


def measured() -> list[tuple[str, str]]:
    """Return the rows of the table."""
    source = files(SOURCE)
    trees = {module_name(path): parsed(path) for path in source}
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in source}
    edges = {
        (name, other)
        for name, tree in trees.items()
        for other in imported(tree, set(trees))
        if other != name
    }
    importers = Counter(other for _, other in edges)
    weights = {
        name: sum(statements(parsed(path)) for path in files(ROOT / name))
        for name in ("src", "benchmarks", "research", "tests")
    }
    beside = weights["src"] + weights["benchmarks"] + weights["research"]
    commands, options = commands_and_options()
    prose = sum(path.read_text("utf-8").count("match=") for path in files(ROOT / "tests"))
    rows = {
        "lines in src": sum(lines.values()),
        "comment lines in src": sum(map(comments, source)),
        **{f"statements in {name}": weight for name, weight in weights.items()},
        "statements in src, benchmarks and research": beside,
        "files in src": len(source),
        f"files in src under {FEW_LINES} lines": sum(n < FEW_LINES for n in lines.values()),
        "import edges": len(edges),
        "modules with one importer": sum(count == 1 for count in importers.values()),
        "public names": sum(map(public_names, trees.values())),
        "commands": commands,
        "options and arguments": options,
        "tests that match prose (match=)": prose,
    }
    return [(name, f"{value:,}") for name, value in rows.items()]


if __name__ == "__main__":
    for name, value in measured():
        print(f"{name:<46}{value:>8}")
