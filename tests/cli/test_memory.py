"""A study that does not fit into memory is refused before it is begun."""

from pathlib import Path

import pytest

from colme.cli import memory
from colme.cli.app import BAD_INPUT, run

SMALL = "--agents 20 --degree 4 --algorithm oracle --rounds 20 --runs 4"


def test_too_much_is_refused_with_what_would_help(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "of_this_machine", lambda: 8 * 2**30)
    out = tmp_path / "out"
    assert (
        run(["simulate", "--agents", "10000000", "--threads", "1", "--out", str(out)]) == BAD_INPUT
    )
    told = capsys.readouterr().err
    assert "10,000,000 agents, about" in told
    assert "where 8.0 GiB are" in told
    assert "--force" in told
    assert not out.exists()


def test_with_force_it_is_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "of_this_machine", lambda: 1)
    monkeypatch.setattr(memory, "WORTH_SAYING", 1)
    assert run(["simulate", *SMALL.split(), "--out", str(tmp_path)]) == BAD_INPUT
    capsys.readouterr()
    assert run(["simulate", *SMALL.split(), "--out", str(tmp_path), "--force"]) == 0
    assert "of memory will be taken" in capsys.readouterr().err


def test_a_containers_limit_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "LIMIT", limit)
    whole = memory.of_this_machine()
    assert whole is not None
    limit.write_text("max\n")
    assert memory.of_this_machine() == whole
    limit.write_text("4096\n")
    assert memory.of_this_machine() == 4096
