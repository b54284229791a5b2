"""What is handed on: a wheel that has all that pages are made of, and an sdist with its tests."""

import tarfile
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import hatchling.build
import pytest

import colme
from colme.pages.assets import assets

ROOT = Path(__file__).parent.parent
VENDORED = "src/colme/pages/vendored"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as here:
        here.chdir(ROOT)
        hatchling.build.build_wheel(str(made))
        hatchling.build.build_sdist(str(made))
    return made


def test_a_wheel_has_every_file_of_every_page_and_every_licence(folder: Path) -> None:
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as opened:
        names = set(opened.namelist())
        info = f"colme-{colme.__version__}.dist-info"
        described = message_from_bytes(opened.read(f"{info}/METADATA"))
        licences = {opened.read(name) for name in names if name.startswith(f"{info}/licenses/")}
    assert {f"colme/pages/{name}" for name in assets()} <= names
    assert {"owner/page.html", "fleet/page.html", "study/page.js"} <= set(assets())
    assert {"colme/py.typed", "colme/__init__.pyi"} <= names
    assert {"colme", info} == {name.partition("/")[0] for name in names}, "and nothing else"
    texts = {path.read_bytes() for path in [ROOT / "LICENSE", *ROOT.glob(f"{VENDORED}/*/LICENSE")]}
    assert len(texts) == 3, "ours, uPlot's and d3's"
    assert licences == texts
    assert described["License-Expression"] == "MIT AND ISC"
    assert "Typing :: Typed" in described.get_all("Classifier", [])


def test_an_sdist_has_its_tests_and_what_they_read(folder: Path) -> None:
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    kept = {
        f"{path.relative_to(ROOT)}"
        for room in ("tests", "src", "benchmarks", "research")
        for path in (ROOT / room).rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")
    }
    assert kept <= names
    needed = {"pyproject.toml", "CITATION.cff", "README.md", "docs/own.md", "scripts/test"}
    assert needed <= names
