"""`colme explore` in a real browser."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from colme.cli.app import run
from colme.explore import choices
from support.exploring import exploring

QUICK = "#agents=12&rounds=20&epsilon=4"
ALL = "All 2 runs are in."
ROUND = "Number(document.getElementById('standing').textContent.match(/Round (\\d+)/)[1])"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with exploring() as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(choices, "RUNS", 2)  # Seconds, not minutes.
        yield server.address


@pytest.fixture
def explorer(page: Page, address: str, silent: None) -> Page:
    """The page with all its curves."""
    page.set_default_timeout(120_000)
    page.goto(address + QUICK)
    expect(page.locator("#progress")).to_have_text(ALL, timeout=120_000)
    return page


def _curves(page: Page) -> list[str]:
    return page.locator("#errors .chart-legend li").all_text_contents()


def test_it_shows_curves_and_a_network_with_a_button_for_each_agent(explorer: Page) -> None:
    names = [words.split()[0] for words in _curves(explorer)]
    assert names == ["relay", "paper", "Local:", "Ideal", "Ideal"]
    assert explorer.locator("#harms .chart-legend li").count() == 4
    assert explorer.locator("#network button").count() == 12
    assert explorer.locator("#control-epsilon").get_attribute("aria-valuetext") == "4"


def test_a_slider_changes_curves_and_the_link_reproduces_them(explorer: Page, address: str) -> None:
    before = _curves(explorer)
    slider = explorer.get_by_label("Spread, sigma")
    slider.focus()
    slider.press("ArrowRight")
    explorer.wait_for_function("() => location.hash.includes('sigma=0.3')")
    expect(explorer.locator("#progress")).to_have_text(ALL, timeout=120_000)
    changed = _curves(explorer)
    assert changed != before
    link = explorer.url
    other = explorer.context.new_page()
    other.goto(link)
    expect(other.locator("#progress")).to_have_text(ALL, timeout=120_000)
    assert _curves(other) == changed
    assert other.locator("#control-sigma").get_attribute("aria-valuetext") == "0.3"
    assert other.locator("#control-agents").get_attribute("aria-valuetext") == "12"


@pytest.mark.usefixtures("silent")
def test_it_plays_pauses_and_steps(page: Page, address: str) -> None:
    explorer, asked = page, list[str]()
    page.on("websocket", lambda one: one.on("framesent", lambda text: asked.append(str(text))))
    page.goto(address + QUICK)
    page.locator("#network button").first.wait_for()
    explorer.get_by_role("button", name="Play").click()
    explorer.wait_for_function(f"() => {ROUND} >= 3")
    explorer.get_by_role("button", name="Pause").click()
    expect(explorer.locator("#play")).to_have_text("Play")
    # What was under way when it paused is shown before any answer to this.
    explorer.locator("#network button").first.click()
    expect(explorer.locator("#inside-title")).to_have_text("What leaves agent 0")
    paused = explorer.evaluate(f"() => {ROUND}")
    explorer.get_by_role("button", name="Step").click()
    explorer.wait_for_function(f"(paused) => {ROUND} === paused + 1", arg=paused)
    words = [json.loads(text)["do"] for text in asked]
    assert words == ["choose", "play", "pause", "look", "step"]


def _greys(page: Page, agent: int) -> int:
    """Pixels around an agent's middle that have no hue."""
    found: int = page.evaluate(
        """(agent) => {
            const canvas = document.querySelector("#network canvas");
            const button = document.querySelectorAll("#network button")[agent];
            const [box, outer] = [button, canvas].map((one) => one.getBoundingClientRect());
            const copy = document.createElement("canvas");
            copy.width = copy.height = 9;
            const context = copy.getContext("2d", {willReadFrequently: true});
            const x = (box.x + box.width / 2 - outer.x) * devicePixelRatio - 4;
            const y = (box.y + box.height / 2 - outer.y) * devicePixelRatio - 4;
            context.drawImage(canvas, x, y, 9, 9, 0, 0, 9, 9);
            const {data} = context.getImageData(0, 0, 9, 9);
            let count = 0;
            for (let i = 0; i < data.length; i += 4) {
                const rgb = [data[i], data[i + 1], data[i + 2]];
                if (Math.max(...rgb) - Math.min(...rgb) < 40) count += 1;
            }
            return count;
        }""",
        agent,
    )
    return found


def test_a_killed_agent_greys_out_and_comes_back(page: Page, address: str) -> None:
    """Without noise everybody soon rests on a class, and has its colour."""
    page.set_default_timeout(120_000)
    page.goto(address + "#agents=20&rounds=20&epsilon=inf&sigma=0.05&classes=1")
    expect(page.locator("#network button")).to_have_count(20)
    page.get_by_role("button", name="Play").click()
    victim = page.locator("#network button").nth(7)
    page.wait_for_function(
        "() => /with the class/.test(document.querySelectorAll('#network button')[7].ariaLabel)"
    )
    page.get_by_role("button", name="Pause").click()
    victim.focus()
    victim.press("Enter")
    expect(page.locator("#inside-title")).to_be_focused()
    kill = page.get_by_role("button", name="Kill")
    kill.wait_for()
    before = _greys(page, 7)
    kill.click()
    page.wait_for_selector("#network button.away")
    assert "away" in (victim.get_attribute("aria-label") or "")
    page.wait_for_function("() => new Promise((done) => requestAnimationFrame(() => done(true)))")
    assert before < 40 < _greys(page, 7)
    expect(page.locator("#standing")).to_contain_text("Away: 7.")
    page.get_by_role("button", name="Bring it back").click()
    expect(page.locator("#network button.away")).to_have_count(0)


def test_what_leaves_an_agent_is_shown_beside_what_stays(explorer: Page) -> None:
    explorer.locator("#network button").nth(3).click()
    explorer.get_by_role("button", name="Play").click()
    explorer.wait_for_selector("#releases tr")
    explorer.get_by_role("button", name="Pause").click()
    _, released, exact = explorer.locator("#releases tr").first.locator("td").all_text_contents()
    assert float(released) != float(exact)
    promise = explorer.locator("#promise").text_content() or ""
    assert "pure differential privacy, epsilon = 4 for each sample (event level" in promise
    assert explorer.locator("#letters tr").count() > 0
    explorer.get_by_role("button", name="Make it lie").click()
    explorer.get_by_role("button", name="Stop lying").wait_for()
    explorer.get_by_role("button", name="Cut in two").click()
    explorer.get_by_role("button", name="Join it again").wait_for()
    explorer.get_by_role("button", name="Close").focus()
    explorer.keyboard.press("Escape")
    expect(explorer.locator("#inside")).to_be_hidden()


def test_the_scenario_it_exports_is_one_that_simulate_runs(explorer: Page, tmp_path: Path) -> None:
    with explorer.expect_download() as started:
        explorer.get_by_role("link", name="Scenario (TOML)").click()
    path = tmp_path / "scenario.toml"
    started.value.save_as(path)
    assert run(["simulate", str(path), "--out", str(tmp_path / "result")]) == 0
    assert (tmp_path / "result" / "result.nc").exists()


def test_the_picture_it_exports_is_one(explorer: Page, tmp_path: Path) -> None:
    with explorer.expect_download() as started:
        explorer.get_by_role("button", name="Picture (PNG)").click()
    path = tmp_path / "picture.png"
    started.value.save_as(path)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) > 20_000


@pytest.mark.usefixtures("silent")
def test_a_link_that_is_wrong_is_said_and_the_page_works(page: Page, address: str) -> None:
    page.goto(address + "#agents=<img src=x onerror=alert(1)>&epsilon=-3")
    expect(page.locator("#network button")).to_have_count(48)


def test_it_fits_a_phone(explorer: Page) -> None:
    explorer.set_viewport_size({"width": 390, "height": 844})
    explorer.wait_for_function("() => document.querySelector('#errors .uplot').offsetWidth <= 390")
    assert explorer.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_every_control_has_a_name_and_can_be_reached_by_tab(explorer: Page) -> None:
    unnamed = explorer.evaluate(
        """() => [...document.querySelectorAll("button, select, input, a")]
            .filter((one) => !(one.ariaLabel || one.textContent.trim() || one.labels?.length))
            .map((one) => one.outerHTML)"""
    )
    assert unnamed == []
    reached = set()
    for _ in range(30):
        explorer.keyboard.press("Tab")
        reached.add(explorer.evaluate("() => document.activeElement.id"))
    assert {"control-family", "control-epsilon", "copy", "toml", "png", "play", "step"} <= reached


@pytest.mark.usefixtures("silent")
def test_the_end_of_the_server_is_said(page: Page) -> None:
    with exploring() as server:
        page.goto(server.address + QUICK)
        page.locator("#network button").first.wait_for()
    expect(page.locator("#progress")).to_contain_text("The connection has ended", timeout=30_000)
