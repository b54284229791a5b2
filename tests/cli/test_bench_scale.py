"""`colme bench --scale` shows what was measured, as a table, a picture or JSON."""

import json
from pathlib import Path

import pytest

from colme.cli.app import run
from colme.sim import scale

SIZES = [
    scale.Size(
        agents=agents,
        threads=threads,
        built_seconds=0.5,
        nanoseconds=75.8,
        wall_nanoseconds=50.0,
        graph_bytes=128.0,
        held_bytes=106.0,
        peak_bytes=350.0,
    )
    for agents, threads in ((1_000, 1), (10_000, 1), (10_000, 2))
]


@pytest.fixture(autouse=True)
def _measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def sizes(largest: int, threads: int) -> list[scale.Size]:
        return [one for one in SIZES if one.agents <= largest]

    monkeypatch.setattr(scale, "sizes", sizes)
    monkeypatch.setattr(scale, "bandwidth", lambda: 2e10)


def test_the_table_has_every_size_and_its_share_of_the_bandwidth(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """758 bytes in 75.8 ns are 10 GB/s: half of what the memory does."""
    monkeypatch.setenv("COLUMNS", "160")
    assert run(["bench", "--scale"]) == 0
    printed = capsys.readouterr().out
    rows = [line for line in printed.splitlines() if "20.0" in line and "0.50" in line]
    assert len(rows) == len(SIZES)
    assert "20.0 GB/s" in printed


def test_sizes_are_never_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert run(["bench", "--scale"]) == 0
    printed = capsys.readouterr().out
    assert printed.count(" 10,000 ") == 2
    assert "…" not in printed


def test_json_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of sizes up to the largest that was asked for; the picture has a dot for each."""
    picture = tmp_path / "scale.svg"
    asked = ["bench", "--scale", "--json", "--largest", "1000", "--picture", str(picture)]
    assert run(asked) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [one["agents"] for one in answer["sizes"]] == [1_000]
    assert answer["bandwidth"] == 2e10
    assert "<svg" in picture.read_text()
