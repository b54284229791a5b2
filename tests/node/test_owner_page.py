"""The owner's page, over real sockets: who gets in, how far, and how little others learn."""

import json
import re
from dataclasses import replace
from http.cookies import Morsel, SimpleCookie

import pytest

from colme.node.owner import page as page_files
from colme.node.owner.gate import IDLE_SECONDS, MOST, Login, Sessions
from colme.node.owner.server import OwnerServer
from colme.pages.assets import POLICY
from support.logged import logging
from support.owned import ANSWER, STATUS, TOKEN, Client, Heard, KnownNode, served

FORM = "application/x-www-form-urlencoded"
SECRETS = [str(number)[:8] for number in (ANSWER.value, ANSWER.alone, ANSWER.low, ANSWER.high)]
SECRETS += [STATUS.privacy, STATUS.fingerprint, "10.0.0.2"]


async def log_in(client: Client, token: str = TOKEN, **headers: str) -> Heard:
    body = f"token={token}"
    return await client.ask("/login", "POST", body, authorization=None, kind=FORM, also=headers)


def cookie_of(heard: Heard) -> Morsel[str]:
    ((_, morsel),) = SimpleCookie(heard.headers["Set-Cookie"]).items()
    return morsel


async def session_of(client: Client) -> dict[str, str]:
    """The headers that the page of someone who has logged in sends."""
    heard = await log_in(client)
    assert heard.code == 200
    cookie = cookie_of(heard)
    return {"Cookie": f"{cookie.key}={cookie.value}", "X-Colme-Key": json.loads(heard.body)["key"]}


async def look(client: Client, path: str, headers: dict[str, str], method: str = "GET") -> Heard:
    return await client.ask(path, method, authorization=None, also=headers)


async def test_who_has_the_token_sees_what_the_api_says_and_nothing_else() -> None:
    async with served(KnownNode()) as client:
        headers = await session_of(client)
        for path in ("/estimate", "/status"):
            seen, told = await look(client, path, headers), await client.ask(path)
            assert (seen.code, seen.body) == (200, told.body)
        assert (await look(client, "/metrics", headers)).code == 401
        assert (await look(client, "/nothing", headers)).code == 401


async def test_the_page_reads_and_can_not_write() -> None:
    """Whatever makes a browser that is logged in send something: no sample comes of it."""
    node = KnownNode()
    async with served(node) as client:
        headers = await session_of(client)
        for method, path in [("POST", "/samples"), ("POST", "/estimate"), ("DELETE", "/status")]:
            heard = await client.ask(path, method, "[1]", authorization=None, also=headers)
            assert heard.code == 401, path
    assert node.taken == []


@pytest.mark.parametrize(
    "token", ["", TOKEN[:-1], f"{TOKEN}x", TOKEN.upper(), "%00", "%FF", "é", "&" * 3000]
)
async def test_a_wrong_token_is_refused_and_nothing_is_told(token: str) -> None:
    async with served(KnownNode()) as client:
        heard = await log_in(client, token.encode().decode("latin-1"))
        assert heard.code == 403
        assert heard.headers["Set-Cookie"] is None
        assert json.loads(heard.body) == {"error": page_files.WRONG}


async def test_a_wrong_try_locks_nobody_out_and_its_log_is_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Else whoever is on the machine could keep the owner away, or fill the disk."""

    with logging(capsys) as logged:
        async with served(KnownNode()) as client:
            for _ in range(3 * MOST):
                assert (await log_in(client, "wrong")).code == 403
            assert (await log_in(client)).code == 200
    assert len(logged.lines(event="a login at the page was refused")) == 1
    assert TOKEN not in json.dumps(logged.lines())


async def test_a_form_that_is_too_large_is_refused() -> None:
    async with served(KnownNode()) as client:
        assert (await log_in(client, "x" * page_files.LARGEST_FORM)).code == 413


async def test_the_token_may_be_pasted_with_its_newline_and_never_stands_in_an_address() -> None:
    async with served(KnownNode()) as client:
        assert (await log_in(client, f"{TOKEN}%0A")).code == 200
        for path in (f"/?token={TOKEN}", f"/login?token={TOKEN}", f"/status?token={TOKEN}"):
            heard = await client.ask(path, authorization=None)
            assert heard.headers["Set-Cookie"] is None
            assert STATUS.privacy not in heard.body.decode()
        heard = await client.ask(f"/login?token={TOKEN}", "POST", "", authorization=None, kind=FORM)
        assert heard.code == 403


async def test_the_cookie_is_of_this_site_alone_and_no_script_reads_it() -> None:
    async with served(KnownNode()) as client:
        heard = await log_in(client)
        cookie = cookie_of(heard)
        assert cookie["httponly"] is True
        assert (cookie["samesite"], cookie["path"], cookie["domain"]) == ("strict", "/", "")
        assert cookie["max-age"] == cookie["expires"] == "", "it ends with the browser"
        key = json.loads(heard.body)["key"]
        assert len({TOKEN, cookie.value, key}) == 3
        assert min(len(cookie.value), len(key)) >= 43, "256 random bits each"
        assert not any(TOKEN[i : i + 12] in f"{heard.headers}" for i in range(len(TOKEN) - 12))


async def test_neither_of_the_two_secrets_will_do_alone() -> None:
    """A browser sends a cookie to all ports of a host: another server there may know it."""
    async with served(KnownNode()) as client:
        first, second = await session_of(client), await session_of(client)
        for headers in (
            {},
            {"Cookie": first["Cookie"]},
            {"X-Colme-Key": first["X-Colme-Key"]},
            {"Cookie": first["Cookie"], "X-Colme-Key": second["X-Colme-Key"]},
            {"Cookie": first["Cookie"], "X-Colme-Key": ""},
            {"Cookie": first["Cookie"], "Authorization": f"Bearer {first['X-Colme-Key']}"},
            {**first, "Cookie": first["Cookie"].replace("colme-", "other-")},
        ):
            assert (await look(client, "/estimate", headers)).code == 401, headers
        beside = {**first, "Cookie": f"a=b; {second['Cookie'][:-1]}; {first['Cookie']} ;"}
        assert (await look(client, "/estimate", beside)).code == 200


async def test_pages_of_other_origins_get_nothing_even_with_both_secrets() -> None:
    async with served(KnownNode()) as client:
        headers = await session_of(client)
        here = f"http://127.0.0.1:{client.port}"
        for strange in (
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Origin": "null"},
            {"Origin": "http://evil.example"},
            {"Origin": f"http://127.0.0.1:{client.port + 1}"},
            {"Origin": f"https://127.0.0.1:{client.port}"},
            {"Origin": f"{here}.evil.example"},
        ):
            assert (await look(client, "/estimate", headers | strange)).code == 401, strange
            assert (await log_in(client, **strange)).code == 403, strange
            assert (await look(client, "/logout", headers | strange, "POST")).code == 401, strange
        own = {"Origin": here, "Sec-Fetch-Site": "same-origin"}
        assert (await look(client, "/estimate", headers | own)).code == 200
        assert (await log_in(client, **own)).code == 200


async def test_who_asked_for_another_host_gets_neither_page_nor_session() -> None:
    """A page whose name was made to lead here (DNS rebinding) asks by that name."""
    async with served(KnownNode()) as client:
        headers = await session_of(client)
        host = {"Host": f"evil.example:{client.port}"}
        for path in ("/", "/estimate", "/page/owner/page.js"):
            assert (await look(client, path, headers | host)).code == 421
        assert (await log_in(client, **host)).code == 421


async def test_who_logs_out_is_out_and_others_are_not() -> None:
    async with served(KnownNode()) as client:
        first, second = await session_of(client), await session_of(client)
        heard = await look(client, "/logout", first, "POST")
        assert heard.code == 200
        assert cookie_of(heard).value == ""
        assert cookie_of(heard)["max-age"] == "0"
        assert (await look(client, "/status", first)).code == 401
        assert (await look(client, "/logout", first, "POST")).code == 401
        assert (await look(client, "/status", second)).code == 200
        assert (await look(client, "/logout", first)).code == 405, "a link ends no session"


async def test_the_page_itself_is_the_same_for_everybody_and_knows_nothing() -> None:
    node = KnownNode(seen=replace(STATUS, privacy="nobody-else's"))
    async with served(node) as client:
        headers = await session_of(client)
        for path in ("/", *(f"/page/{name}" for name in page_files.PARTS)):
            heard = await client.ask(path, authorization=None)
            assert heard.code == 200, path
            assert heard.body == (await look(client, path, headers)).body
            assert not [one for one in (*SECRETS, TOKEN) if one in heard.body.decode()]
        for path in (
            "/page/",
            "/page/owner/../page.py",
            "/page/%2e%2e/assets.py",
            "/page/__init__.py",
        ):
            assert (await client.ask(path, authorization=None)).code == 401, path


async def test_every_answer_tells_browsers_to_keep_others_out() -> None:
    def guarded(heard: Heard) -> None:
        assert heard.headers.get_all("Content-Security-Policy") == [POLICY]
        assert heard.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert heard.headers["X-Content-Type-Options"] == "nosniff"
        assert heard.headers["Referrer-Policy"] == "no-referrer"
        assert heard.headers.get_all("Cache-Control") == ["no-store"]
        assert not any(name.lower().startswith("access-control") for name in heard.headers)

    async with served(KnownNode()) as client:
        for path in ("/", "/estimate", "/livez", "/nothing", "/page/owner/page.js"):
            for authorization in (None, f"Bearer {TOKEN}"):
                guarded(await client.ask(path, authorization=authorization))
        guarded(await client.ask("/", host="evil.example"))
    async with served(KnownNode(ZeroDivisionError())) as client:
        heard = await client.ask("/estimate")
        assert heard.code == 500
        guarded(heard)
    told = dict(part.partition(" ")[::2] for part in POLICY.split("; "))
    assert told["default-src"] == told["frame-ancestors"] == "'none'"
    assert {told[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}
    assert "unsafe" not in POLICY


async def test_the_page_asks_for_nothing_but_its_parts_and_has_nothing_inline() -> None:
    """Else the policy would break it."""
    async with served(KnownNode()) as client:
        shell = (await client.ask("/", authorization=None)).body.decode()
        named = set(re.findall(r'(?:src|href)="(/[^"]*)"', shell))
        assert named == {f"/page/{name}" for name in page_files.PARTS}
        assert not re.search(r"<style|style=|<script>|\son\w+=|https?:", shell)


async def test_where_the_page_is_follows_from_the_address() -> None:
    for host in ("127.0.0.1", "localhost"):
        server = OwnerServer(KnownNode(), listen=f"{host}:0", token=TOKEN)
        await server.start()
        assert server.page == f"http://{host}:{server.port}/"
        await server.stop()


def test_two_nodes_of_one_machine_have_cookies_of_their_own() -> None:
    """A browser keeps one jar for all ports of a host."""
    names = {Sessions(token).cookie_name for token in (TOKEN, f"{TOKEN}2")}
    assert len(names) == 2
    assert Sessions(TOKEN).cookie_name in names, "and the same after a restart"
    assert all(re.fullmatch(r"colme-[0-9a-f]{12}", name) for name in names)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def begun(sessions: Sessions) -> Login:
    session = sessions.begin(TOKEN)
    assert session is not None
    return session


def lasts(sessions: Sessions, session: Login) -> bool:
    cookie = f"{sessions.cookie_name}={session.cookie}".encode()
    return sessions.find({b"cookie": cookie, b"x-colme-key": session.key.encode()}) == session


def test_one_session_too_many_ends_the_one_that_was_silent_longest() -> None:
    sessions = Sessions(TOKEN, clock=Clock())
    all_of_them = [begun(sessions) for _ in range(MOST)]
    assert lasts(sessions, all_of_them[0])
    begun(sessions)
    assert [lasts(sessions, one) for one in all_of_them] == [True, False] + [True] * (MOST - 2)


def test_a_session_ends_when_nobody_has_asked_for_long() -> None:
    clock = Clock()
    sessions = Sessions(TOKEN, clock=clock)
    left, watched = begun(sessions), begun(sessions)
    clock.now = IDLE_SECONDS
    assert lasts(sessions, watched)
    clock.now += 1
    assert not lasts(sessions, left)
    assert lasts(sessions, watched)
