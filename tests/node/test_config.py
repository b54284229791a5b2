"""A node's configuration: what is wrong is named, and what would be right is said."""

import sys
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import pytest

from colme.errors import ConfigError
from colme.node.config import FileSource, HttpSource, NodeConfig, split_address
from colme.protocol.algorithm import Algorithm
from colme.protocol.rounds.paper import Paper
from colme.relay import Relay
from colme.rules.decision import (
    Bernstein,
    DecisionRule,
    OptimisticDistance,
    PowerTheta,
    TightBernstein,
)
from support.own_rule import Within
from support.refusing import refused

Fields = dict[str, Any]


def fields() -> Fields:
    return {
        "identity": "identity",
        "state": "state",
        "listen": "0.0.0.0:7400",
        "agreed": {"bounds": [0, 1]},
        "privacy": {"epsilon": 1.0},
        "neighbours": [
            {"name": "b", "address": "b.example:7400", "certificate": "neighbours/b.crt"},
            {"name": "c", "address": "[::1]:7400", "certificate": "neighbours/c.crt"},
        ],
        "source": {"kind": "file", "path": "samples.csv"},
        "owner": {"listen": "127.0.0.1:7401"},
    }


def test_a_complete_configuration_is_taken() -> None:
    config = NodeConfig.build(fields())
    assert [one.name for one in config.neighbours] == ["b", "c"]


def put(*path: Any, value: Any) -> Callable[[Fields], None]:
    def change(data: Fields) -> None:
        table: Any = data
        for key in path[:-1]:
            table = table.setdefault(key, {}) if isinstance(table, dict) else table[key]
        table[path[-1]] = value

    return change


def leave_out(*path: str) -> Callable[[Fields], None]:
    def change(data: Fields) -> None:
        table = data
        for key in path[:-1]:
            table = table[key]
        del table[path[-1]]

    return change


WRONG: dict[str, tuple[Callable[[Fields], None], str, str]] = {
    "no identity": (leave_out("identity"), "identity", "it to be given"),
    "no state": (leave_out("state"), "state", "it to be given"),
    "no bounds": (leave_out("agreed", "bounds"), "agreed.bounds", "it to be given"),
    "no port": (put("listen", value="127.0.0.1"), "listen", "host:port"),
    "no host": (put("listen", value=":7400"), "listen", "host:port"),
    "no number": (put("listen", value="host:http"), "listen", "host:port"),
    "high port": (put("listen", value="host:65536"), "listen", "host:port"),
    "negative port": (put("listen", value="host:-1"), "listen", "host:port"),
    "address": (
        put("neighbours", 1, "address", value="c.example"),
        "neighbours.1.address",
        "host:port",
    ),
    "open owner": (
        put("owner", "listen", value="0.0.0.0:7401"),
        "owner.listen",
        "this machine alone",
    ),
    "owner by name": (
        put("owner", "listen", value="example.org:7401"),
        "owner.listen",
        "this machine alone",
    ),
    "owner without port": (put("owner", "listen", value="localhost"), "owner.listen", "host:port"),
    "empty name": (put("neighbours", 0, "name", value=""), "neighbours.0.name", "at least 1 char"),
    "same name": (put("neighbours", 0, "name", value="c"), "", "every neighbour's name once"),
    "unknown key": (put("idenity", value="x"), "idenity", "'identity', perhaps"),
    "unknown inner key": (put("agreed", "bound", value=1), "agreed.bound", "'bounds', perhaps"),
    "unknown neighbour key": (
        put("neighbours", 0, "adress", value="x"),
        "neighbours.0.adress",
        "'address', perhaps",
    ),
    "nothing like it": (put("pace", "zzz", value=1), "pace.zzz", "one of deadline, interval, last"),
    "epsilon 0": (put("privacy", "epsilon", value=0), "privacy.epsilon", "greater than 0"),
    "epsilon nan": (put("privacy", "epsilon", value=float("nan")), "privacy.epsilon", ""),
    "tiny epsilon": (put("privacy", "epsilon", value=1e-60), "privacy.epsilon", "finite variance"),
    "sigma2": (put("privacy", "sigma2", value=0.3), "privacy.sigma2", "0 to 0.25"),
    "reversed": (put("agreed", "bounds", value=[1, 0]), "agreed.bounds", "the lower one first"),
    "equal": (put("agreed", "bounds", value=[1, 1]), "agreed.bounds", "the lower one first"),
    "infinite": (put("agreed", "bounds", value=[0, inf]), "agreed.bounds", "finite"),
    "three bounds": (put("agreed", "bounds", value=[0, 1, 2]), "agreed.bounds", ""),
    "algorithm": (
        put("agreed", "algorithm", value="relai"),
        "agreed.algorithm",
        "'relay', perhaps",
    ),
    "retired": (put("agreed", "algorithm", value="tracking"), "agreed.algorithm", "'relay'"),
    "as 0.1.0 said": (put("agreed", "rule", value="recommended"), "agreed.algorithm", "'relay'"),
    "no algorithm": (put("agreed", "algorithm", value=3), "agreed.algorithm", "text"),
    "rounds": (put("agreed", "rounds", value="fast"), "agreed.rounds", "'clock' or 'free'"),
    "interval": (put("agreed", "interval", value=0), "agreed.interval", "greater than 0"),
    "endless": (put("agreed", "interval", value=inf), "agreed.interval", "less than inf"),
    "no time zone": (put("agreed", "start", value="2026-01-01T00:00:00"), "agreed.start", "time"),
    "deadline": (put("pace", "deadline", value=0), "pace.deadline", "greater than 0"),
    "last round": (put("pace", "last_round", value=0), "pace.last_round", "or equal to 1"),
    "level": (put("log", "level", value="loud"), "log.level", "'debug', 'info'"),
    "source": (put("source", value={"kind": "magic"}), "source.kind", "one of stdin"),
    "no path": (put("source", value={"kind": "file"}), "source.path", "it to be given"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "field", "expected"), WRONG.values(), ids=list(WRONG))
def test_what_is_wrong_is_named(
    change: Callable[[Fields], None], field: str, expected: str
) -> None:
    data = fields()
    change(data)
    with refused(ConfigError, field) as caught:
        NodeConfig.build(data)
    assert expected in caught.value.expected


@pytest.mark.parametrize("address", ["127.0.0.1:7401", "127.9.9.9:1", "localhost:0", "[::1]:7401"])
def test_the_owner_may_listen_at_any_loopback_address(address: str) -> None:
    config = NodeConfig.build(fields() | {"owner": {"listen": address}})
    assert config.owner is not None
    assert config.owner.listen == address


def test_the_owners_side_may_be_left_out() -> None:
    assert NodeConfig.build(fields() | {"owner": False}).owner is None


def test_without_a_source_samples_come_from_the_owner() -> None:
    data = fields()
    del data["source"], data["owner"]
    config = NodeConfig.build(data)
    assert isinstance(config.source, HttpSource)
    assert config.owner is not None


def test_hosts_and_ports_are_told_apart() -> None:
    assert split_address("[::1]:7400") == ("::1", 7400)
    assert split_address("b.example:0") == ("b.example", 0)


@pytest.mark.parametrize(
    "address",
    [
        "::1:7400",
        "[::1:7400",
        "::1]:7400",
        "[]:7400",
        "[::1]",
        "http://x:80",
        "x:80/",
        "x :80",
        "x:\uff17\uff14\uff10\uff10",
        "x:740000",
        "x:7400\n",
    ],
)
def test_an_address_that_could_be_read_in_two_ways_is_refused(address: str) -> None:
    for path in (("listen",), ("neighbours", 0, "address")):
        data = fields()
        put(*path, value=address)(data)
        with pytest.raises(ConfigError, match="host:port"):
            NodeConfig.build(data)


TOML = """
identity = "identity"
state = "/somewhere/else/state"
listen = "127.0.0.1:7400"
owner = false
[agreed]
bounds = [0, 1]
[[neighbours]]
name = "b"
address = "127.0.0.1:7402"
certificate = "neighbours/b.crt"
[source]
kind = "file"
path = "../samples.csv"
"""


def test_file_names_are_relative_to_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    path.write_text(TOML)
    config = NodeConfig.load(path)
    assert config.identity == tmp_path / "identity"
    assert config.state == Path("/somewhere/else/state")
    assert config.neighbours[0].certificate == tmp_path / "neighbours/b.crt"
    assert isinstance(config.source, FileSource)
    assert config.source.path == tmp_path / "../samples.csv"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    with refused(ConfigError, "configuration"):
        NodeConfig.load(path)


@pytest.mark.parametrize("text", [b"listen = ", b"\xff\xfe", b"a = 1\na = 2"])
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "node.toml"
    path.write_bytes(text)
    with refused(ConfigError, "configuration"):
        NodeConfig.load(path)


@pytest.mark.parametrize(
    ("rounds", "interval", "deadline", "expected"),
    [
        ("clock", 60.0, None, 5.0),
        ("clock", 60.0, 2.0, 2.0),
        ("clock", 60.0, 40.0, 15.0),
        ("clock", 4.0, None, 1.0),
        ("free", 4.0, None, 5.0),
        ("free", 4.0, 40.0, 40.0),
    ],
)
def test_three_exchanges_that_wait_in_vain_fit_into_an_interval(
    rounds: str, interval: float, deadline: float | None, expected: float
) -> None:
    agreed = {"bounds": [0, 1], "algorithm": "paper", "rounds": rounds, "interval": interval}
    config = NodeConfig.build(fields() | {"agreed": agreed, "pace": {"deadline": deadline}})
    assert config.deadline == expected
    if rounds == "clock":
        assert 3 * config.deadline < interval


def algorithm(*, sigma2: float | None = None, **agreed: Any) -> Algorithm:
    table = {"agreed": {"bounds": [0, 1]} | agreed, "privacy": {"sigma2": sigma2}}
    settings = NodeConfig.build(fields() | table).settings("me")
    assert settings.neighbours == ("b", "c")
    return settings.algorithm


THETA = {"scale": 2.0, "exponent": 0.25}
RULES: dict[str, tuple[dict[str, Any], DecisionRule]] = {
    "left open": ({}, Bernstein(PowerTheta(3, 0.2))),
    "bernstein": ({"rule": "bernstein", "theta": THETA}, Bernstein(PowerTheta(2.0, 0.25))),
    "half a theta": ({"theta": {"scale": 2}}, Bernstein(PowerTheta(2.0, 0.2))),
    "tight": ({"rule": "tight"}, TightBernstein()),
    "tight with theta": ({"rule": "tight", "theta": THETA}, TightBernstein(PowerTheta(2.0, 0.25))),
    "optimistic": (
        {"rule": "optimistic", "agents": 50, "degree": 5, "delta": 0.5},
        OptimisticDistance(agents=50, degree=5, delta=0.5),
    ),
    "one's own": ({"rule": "support.own_rule:Within", "distance": 0.5}, Within(0.5)),
    "one's own, made": ({"rule": "support.own_rule:WITHIN_TWO"}, Within(2)),
    "an object": ({"rule": Within(0.5)}, Within(0.5)),
}


@pytest.mark.parametrize(("options", "rule"), RULES.values(), ids=list(RULES))
def test_the_paper_follows_the_rule_agreed_on(options: dict[str, Any], rule: DecisionRule) -> None:
    assert algorithm(algorithm="paper", **options) == Paper(rule=rule)


def test_the_recommended_algorithm_learns_a_variance_that_is_not_known() -> None:
    assert algorithm() == algorithm(algorithm="relay") == Relay(release_squares=True)
    assert algorithm(sigma2=0.01) == Relay(release_squares=False)


@pytest.mark.parametrize("named", [{}, {"algorithm": "recommended"}, {"algorithm": "relay"}])
@pytest.mark.parametrize("field", ["rounds", "interval", "start"])
def test_a_configuration_from_when_rounds_were_meant_is_not_taken_for_another(
    named: dict[str, str], field: str
) -> None:
    """As 0.1.0's page had it: rounds, and no word of an algorithm."""
    value = {"rounds": "clock", "interval": 60, "start": "2026-01-01T00:00:00Z"}[field]
    with pytest.raises(ConfigError, match="colme state change") as caught:
        NodeConfig.build(fields() | {"agreed": {"bounds": [0, 1], field: value} | named})
    assert caught.value.field == f"agreed.{field}"


def test_what_the_first_version_called_a_rule_is_an_algorithm() -> None:
    assert algorithm(rule="paper", theta=THETA) == Paper(rule=Bernstein(PowerTheta(2.0, 0.25)))


WRONG_OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "theta of relay": ({"theta": THETA}, "agreed.theta: 'relay' has none"),
    "rule of relay": ({"rule": "tight"}, "agreed.rule: 'relay' has none"),
    "delta of bernstein": (
        {"algorithm": "paper", "delta": 1},
        "agreed.delta: 'bernstein' has none (it has theta)",
    ),
    "theta of optimistic": (
        {"algorithm": "paper", "rule": "optimistic", "agents": 5, "degree": 2, "theta": THETA},
        "agreed.theta: 'optimistic' has none (it has degree, agents, delta)",
    ),
    "no degree": (
        {"algorithm": "paper", "rule": "optimistic", "agents": 5},
        "agreed.degree: saw 'nothing', expected 'optimistic' to have one, alike at all neighbours",
    ),
    "large degree": (
        {"algorithm": "paper", "rule": "optimistic", "agents": 5, "degree": 5},
        "agreed.degree: saw 5, expected 1 to agents - 1 = 4",
    ),
    "misspelt": (
        {"algorithm": "paper", "thetta": THETA},
        "agreed.thetta: saw \"a field called 'thetta'\", expected 'theta', perhaps",
    ),
    "negative": (
        {"algorithm": "paper", "theta": {"scale": -1}},
        "agreed.theta.scale: saw -1.0, expected a finite number greater than 0",
    ),
    "no theta": ({"algorithm": "paper", "theta": 3}, "agreed.theta: saw 3, expected "),
    "the paper's theta": (
        {"algorithm": "paper", "theta": "paper"},
        "agreed.theta: saw 'paper', expected a table with scale and exponent",
    ),
    "paper as a rule": (
        {"algorithm": "paper", "rule": "paper"},
        "agreed.rule: saw 'paper', expected one of bernstein, tight, optimistic, or module:attr",
    ),
    "oracle": (
        {"algorithm": "paper", "rule": "oracle"},
        "agreed.rule: saw 'oracle', expected a rule that does not know the truth",
    ),
    "oracle by its class": (
        {"algorithm": "paper", "rule": "colme.rules.decision:Oracle", "classmates": ["b"]},
        "agreed.rule: saw 'oracle', expected a rule that does not know the truth",
    ),
    "no module": ({"algorithm": "paper", "rule": "nowhere:Rule"}, "agreed.rule: saw 'nowhere:Ru"),
    "no rule": (
        {"algorithm": "paper", "rule": "support.own_rule:NO_RULE"},
        "agreed.rule: saw 'support.own_rule:NO_RULE', expected a colme.DecisionRule",
    ),
    "field missing": (
        {"algorithm": "paper", "rule": "support.own_rule:Within"},
        "agreed.rule: saw 'support.own_rule:Within with {}', expected other options",
    ),
}


@pytest.mark.parametrize(("options", "words"), WRONG_OPTIONS.values(), ids=list(WRONG_OPTIONS))
def test_an_option_that_is_not_there_or_can_not_be_is_named(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        algorithm(**options)
    assert str(caught.value).startswith(words)


def test_a_rule_of_ones_own_may_lie_beside_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "beside_it.py").write_text("from support.own_rule import Within as Mine\n")
    path = tmp_path / "node.toml"
    rule = 'bounds = [0, 1]\nalgorithm = "paper"\nrule = "beside_it:Mine"\ndistance = 0.25'
    path.write_text(TOML.replace("bounds = [0, 1]", rule))
    assert NodeConfig.load(path).settings("me").algorithm == Paper(rule=Within(0.25))


def test_a_node_is_not_its_own_neighbour() -> None:
    with refused(ConfigError, "neighbours", seen=("b", "c")):
        NodeConfig.build(fields()).settings("b")
