"""The page over a fleet: it is there before, while and after nodes run, for this machine alone."""

import json
from http.client import HTTPConnection, HTTPResponse
from math import inf
from pathlib import Path

from colme.node.fleet import Plan, prepare
from colme.node.fleet_page import FleetPage
from colme.pages.assets import POLICY


def asked(page: FleetPage, path: str, **headers: str) -> tuple[HTTPResponse, bytes]:
    host = page.address.removeprefix("http://").rstrip("/")
    connection = HTTPConnection(host, timeout=30)
    try:
        connection.request("GET", path, headers={"Host": host, **headers})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def test_nodes_that_do_not_answer_are_silent_and_other_hosts_get_nothing(tmp_path: Path) -> None:
    plan = Plan(agents=3, degree=2, means=(0.5,), epsilon=inf)
    members = prepare(plan, tmp_path / "fleet")
    with FleetPage(plan, members) as page:
        response, body = asked(page, "/fleet")
        told = json.loads(body)
        assert response.headers["Content-Security-Policy"] == POLICY
        assert told["plan"]["epsilon"] == "inf"
        assert [one["name"] for one in told["nodes"]] == [member.name for member in members]
        assert {(one["status"], one["estimate"], one["truth"]) for one in told["nodes"]} == {
            (None, None, 0.5)
        }
        assert asked(page, "/")[0].status == 200
        assert asked(page, "/page/fleet/page.js")[0].status == 200
        assert asked(page, "/page/assets.py")[0].status == 404
        for path in ("/", "/fleet"):
            response, body = asked(page, path, Host="evil.example")
            assert response.status == 421
            assert b"node" not in body
