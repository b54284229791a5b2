"""The owner's page of a real node, in a real browser."""

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from colme.node.fleet import Member
from colme.node.owner.token import read_token
from support.elsewhere import PATIENCE
from support.processes import HTTP, Nodes, acquainted, ask, log_file

expect.set_options(timeout=1000 * PATIENCE)

SAMPLES = [0.5, 0.45, 0.55, 0.52, 0.48, 0.47, 0.53]
REFUSED = "error: Failed to load resource: the server responded with a status of 403 (Forbidden)"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Two of them, in rounds, whose samples come from the test."""
    members = acquainted(tmp_path_factory.mktemp("nodes"), 2, HTTP)
    with Nodes(*members) as running:
        running.ready()
        yield running


@pytest.fixture
def node(nodes: Nodes) -> Member:
    return nodes.members[0]


def address(node: Member) -> str:
    assert node.config.owner is not None
    return f"http://{node.config.owner.listen}/"


def log_in(page: Page, node: Member) -> None:
    page.goto(address(node))
    page.get_by_label("Token").fill(read_token(node.config.state))
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(node.name)


@pytest.mark.usefixtures("silent")
def test_a_wrong_token_is_refused_and_the_right_one_shows_the_estimate_as_it_comes(
    page: Page, node: Member, nodes: Nodes, troubles: list[str]
) -> None:
    assert f'"page": "{address(node)}"' in log_file(node).read_text(), "where it is, is said"
    page.goto(address(node))
    expect(page.get_by_role("heading", level=1)).to_have_text("A colme node")
    field = page.get_by_label("Token")
    expect(field).to_be_focused()
    field.fill("not the token")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").first).to_have_text("This is not the token.")
    expect(page.get_by_text("The mean of your data")).to_be_hidden()
    assert troubles == [REFUSED]
    troubles.clear()

    field.fill(read_token(node.config.state))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(node.name)
    expect(page.locator("#interval")).to_contain_text("There is no sample yet")
    assert read_token(node.config.state) not in page.content() + page.url

    assert ask(node, "/samples", SAMPLES)[0] == 200
    expect(page.locator("#value")).to_have_text(re.compile(r"0\.500?"))
    expect(page.locator("#interval")).to_contain_text("95% interval: 0.4")
    expect(page.locator("#how")).to_contain_text("nobody else has released something")
    expect(page.get_by_role("status")).to_contain_text("The mean is 0.50")
    expect(page.locator("#samples")).to_contain_text("taken in7")
    expect(page.locator("#privacy li").first).to_have_text(
        "epsilon = 4 for each sample (event level: streams that differ by replacing one sample;"
        " sample counts are public)"
    )
    expect(page.get_by_role("row", name=re.compile(nodes.members[1].name))).to_contain_text(
        "connected"
    )
    expect(page.get_by_role("img")).to_have_attribute("aria-label", re.compile("alone: 0.5"))

    assert ask(node, "/samples", [0.6] * 40)[0] == 200
    expect(page.locator("#value")).to_have_text(re.compile(r"0\.58\d*"))
    page.reload()
    expect(page.locator("#value")).to_have_text(re.compile(r"0\.58\d*"))


@pytest.mark.usefixtures("silent")
def test_who_logs_out_leaves_nothing_on_the_page(
    page: Page, node: Member, context: BrowserContext
) -> None:
    log_in(page, node)
    (cookie,) = context.cookies()
    assert cookie.get("httpOnly") is True
    assert cookie.get("sameSite") == "Strict"
    assert cookie.get("value") != read_token(node.config.state)
    assert page.evaluate("() => document.cookie") == ""
    with page.expect_response("**/logout"):
        page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    assert context.cookies() == []
    assert node.name not in page.content()
    assert "epsilon" not in page.inner_text("body")
    page.reload()
    expect(page.get_by_label("Token")).to_be_visible()


def test_another_tab_has_to_show_the_token_itself(
    page: Page, node: Member, context: BrowserContext
) -> None:
    """The cookie is there, but it is not enough."""
    log_in(page, node)
    other = context.new_page()
    other.goto(address(node))
    expect(other.get_by_label("Token")).to_be_visible()
    assert other.evaluate("async () => (await fetch('/estimate')).status") == 401


class Stranger(BaseHTTPRequestHandler):
    """Serves an empty page at another port of this machine, and keeps what it is sent."""

    cookies: list[str]

    def do_GET(self) -> None:
        self.cookies.append(self.headers.get("Cookie", ""))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>stranger</title><link rel=icon href='data:,'>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def stranger() -> Iterator[str]:
    Stranger.cookies = []
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_page_at_another_port_of_this_machine_gets_nothing(
    page: Page, node: Member, context: BrowserContext, stranger: str
) -> None:
    """To the browser it is the same site: it is even sent the cookie, which alone opens nothing."""
    log_in(page, node)
    other = context.new_page()
    other.goto(stranger)
    assert any("colme-" in cookie for cookie in Stranger.cookies), "else this shows nothing"
    read = """async ([address, path]) => {
        try {
            const told = await fetch(address + path, {credentials: "include"});
            return await told.text();
        } catch (error) { return error.name; }
    }"""
    for path in ("estimate", "status", "", "page/owner/page.js"):
        assert other.evaluate(read, [address(node), path]) == "TypeError"
    framed = """(address) => new Promise((done) => {
        const frame = document.createElement("iframe");
        frame.src = address;
        frame.onload = done;
        document.body.append(frame);
    })"""
    other.evaluate(framed, address(node))
    assert [frame.url for frame in other.frames] == [stranger, "chrome-error://chromewebdata/"]
    loaded = """(address) => new Promise((done) => {
        const script = document.createElement("script");
        script.src = address + "page/owner/page.js";
        script.onload = () => done("loaded");
        script.onerror = () => done("refused");
        document.body.append(script);
    })"""
    assert other.evaluate(loaded, address(node)) == "refused"


def test_a_node_that_stops_says_so_and_a_new_start_asks_for_the_token_again(
    page: Page, node: Member, nodes: Nodes
) -> None:
    log_in(page, node)
    expect(page.locator("#self")).to_contain_text("fingerprint")
    nodes.stop(node)
    expect(page.get_by_text("the node is silent")).to_be_visible()
    nodes.start(node)
    expect(page.get_by_label("Token")).to_be_visible()
    expect(page.get_by_role("alert").first).to_contain_text("Log in again")


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_in_any_light(page: Page, node: Member, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": 390, "height": 844})
    log_in(page, node)
    expect(page.locator("#self")).to_contain_text("fingerprint")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    dark = (
        page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"
    )
    assert dark is (scheme == "dark")
