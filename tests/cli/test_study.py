"""`colme study`: what it prints and writes, and how it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

from colme.cli.app import run

ASKED = "--site who --value hours --bounds 0,10 --epsilon 1,4 --samples 20 --runs 2 --seed 3"


def asked(changed: str = "") -> list[str]:
    """Every option once."""
    words = [*ASKED.split(), *changed.split()]
    options = dict(zip(words[::2], words[1::2], strict=True))
    return [word for option in options.items() for word in option]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    draws = np.random.default_rng(2).uniform(1, 9, 240)
    lines = [f"north {i % 8};{value:.4f}".replace(".", ",") for i, value in enumerate(draws)]
    path = tmp_path / "table.csv"
    path.write_text("\ufeffwho;hours\n" + "\n".join([*lines, "north 1;late", "lonely;3"]) + "\n")
    return path


def test_one_object_and_nothing_else(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["study", str(table), *asked(), "--json"]) == 0
    printed = capsys.readouterr()
    assert all(line.startswith("table.csv: ") for line in printed.err.splitlines())
    told = json.loads(printed.out)
    assert [(one["algorithm"], one["epsilon"]) for one in told["curves"]] == [
        ("relay", 1.0),
        ("relay", 4.0),
    ]
    for curve in told["curves"]:
        assert curve["samples"][-1] == 20
        lengths = {len(curve[name]) for name in ("samples", "mse_over_local", "standard_error")}
        assert len(lengths) == 1
    assert len(told["sites"]) == 2 * 8
    assert {site["samples"] for site in told["sites"]} == {20}
    assert told["left_out"] == [{"site": "lonely", "rows": 1}]
    assert told["bad_rows"] == [
        {"fault": "whose hours is not a finite number", "count": 1, "rows": [242]}
    ]


def test_people_are_told_what_was_left_out_and_what_it_is_worth(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    wide = ["study", str(table), *asked("--bounds -50,50"), "--out", str(out)]
    assert run([*wide, "--algorithm", "relay,local"]) == 0
    printed = capsys.readouterr().out
    assert "Not used: 1 row whose hours is not a finite number: row 242." in printed
    assert "Left out: 1 with fewer than 20 rows: lonely (1)." in printed
    assert "Warning: The bounds -50 to 50 are 13 times as wide as the data" in printed
    assert "relay, epsilon 1: at no count is it clearly better than staying alone." in printed
    assert "Privacy" in (out / "study.html").read_text()
    assert not list(out.glob("unfinished*"))


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ("--value minutes", "value"),
        ("--bounds 0", "bounds"),
        ("--bounds low,high", "--bounds"),
        ("--min-samples 31", "sites"),
        ("--edges nowhere.txt", "edges"),
        ("--mode replay --algorithm paper", "samples"),
        ("--time when", "time"),
    ],
)
def test_what_can_not_be_is_refused_in_a_line(
    table: Path, capsys: pytest.CaptureFixture[str], changed: str, field: str
) -> None:
    assert run(["study", str(table), *asked(changed), "--json"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"colme: {field}: ")
    assert printed.count("\n") == 1


def test_without_a_folder_the_table_is_printed(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = table.read_text().replace("north 1", "ward [north]").replace("north 2", "[/x]")
    table.write_text(text)
    assert run(["study", str(table), *asked()]) == 0
    printed = capsys.readouterr().out
    assert printed.count("ward [north]") == printed.count("[/x]") == 2, "once for each epsilon"
    assert "Saved" not in printed
