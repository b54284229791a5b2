"""Rules of this house that nothing else checks."""

import re
from pathlib import Path

import colme

TESTS = Path(__file__).parent

NAP = re.compile(r"\bsleep\b(?!\(0\)|\", nap)|\bwait\([\d.]")
"""Not `asyncio.sleep(0)`, which lets others run and takes no time, nor what stands in for it."""


def test_tests_wait_for_conditions_and_not_for_time_to_pass() -> None:
    """Within a loop `support.waiting` does, and for other processes `support.elsewhere`.

    Those tell nobody what happens in them: that module, and no other, naps between two looks.
    """
    naps = {path for path in TESTS.rglob("*.py") if NAP.search(path.read_text())}
    assert naps == {TESTS / "support" / "elsewhere.py"}


def test_tables_of_the_command_line_are_shown_so_that_no_name_is_cut() -> None:
    """On a narrow terminal `Console.print` cuts: 1,000,000 and 1,000,500 look the same."""
    folders = (Path(colme.__file__).parent / "cli", TESTS.parent / "research")
    files = [path for folder in folders for path in folder.glob("*.py")]
    texts = {path.name: path.read_text() for path in files if path.name != "printing.py"}
    with_tables = {name for name, one in texts.items() if "table_of" in one or "rich.table" in one}
    shown = {name for name, one in texts.items() if re.search(r"import .*\bshow\b", one)}
    assert len(with_tables) > 5
    assert with_tables <= shown


def test_what_is_cited_is_this_version() -> None:
    cited = (TESTS.parent / "CITATION.cff").read_text()
    assert f"\nversion: {colme.__version__}\n" in cited
