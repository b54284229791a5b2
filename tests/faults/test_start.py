"""What keeps a node from starting is told in one line with code 2; bad lines do not stop one."""

import stat
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import rmtree
from socket import create_server

import pytest

from colme.cli.app import BAD_INPUT, run
from colme.errors import ConfigError
from colme.node.config import split_address
from colme.node.fleet import CONFIG, Member
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

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2


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


def run_once(member: Member) -> None:
    """So that it has a state."""
    with Nodes(member) as nodes:
        nodes.ready()
        nodes.stop(member)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    member = alone(tmp_path)
    with create_server(split_address(member.config.listen)):
        words, _ = refusal(member)
    assert words == (
        f"listen: saw '{member.config.listen}', expected a free port of this machine: is it taken?"
    )


def test_a_port_of_the_owners_side_that_is_taken(tmp_path: Path) -> None:
    member = alone(tmp_path)
    assert member.config.owner is not None
    with create_server(split_address(member.config.owner.listen)):
        words, _ = refusal(member)
    assert words.startswith(f"owner.listen: saw '{member.config.owner.listen}', expected a free")
    assert "Address already in use" in words


def test_a_second_process_on_the_same_state(tmp_path: Path) -> None:
    member = alone(tmp_path)
    with Nodes(member) as nodes:
        nodes.ready()
        words, log = refusal(member)
        assert "in use by another process" in words
        assert log == []
        assert nodes.status(member).epoch == 1, "and the first one is not disturbed"
        nodes.release(member)


def test_the_state_of_another_node_or_promise(tmp_path: Path) -> None:
    """A state keeps the name, the bounds and the epsilon that its samples were noised for."""
    member = alone(tmp_path)
    run_once(member)
    path = member.folder / CONFIG
    right = path.read_text()
    for old, new, field in (
        ("epsilon = 4", "epsilon = 5", "privacy.epsilon: saw 5"),
        ("bounds = [\n    0.3", "bounds = [\n    0.2", "agreed.bounds: saw (0.2"),
    ):
        assert old in right
        path.write_text(right.replace(old, new))
        words, _ = refusal(member)
        assert words.startswith(field)
        assert "as in the state" in words
    path.write_text(right)
    rmtree(member.config.identity)
    Identity.create("another", member.config.identity, now=datetime.now(UTC))
    words, _ = refusal(member)
    assert words.startswith("name: saw 'another', expected 'node000', as in the state")


OBEYING = f"""
import ctypes, os, sys
if os.geteuid() == 0:
    libc = ctypes.CDLL(None)
    for capability in ({CAP_DAC_OVERRIDE}, {CAP_DAC_READ_SEARCH}):
        libc.prctl({PR_CAPBSET_DROP}, capability, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Starts another program, which obeys permissions also as root. It is a program of its own: code
that runs between fork and exec here would find gRPC's threads gone."""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="root obeys on Linux alone")
@pytest.mark.parametrize("new", [True, False], ids=["new", "old"])
def test_a_state_that_is_read_only(new: bool, tmp_path: Path) -> None:
    member = alone(tmp_path)
    if new:
        folder = member.folder
    else:
        run_once(member)
        folder = member.config.state
        for file in folder.iterdir():
            file.chmod(0o400)
    folder.chmod(0o500)
    try:
        words, _ = refusal(member, through=[sys.executable, "-c", OBEYING])
    finally:
        folder.chmod(0o700)
    assert words.startswith("state: saw ")
    assert "that this user may write" in words


def test_an_identity_that_has_expired(tmp_path: Path) -> None:
    member = alone(tmp_path)
    rmtree(member.config.identity)
    long_ago = datetime.now(UTC) - timedelta(days=40)
    Identity.create(member.name, member.config.identity, days=30, now=long_ago)
    words, _ = refusal(member)
    assert words.startswith("certificate of this node: saw 'expired on ")
    assert "colme identity renew" in words


def test_a_key_that_others_can_read(tmp_path: Path) -> None:
    member = alone(tmp_path)
    key = member.config.identity / "identity.pem"
    key.chmod(0o640)
    words, _ = refusal(member)
    assert words.endswith(f"a file that only its owner can read or write: chmod 600 {key}")
    assert stat.S_IMODE(key.stat().st_mode) == 0o640, "mending it is for the owner"


def test_a_state_folder_or_a_token_that_others_could_change(tmp_path: Path) -> None:
    member = alone(tmp_path)
    run_once(member)
    state, token = member.config.state, member.config.state / "token"
    state.chmod(0o777)
    words, log = refusal(member)
    assert words.startswith(f"state: saw '{state}: mode 777, others may write in it'")
    assert words.endswith(f"chmod 700 {state}")
    assert log == []
    state.chmod(0o700)
    token.rename(tmp_path / "token")
    token.symlink_to(tmp_path / "token")
    words, _ = refusal(member)
    assert words.startswith(f"token: saw '{token}: a symbolic link'")


def test_a_neighbours_certificate_that_is_missing(tmp_path: Path) -> None:
    member, other = acquainted(tmp_path, 2)
    (other.config.identity / "identity.crt").unlink()
    words, _ = refusal(member)
    assert words.startswith("certificate: saw ")
    assert "a certificate to read, the neighbour's identity.crt" in words
    assert not member.config.state.exists(), "nothing is made before all is there"


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
