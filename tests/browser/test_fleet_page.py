"""`colme fleet --watch`: a page over real nodes, in a real browser."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from support.elsewhere import PATIENCE

SIZE = ["--agents", "3", "--degree", "2", "--rounds", "60", "--means", "0.5"]


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "colme", "fleet", *SIZE, "--watch", "--out"]
    with subprocess.Popen(
        [*command, str(tmp_path / "kept")], stdout=subprocess.PIPE, text=True
    ) as it:
        yield it
        it.kill()


def test_all_nodes_are_on_one_page_until_the_command_is_interrupted(
    page: Page, fleet: "subprocess.Popen[str]", tmp_path: Path, troubles: list[str]
) -> None:
    assert fleet.stdout is not None
    found = re.search(r"http://127\.0\.0\.1:\d+/", fleet.stdout.readline())
    assert found is not None
    page.goto(found[0])
    patience = 2000 * PATIENCE
    expect(page.locator("#plan")).to_contain_text("epsilon = 4 for each sample", timeout=patience)
    rows = page.locator("#nodes tbody tr")
    expect(rows).to_have_count(3, timeout=patience)
    expect(page.get_by_text("done", exact=True)).to_have_count(3, timeout=patience)
    for i in range(3):
        expect(rows.nth(i)).to_contain_text(f"node00{i}")
        expect(rows.nth(i)).to_contain_text("600", timeout=patience)
        expect(rows.nth(i)).to_contain_text("2 of 2")
        expect(rows.nth(i)).to_contain_text("2 others have released something")
    expect(page.locator("#words")).to_contain_text("after 600 samples each")
    expect(page.locator("#worth")).to_have_text("1")

    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert troubles == []

    said = iter(fleet.stdout.readline, "")
    assert any("stay until Ctrl-C" in line for line in said)
    fleet.send_signal(signal.SIGINT)
    assert fleet.wait(PATIENCE) == 0
    expect(page.get_by_role("alert")).to_contain_text("The fleet has ended", timeout=patience)
