"""What keeps a node from starting is told in one line with code 2; bad lines do not stop one."""

import subprocess
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import rmtree
from socket import create_server

import pytest

from colme.cli.app import BAD_INPUT, run
from colme.errors import ConfigError
from colme.node.config import split_address
from colme.node.fleet import CONFIG, Member
from colme.node.state.database import FILE
from colme.node.trust.identity import Identity
from support.elsewhere import PATIENCE
from support.processes import (
    HTTP,
    Nodes,
    acquainted,
    ask,
    command,
    counted,
    log_file,
    rewritten,
)
from support.refusing import refused


def refusal(member: Member, *options: str, through: Sequence[str] = ()) -> tuple[str, list[str]]:
    """Why a node refuses to start, without the prefix; and the lines of its log."""
    ended = subprocess.run(
        [*through, *command(member, *options)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    *log, last = ended.stderr.splitlines()
    assert last.startswith("colme: ")
    assert all(line.startswith("{") for line in log), "one line, beside those of the log"
    return last.removeprefix("colme: "), log


def refused_here(member: Member, capsys: pytest.CaptureFixture[str]) -> str:
    """The same in this process: what is wrong in a configuration is said before anything runs."""
    assert run(["node", "--config", f"{member.folder / CONFIG}"]) == BAD_INPUT
    told = capsys.readouterr()
    assert told.out == ""
    (line,) = told.err.splitlines()
    assert line.startswith("colme: ")
    return line.removeprefix("colme: ")


def alone(folder: Path) -> Member:
    (member,) = acquainted(folder, 1, HTTP)
    return member


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    member = alone(tmp_path)
    with create_server(split_address(member.config.listen)):
        words, _ = refusal(member)
    assert words == (
        f"listen: saw '{member.config.listen}', expected a free port of this machine: is it taken?"
    )


def test_a_second_process_on_the_same_state(tmp_path: Path) -> None:
    member = alone(tmp_path)
    with Nodes(member) as nodes:
        nodes.ready()
        words, log = refusal(member)
        assert "in use by another process" in words
        assert log == []
        assert nodes.status(member).epoch == 1, "and the first one is not disturbed"
        nodes.release(member)


def expire(member: Member) -> None:
    """Give it an identity whose time is over."""
    rmtree(member.config.identity)
    long_ago = datetime.now(UTC) - timedelta(days=40)
    Identity.create(member.name, member.config.identity, days=30, now=long_ago)


def open_to_all(member: Member) -> None:
    """Make its state folder one that others may write to."""
    member.config.state.mkdir()
    member.config.state.chmod(0o777)


HARM: dict[str, tuple[Callable[[Member], object], str, str]] = {
    "expired": (expire, "certificate of this node: saw 'expired on ", "colme identity renew"),
    "key": (
        lambda one: (one.config.identity / "identity.pem").chmod(0o640),
        "identity",
        "chmod 600",
    ),
    "state": (open_to_all, "state: saw ", "chmod 700"),
    "neighbour": (
        lambda one: one.config.neighbours[0].certificate.unlink(),
        "certificate: saw ",
        "a certificate to read, the neighbour's identity.crt",
    ),
}


@pytest.mark.parametrize(("harm", "begin", "remedy"), HARM.values(), ids=list(HARM))
def test_files_that_are_not_as_they_should_be(
    harm: Callable[[Member], object], begin: str, remedy: str, tmp_path: Path
) -> None:
    member, _ = acquainted(tmp_path, 2)
    harm(member)
    words, _ = refusal(member)
    assert words.startswith(begin)
    assert remedy in words
    assert not (member.config.state / FILE).exists(), "nothing is made before all is there"


@pytest.mark.parametrize(
    ("table", "body", "words"),
    [
        ("privacy", "epsilon = -1", "privacy.epsilon: saw -1"),
        ("source", 'kind = "carrier pigeon"', "source.kind: saw 'carrier pigeon'"),
        ("agreed", "bounds = [1, 0]", "agreed.bounds: saw (1.0, 0.0)"),
        ("agreed", "bounds = [0, 1]\nrouds = 3", "agreed.rouds: saw \"a field called 'rouds'\""),
        ("owner", 'listen = "0.0.0.0:7401"', "owner.listen: saw '0.0.0.0:7401'"),
        ("pace", "deadline = ", "configuration: saw "),
    ],
)
def test_a_configuration_that_is_wrong(
    table: str, body: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    member = alone(tmp_path)
    with refused(ConfigError, words.partition(":")[0]):
        rewritten(member, {table: body})
    assert refused_here(member, capsys).startswith(words)


def test_a_configuration_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    member = alone(tmp_path)
    (member.folder / CONFIG).unlink()
    assert refused_here(member, capsys).startswith("configuration: saw ")


def test_a_loss_is_not_believed_where_there_is_a_state(tmp_path: Path) -> None:
    member = alone(tmp_path)
    with Nodes(member) as nodes:
        nodes.ready()
        assert ask(member, "/samples", [0.5])[0] == 200
        nodes.stop(member)
    words, _ = refusal(member, "--state-lost")
    assert words.startswith("--state-lost: saw ")
    assert "only what was lost can be begun anew" in words


def test_lines_that_are_no_samples_are_counted_and_never_quoted(tmp_path: Path) -> None:
    (member,) = acquainted(tmp_path, 1, {"source": 'kind = "stdin"'})
    with Nodes() as nodes:
        nodes.members = (member,)
        nodes.start(member, stdin=subprocess.PIPE)
        stdin = nodes.stdin(member)
        stdin.write(b"0.5\nsecret-diagnosis\n0.51\nnan\n\xff\xfe\n0.52")
        stdin.flush()
        nodes.ready()
        nodes.until("2 samples", lambda: counted(member, "samples_total") == 2)
        nodes.until(
            "3 refused",
            lambda: counted(member, 'samples_refused_total{reason="invalid value"}') == 3,
        )
        assert nodes.status(member).samples.taken == 2, "the last line has not ended"
        stdin.close()
        nodes.until("3 samples", lambda: counted(member, "samples_total") == 3)
        nodes.ready()  # The end of the input is not the end of the node.
        nodes.stop(member)
    log = log_file(member).read_text()
    assert "line is no sample" in log
    assert "the source has ended" in log
    assert "secret-diagnosis" not in log
