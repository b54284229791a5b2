"""The curves that all pages share, in a page of one file."""

import pytest
from playwright.sync_api import Page

from colme.pages.assets import CHARTS, STYLES, asset

pytestmark = pytest.mark.usefixtures("silent")

CURVES = """[
    {name: "relay", at: [1, 10, 100], value: [1, 0.2, 0.01],
     low: [0.8, 0.1, 0.005], high: [1.2, 0.3, 0.02]},
    {name: "paper", at: [1, 20, 100], value: [1, null, 2]},
]"""


def _one_file() -> str:
    """Components inlined, as in a page that is handed on."""
    styles = "".join(f"<style>{asset(name).text}</style>" for name in STYLES)
    scripts = "".join(f"<script>{asset(name).text}</script>" for name in CHARTS)
    return f"<!doctype html><html lang=en><title>t</title>{styles}<div id=place></div>{scripts}"


def _draw(page: Page) -> None:
    page.set_content(_one_file())
    page.evaluate(
        f"""() => {{ window.drawn = colme.chart(document.getElementById("place"), {{
            label: "Error", x: {{label: "samples", log: true}}, y: {{label: "mse", log: true}},
            line: 1, curves: {CURVES} }}); }}"""
    )


def _pixels(page: Page, colour: str) -> int:
    """How many have a colour of style.css; a band over its own line changes it by 1."""
    found: int = page.evaluate(
        """(name) => {
            const hex = colme.colour(name);
            const want = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
            const {width, height} = drawn.canvas;
            const copy = Object.assign(document.createElement("canvas"), {width, height});
            const read = copy.getContext("2d", {willReadFrequently: true});
            read.drawImage(drawn.canvas, 0, 0);
            const {data} = read.getImageData(0, 0, width, height);
            let count = 0;
            for (let i = 0; i < data.length; i += 4) {
                const near = want.every((value, c) => Math.abs(data[i + c] - value) <= 1);
                if (near && data[i + 3] === 255) count += 1;
            }
            return count;
        }""",
        colour,
    )
    return found


def test_every_curve_is_drawn_in_its_colour_and_told_in_words(page: Page) -> None:
    _draw(page)
    page.wait_for_function("() => drawn.canvas.width > 0")
    assert page.locator(".chart-legend li").all_text_contents() == ["relay 0.01", "paper 2"]
    label = page.get_by_role("img").get_attribute("aria-label")
    assert label == "Error. Last: relay 0.01, paper 2."
    page.wait_for_function("() => new Promise((done) => requestAnimationFrame(() => done(true)))")
    assert _pixels(page, "--relay") > 50
    assert _pixels(page, "--paper-algorithm") > 20
    assert _pixels(page, "--lost") == 0


def test_other_curves_replace_those_that_were(page: Page) -> None:
    _draw(page)
    page.evaluate("() => drawn.show([{name: 'lost', at: [1, 100], value: [1, 0.1]}])")
    assert page.locator(".chart-legend li").all_text_contents() == ["lost 0.1"]
    page.wait_for_function("() => new Promise((done) => requestAnimationFrame(() => done(true)))")
    assert _pixels(page, "--relay") == 0
    assert _pixels(page, "--lost") > 50


def test_what_no_log_axis_can_show_is_left_out(page: Page) -> None:
    _draw(page)
    page.evaluate(
        """() => drawn.show([{name: 'relay', at: [0, 1, 2, 3], value: [1, 0, -1, NaN],
                             low: [-1, -1, -1, -1], high: [1, 1, Infinity, 1]}])"""
    )
    page.evaluate("() => drawn.show([])")
    assert page.locator(".chart-legend li").count() == 0


def test_the_dark_has_other_colours_and_the_chart_follows(page: Page) -> None:
    _draw(page)
    light = page.evaluate("() => colme.colour('--relay')")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("(light) => colme.colour('--relay') !== light", arg=light)
    page.wait_for_function("() => new Promise((done) => requestAnimationFrame(() => done(true)))")
    assert _pixels(page, "--relay") > 50


def test_a_chart_is_as_wide_as_a_phone(page: Page) -> None:
    _draw(page)
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("() => document.querySelector('.uplot').offsetWidth <= 390")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
