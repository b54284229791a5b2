"""What all pages share: files by name, the policy, and whom a server listens to."""

import re

import pytest

from colme.errors import InvalidValue
from colme.pages.assets import (
    CHARTS,
    FORCES,
    POLICY,
    STYLES,
    asset,
    assets,
    is_own_origin,
)
from colme.report.style import CLASS_IDEAL, IDEAL, LOCAL, pens
from support.refusing import refused


@pytest.mark.parametrize("name", [*STYLES, *CHARTS, *FORCES])
def test_every_file_that_a_page_names_is_there_with_its_type(name: str) -> None:
    found = asset(name)
    assert found.text.strip()
    assert found.media_type.startswith("text/css" if name.endswith("css") else "text/javascript")


@pytest.mark.parametrize(
    "name", ["", "..", "../errors.py", "assets.py", "components", "/etc/hosts"]
)
def test_nothing_else_can_be_had_by_a_name(name: str) -> None:
    with refused(InvalidValue, "asset"):
        asset(name)


def test_no_file_of_ours_reaches_out_to_a_network() -> None:
    ours = [one for name, one in assets().items() if not name.startswith("vendored")]
    for one in ours:
        links = re.findall(r"https?://[^\s\"')]+", one.text)
        assert set(links) <= {"http://www.w3.org/2000/svg"}, one.name


def test_curves_have_the_colours_of_the_figures() -> None:
    """An algorithm looks the same on a page and in a figure."""
    drawn = [LOCAL, IDEAL, CLASS_IDEAL, *pens(["relay", "paper"]).values()]
    light = asset("components/style.css").text.split("@media")[0]
    assert {pen.colour.lower() for pen in drawn} <= set(re.findall(r"#[0-9a-f]{6}", light))


def test_the_policy_lets_nothing_in_that_is_inline_or_from_elsewhere() -> None:
    assert POLICY.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in POLICY
    assert "http" not in POLICY


def test_a_socket_is_for_pages_of_the_same_server() -> None:
    assert is_own_origin("http://127.0.0.1:8000", "127.0.0.1:8000")
    assert not is_own_origin("http://127.0.0.1:9000", "127.0.0.1:8000")
    assert not is_own_origin("https://evil.example", "127.0.0.1:8000")
    assert not is_own_origin("null", "127.0.0.1:8000")
    assert not is_own_origin(None, "127.0.0.1:8000")
