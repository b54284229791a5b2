"""The page of a study: one file, opened from a disk, offline, in a real browser."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import colme
from colme.studies.result import PAGE, TITLE

pytestmark = pytest.mark.usefixtures("silent")

NASTY = '</script><script>document.title = "taken"</script><img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draws = np.random.default_rng(8)
    rows = {f"site {i}": draws.uniform(0, 10, 60) for i in range(8)} | {
        NASTY: draws.uniform(0, 10, 60)
    }
    found = colme.study(
        rows,
        bounds=(0, 10),
        epsilon=(1, float("inf")),
        samples=30,
        runs=2,
        algorithm=["relay", "local"],
    )
    folder = tmp_path_factory.mktemp("study")
    found.save(folder)
    return folder / PAGE


def test_it_opens_from_a_disk_without_a_network_and_draws_every_curve(
    page: Page, study: Path
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.context.set_offline(True)
    page.goto(study.as_uri())
    expect(page).to_have_title(TITLE)
    expect(page.locator("#errors .uplot")).to_have_count(2)
    expect(page.locator("#counts .uplot")).to_have_count(2)
    label = page.get_by_role("img").first.get_attribute("aria-label")
    assert label is not None
    assert label.startswith("Squared error as a multiple of that alone, epsilon 1. Last: relay")
    expect(page.get_by_role("heading", name="Privacy")).to_be_visible()
    expect(page.get_by_role("cell", name=NASTY, exact=True).first).to_be_visible()
    assert [url for url in asked if not url.startswith("data:")] == [study.as_uri()]


def test_sites_can_be_sorted_by_keyboard(page: Page, study: Path) -> None:
    page.goto(study.as_uri())
    table = page.get_by_role("table").first
    head = table.get_by_role("columnheader", name="mean")
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    column = table.locator("tbody tr td:nth-child(4)")
    means = [float(text) for text in column.all_inner_texts()]
    assert means == sorted(means, reverse=True)
    assert len(means) == 9
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert [float(text) for text in column.all_inner_texts()] == sorted(means)


def test_it_fits_a_phone_and_the_dark(page: Page, study: Path) -> None:
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(study.as_uri())
    expect(page.locator("#errors .uplot")).to_have_count(2)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_without_scripts_figures_stand_in_their_place(browser: Browser, study: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(study.as_uri())
    expect(page.locator("noscript svg")).to_have_count(2)
    expect(page.locator("noscript svg").first).to_be_visible()
    context.close()
