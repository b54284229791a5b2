"""A real browser: Debian's Chromium, driven by playwright. Without one these tests are skipped."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

QUIET = (
    "--no-sandbox",  # as root, in a container
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def _chromium() -> str | None:
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests of a file: while it is open, nothing else in this process has a loop."""
    found = _chromium()
    if found is None:
        pytest.skip("no chromium: scripts/browser installs it, or CHROMIUM says where it is")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=list(QUIET))
        yield launched
        launched.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Cookies and pages of one test."""
    opened = browser.new_context(viewport={"width": 1200, "height": 900})
    yield opened
    opened.close()


@pytest.fixture
def troubles() -> list[str]:
    """What a page's console complained of, broken content security policies included."""
    return []


@pytest.fixture
def page(context: BrowserContext, troubles: list[str]) -> Page:
    """An empty one; what goes wrong in it is in `troubles`."""
    opened = context.new_page()
    opened.on(
        "console",
        lambda message: (
            troubles.append(f"{message.type}: {message.text}")
            if message.type in ("error", "warning")
            else None
        ),
    )
    opened.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
    return opened


@pytest.fixture
def silent(page: Page, troubles: list[str]) -> Iterator[None]:
    """Whatever a test does with its page, the console must stay silent."""
    yield
    assert troubles == []
