"""One source, two ways to run it; stored machine code is never older than its sources."""

import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from colme.inference import compiled as module
from colme.inference.compiled import compiled
from colme.inference.mixture import em

CALL = "import numba, outer; from colme.inference.compiled import compiled; "


def run(code: str, folder: Path | None = None, **environment: str) -> str:
    """What a fresh process prints."""
    path = {} if folder is None else {"PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | path | environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout.strip()


def test_answers_do_not_import_numba_unless_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("numba")
    code = (
        "import sys, colme.inference.answers; from colme.inference.compiled import bring_compiler"
    )
    assert run(f"{code}; print('numba' in sys.modules)") == "False"
    assert run(f"{code}; bring_compiler(); print('numba' in sys.modules)") == "True"
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    monkeypatch.setattr(module, "import_module", None)
    module.bring_compiler()


def test_a_function_is_compiled_as_soon_as_numba_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "numba")
        assert compiled(em) is em
    assert compiled(em) is not em


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files, of which `outer` calls `inner`."""
    pytest.importorskip("numba")
    (tmp_path / "outer.py").write_text("from inner import g\n\ndef f(x):\n    return g(x) + 1\n")
    (tmp_path / "inner.py").write_text("def g(x):\n    return 10 * x\n")
    return tmp_path


@pytest.mark.parametrize("writable", ["package", "user's cache", "nothing"])
def test_an_edited_callee_in_another_file_is_compiled_anew(folder: Path, writable: str) -> None:
    """And what has not changed is taken from the disk, wherever it may be stored."""
    users = folder / "cache"
    if writable != "package":
        (folder / "__pycache__").write_text("no folder")
    if writable == "nothing":
        users.write_text("no folder")
    call = CALL + "f = compiled(outer.f); print(f(2), sum(f.stats.cache_hits.values()))"
    stored = int(writable != "nothing")
    environment = {"XDG_CACHE_HOME": str(users), "PYTHONDONTWRITEBYTECODE": "1"}
    assert run(call, folder, **environment) == "21 0"
    assert run(call, folder, **environment) == f"21 {stored}"
    (folder / "inner.py").write_text("def g(x):\n    return 50 * x\n")
    assert run(call, folder, **environment) == "101 0"
    assert run(call, folder, **environment) == f"101 {stored}"


@pytest.mark.parametrize("package", ["colme.sim.kernel", "colme.sim.engines.baselines"])
def test_compiled_functions_call_those_of_their_own_folder_only(package: str) -> None:
    """Else a digest of that folder would not notice an edit."""
    dispatchers = pytest.importorskip("numba.core.registry").CPUDispatcher
    folder = importlib.import_module(package)
    found = 0
    for file in pkgutil.iter_modules(folder.__path__):
        for name, one in vars(importlib.import_module(f"{package}.{file.name}")).items():
            if isinstance(one, dispatchers):
                found += 1
                source = Path(one.py_func.__code__.co_filename)
                assert source.parent == Path(folder.__path__[0]), (name, source)
    assert found
