"""The mutants fit the code, and what tries them tells survivors from those that were noticed."""

from dataclasses import replace
from pathlib import Path

import pytest

from mutants.__main__ import main
from mutants.mutant import Mutant, Outdated, catalogue, in_turn
from mutants.report import page, summary
from mutants.trial import Outcome, Sound, Verdict, trials

TREE = Path(__file__).parents[2]
MUTANTS = {mutant.name: mutant for mutant in catalogue()}

CODE = "def noisy(x, draw):\n    return x + draw\n"
TESTS = """
from code_under_test import noisy

def test_that_it_can_be_called():
    noisy(1, 2)

def test_its_noise():
    assert noisy(1, 2) == 3
"""
BREAK = Mutant(
    name="no-noise",
    breaks="There is none",
    file="src/code_under_test.py",
    old="x + draw",
    new="x",
    tests=("tests/test_it.py",),
)


def small_tree(folder: Path, tests: str = TESTS) -> Sound:
    for path, text in (("src/code_under_test.py", CODE), ("tests/test_it.py", tests)):
        (folder / "tree" / path).parent.mkdir(parents=True)
        (folder / "tree" / path).write_text(text)
    (folder / "tree" / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    return Sound(folder / "tree", folder)


@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_fits_the_code_and_names_tests_that_are_there(
    name: str, tmp_path: Path
) -> None:
    """One that does not is to be written anew, or taken out with what it broke."""
    mutant = MUTANTS[name]
    (tmp_path / mutant.file).parent.mkdir(parents=True)
    (tmp_path / mutant.file).write_text((TREE / mutant.file).read_text())
    mutant.apply(tmp_path)
    compile((tmp_path / mutant.file).read_text(), mutant.file, "exec")
    assert (tmp_path / mutant.file).read_text() != (TREE / mutant.file).read_text()
    for test in mutant.tests:
        path, _, function = test.partition("::")
        assert f"def {function}" in (TREE / path).read_text()


@pytest.mark.parametrize("old", ["not there", "x"])
def test_what_is_not_there_once_is_not_replaced(old: str, tmp_path: Path) -> None:
    small_tree(tmp_path)
    with pytest.raises(Outdated, match=r"0 times|2 times"):
        replace(BREAK, old=old).apply(tmp_path / "tree")
    with pytest.raises(Outdated, match="0 times in src/gone"):
        replace(BREAK, file="src/gone.py").apply(tmp_path / "tree")


OUTCOMES: dict[str, tuple[Mutant, Verdict, str]] = {
    "noticed": (BREAK, Verdict.NOTICED, "tests/test_it.py::test_its_noise"),
    "by no test": (
        replace(BREAK, tests=("tests/test_it.py::test_that_it_can_be_called",)),
        Verdict.SURVIVED,
        "test_that_it_can_be_called",
    ),
    "outdated": (replace(BREAK, old="x - draw"), Verdict.OUTDATED, "0 times"),
    "no code": (replace(BREAK, new="x +"), Verdict.UNTRIED, "pytest ended with code 2"),
    "a slip": (replace(BREAK, new="y"), Verdict.UNTRIED, "no working code: NameError"),
    "no such test": (
        replace(BREAK, tests=("tests/test_it.py::test_gone",)),
        Verdict.UNTRIED,
        "pytest ended with code 4",
    ),
}


def test_each_outcome_is_told_from_the_others_and_the_tree_stays_as_it_is(tmp_path: Path) -> None:
    sound = small_tree(tmp_path)
    mutants = [replace(mutant, name=name) for name, (mutant, *_) in OUTCOMES.items()]
    found = {outcome.mutant.name: outcome for outcome in trials(sound, mutants)}
    assert found.keys() == OUTCOMES.keys()
    for name, (_, verdict, words) in OUTCOMES.items():
        assert found[name].verdict is verdict, found[name]
        assert words in found[name].detail
    assert (tmp_path / "tree" / BREAK.file).read_text() == CODE
    assert (tmp_path / "sound" / BREAK.file).read_text() == CODE


@pytest.mark.parametrize(("claim", "fails"), [("== 3", False), ("== 4", True)])
def test_tests_that_fail_without_a_mutant_are_told(claim: str, fails: bool, tmp_path: Path) -> None:
    sound = small_tree(tmp_path, TESTS.replace("== 3", claim))
    assert ("test_its_noise" in sound.failing(BREAK.tests)) == fails


def test_a_sample_goes_on_every_day_until_all_have_been_tried() -> None:
    mutants = [replace(BREAK, name=str(number)) for number in range(7)]
    days = [{mutant.name for mutant in in_turn(mutants, 3, day)} for day in (100, 101, 102)]
    assert days == [set("246"), set("035"), set("146")]
    assert set.union(*days) == {mutant.name for mutant in mutants}
    assert len(in_turn(mutants, 99, 100)) == 7


def test_a_name_is_one_mutants(tmp_path: Path) -> None:
    for file in ("a.toml", "b.toml"):
        (tmp_path / file).write_text('[same]\nbreaks = ""\ntests = []\n')
    with pytest.raises(ValueError, match="every name once"):
        catalogue(tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        "no-such-mutant",
        "--sample 0",
        "scales-swapped --write page.md",
        "--sample 1 --write page.md",
    ],
)
def test_what_can_not_be_asked_for_is_refused_before_anything_is_tried(
    arguments: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(arguments.split())
    assert refused.value.code == 2
    assert "expected" in capsys.readouterr().err


def test_some_can_be_listed_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "scales-swapped"]) == 0
    assert capsys.readouterr().out.startswith("scales-swapped: ")


def test_the_page_has_a_row_for_each_and_says_how_many_survived() -> None:
    outcomes = [
        Outcome(replace(BREAK, survived_once=True), Verdict.NOTICED, "tests/t.py::test_it[a long]"),
        Outcome(replace(BREAK, name="another"), Verdict.SURVIVED, "tests/t.py"),
    ]
    assert summary(outcomes) == "2 mutants, 1 noticed, 1 survived"
    text = page(outcomes)
    assert "| no-noise\\* | There is none | `src/code_under_test.py` | `t.py::test_it` |" in text
    assert "| another | There is none | `src/code_under_test.py` | `SURVIVED` |" in text
