"""xr.Dataset for people: in a notebook, as a table, as CSV."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from colme.cli.app import run
from colme.errors import ConfigError
from colme.sim.results import load, save
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate
from support.refusing import refused

STUDY = Scenario.build(
    agents=20,
    graph={"degree": [4, 6]},
    epsilon=[1, float("inf")],
    rounds=20,
    runs=8,
    algorithms=["local", {"algorithm": "oracle", "name": "<all> & knowing"}],
)


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    return simulate(STUDY)


def test_a_notebook_shows_a_summary(result: xr.Dataset, tmp_path: Path) -> None:
    save(result, tmp_path / "result.nc")
    for shown in (result, load(str(tmp_path))):
        head = shown.colme._repr_html_()
        assert "After 20 rounds, 8 runs" in head
        assert head.count("<tr>") == 1 + 2 * 2 * 2
        assert "&lt;all&gt; &amp; knowing" in head


def test_a_table_has_a_row_for_each_cell_and_round(result: xr.Dataset, tmp_path: Path) -> None:
    path = tmp_path / "result.csv"
    result.colme.to_csv(str(path))
    read = pd.read_csv(path)
    assert len(read) == result.mse.size
    row = read[(read.algorithm == "local") & (read.epsilon == np.inf) & (read.degree == 6)].iloc[-1]
    cell = result.sel(algorithm="local", epsilon=np.inf, degree=6, t=20)
    assert row.mse == pytest.approx(float(cell.mse), rel=1e-12)
    assert row.mse_local == pytest.approx(float(cell.mse_local), rel=1e-12)
    assert [path.name for path in tmp_path.iterdir()] == ["result.csv"]


def test_what_was_not_kept_has_no_table(result: xr.Dataset) -> None:
    for of in ("agents", "agent"):
        with refused(ConfigError, "of"):
            result.colme.table(of)


def test_the_command_writes_csv_besides(tmp_path: Path) -> None:
    small = "simulate --agents 12 --degree 4 --rounds 20 --runs 2 --algorithm local --json --csv"
    path = tmp_path / "new" / "table.csv"
    assert run([*small.split(), str(path)]) == 0
    assert path.read_text().startswith("algorithm,epsilon,degree,t,mse,")


@pytest.mark.parametrize(("notebook", "report"), [(True, None), (True, print), (False, None)])
def test_a_notebook_gets_a_progress_bar_unless_somebody_reports(
    notebook: bool, report: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    @contextmanager
    def progress(label: str, total: int) -> Iterator[Any]:
        shown.append(label)
        yield lambda _: None

    shell = SimpleNamespace(kernel=object()) if notebook else SimpleNamespace()
    ipython = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr("colme.sim.simulation.progress", progress)
    simulate(STUDY, report=report)
    assert shown == (["simulating"] if notebook and report is None else [])
