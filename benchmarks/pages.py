"""How soon the explorer is painted, and how many pictures a second its network gets.

In a headless Chromium without a GPU; the bars are a second and thirty pictures. The network plays
with sixty agents as fast as it can while curves are computed, then when they are done.
"""

import shutil
import statistics
import threading

from playwright.sync_api import Page, sync_playwright

from colme.explore.server import ExplorerServer

LOADS = 5
SECONDS = 5.0
SETTINGS = {
    "60 agents of degree 4, relay": "agents=60&degree=4&rounds=100",
    "60 agents, everybody with everybody": "agents=60&family=complete&rounds=100",
}
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
DRAWN = """(seconds) => new Promise((done) => {
    const [began, before] = [performance.now(), colme.drawn()];
    const look = (now) => {
        const passed = (now - began) / 1000;
        if (passed < seconds) requestAnimationFrame(look);
        else done((colme.drawn() - before) / passed);
    };
    requestAnimationFrame(look);
})"""


def _first_paint(page: Page, address: str) -> float:
    """Milliseconds from the navigation's start."""
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_function(PAINTED)
    return float(page.evaluate(PAINTED))


def _pictures_a_second(page: Page, address: str) -> tuple[float, float]:
    """While curves are computed, and afterwards."""
    page.goto("about:blank")
    page.goto(address)
    page.locator("#network button").first.wait_for()
    page.select_option("#rate", "30")
    page.click("#play")
    busy = page.evaluate(DRAWN, SECONDS)
    page.wait_for_function("() => /^All/.test(document.getElementById('progress').textContent)")
    return float(busy), float(page.evaluate(DRAWN, SECONDS))


def main() -> None:
    """Print both."""
    server = ExplorerServer(0)
    thread = threading.Thread(target=server.run)
    thread.start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.set_default_timeout(600_000)
        paints = [_first_paint(page, server.address) for _ in range(LOADS)]
        print(f"first paint: {statistics.median(paints):.0f} ms, at most {max(paints):.0f} ms")
        for words, choices in SETTINGS.items():
            busy, idle = _pictures_a_second(page, f"{server.address}#{choices}")
            print(
                f"{words}: {busy:.0f} pictures a second while curves are computed, {idle:.0f} after"
            )
        browser.close()
    server.stop()
    thread.join()
