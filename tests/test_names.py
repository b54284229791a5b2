"""A name means one thing: no two files of the package define a class of the same name."""

import ast
from collections import defaultdict
from pathlib import Path

import colme


def test_no_class_is_defined_twice() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in Path(*colme.__path__).rglob("*.py"):
        if path.stem.endswith("_pb2"):
            continue  # the wire's own description of the messages
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.name)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
