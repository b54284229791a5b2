"""Real nodes in processes of their own: started, hurt, asked, and always ended."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import IO

from colme.algorithms import resolved
from colme.errors import NodeError
from colme.node.config import NodeConfig, split_address
from colme.node.fleet import CONFIG, Member, Plan, prepare
from colme.node.owner.client import OwnerClient
from colme.node.owner.status import NeighbourStatus, SampleCounts, Status
from colme.node.owner.token import read_token
from colme.node.state import Overview
from support.elsewhere import PATIENCE, Found, until
from support.forked import Forked

DEADLINE = 0.4
"""Seconds that these nodes wait for a silent neighbour: a busy machine needs less."""
INTERVAL = 0.05
"""Seconds between two of their syncs."""
ENDLESS = 1_000_000

HTTP = {"source": 'kind = "http"'}
"""Samples come from the test."""

SILENT = Status(
    name="",
    fingerprint="",
    epoch=0,
    algorithm="",
    round=0,
    phase="",
    rounds="",
    began=None,
    ended=None,
    samples=SampleCounts(taken=0, released=0, waiting=0, clamped=0, refused=0),
    privacy="",
    class_size=0,
    trust=0.0,
    origin=None,
    records=None,
    board=None,
    barred=(),
    neighbours=(),
    troubles=("?",),
)
"""Of a node that does not answer."""


def acquainted(
    folder: Path,
    size: int,
    tables: Mapping[str, str] | None = None,
    *,
    algorithm: str = resolved("recommended"),
) -> list[Member]:
    """Nodes of one class that all know each other, with these tables configured."""
    plan = Plan(
        agents=size,
        degree=size - 1,
        rounds=ENDLESS,
        means=(0.5,),
        samples=3,
        epsilon=4,
        algorithm=algorithm,
    )
    tables = {"pace": f"deadline = {DEADLINE}\ninterval = {INTERVAL}"} | dict(tables or {})
    return [rewritten(member, tables) for member in prepare(plan, folder)]


def rewritten(member: Member, tables: Mapping[str, str]) -> Member:
    """The same node with other tables in its configuration, which is checked again."""
    path = member.folder / CONFIG
    text = path.read_text()
    for name, body in tables.items():
        text, found = re.subn(rf"(?m)^\[{name}\]\n(.+\n)*", f"[{name}]\n{body}\n", text)
        assert found == 1, f"one table {name} in {path}"
    path.write_text(text)
    return Member(
        name=member.name, truth=member.truth, folder=member.folder, config=NodeConfig.load(path)
    )


def command(member: Member, *options: str) -> list[str]:
    """The command line that runs a node."""
    return [sys.executable, "-m", "colme", *arguments(member, *options)]


def arguments(member: Member, *options: str) -> list[str]:
    """Those of `colme` that run a node."""
    return ["node", "--config", f"{member.folder / CONFIG}", *options]


class Nodes:
    """Processes of nodes, from entering the block to leaving it; one can be started again."""

    def __init__(self, *members: Member) -> None:
        self.members = members
        self._processes: dict[str, subprocess.Popen[bytes] | Forked] = {}

    def __enter__(self) -> "Nodes":
        try:
            for member in self.members:
                self.start(member)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()

    def start(
        self,
        member: Member,
        *options: str,
        stdin: int = subprocess.DEVNULL,
        stderr: int | None = None,
        through: Sequence[str] = (),
    ) -> None:
        """Start a node, or start it again; its log goes on in the same file, or to `stderr`.

        `through` is a program that starts it in turn. Without any of these it is forked.
        """
        if stdin == subprocess.DEVNULL and stderr is None and not through:
            forked = Forked(arguments(member, *options), log_file(member))
            self._processes[member.name] = forked
            return
        with log_file(member).open("ab") as log:
            self._processes[member.name] = subprocess.Popen(
                [*through, *command(member, *options)],
                stdin=stdin,
                stdout=log,
                stderr=log if stderr is None else stderr,
            )

    def pid(self, member: Member) -> int:
        """Of its process."""
        return self._processes[member.name].pid

    def stdin(self, member: Member) -> IO[bytes]:
        """Its standard input, if it was started with a pipe."""
        stdin = self._processes[member.name].stdin
        assert stdin is not None
        return stdin

    def send(self, member: Member, number: signal.Signals) -> None:
        """Send it a signal."""
        self._processes[member.name].send_signal(number)

    def kill(self, member: Member) -> None:
        """As a power failure would; return once it is gone."""
        self.send(member, signal.SIGKILL)
        self._processes[member.name].wait()

    def ended(self, member: Member) -> int:
        """Its exit code, once it has ended."""
        try:
            return self._processes[member.name].wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{member.name} still runs\n{self._logs()}") from None

    def stop(self, member: Member) -> None:
        """Ask it to end, which it does without complaint."""
        self.send(member, signal.SIGTERM)
        assert self.ended(member) == 0, self._logs()

    def until(self, what: str, look: Callable[[], Found | None]) -> Found:
        """The first true value of a look; if there is none in time, all logs are shown."""
        return until(what, look, self._logs)

    def status(self, member: Member) -> Status:
        """What it says of itself, once it answers; all values are 0 or empty before."""
        code = self._processes[member.name].poll()
        assert code is None, f"{member.name} ended with {code}\n{self._logs()}"
        try:
            return OwnerClient(member.config).status()
        except NodeError:  # It is starting, or held.
            return SILENT

    def round(self, member: Member) -> int:
        """The last round it began."""
        return self.status(member).round

    def advance(self, member: Member, rounds: int = 3) -> int:
        """Wait until it has begun so many rounds more; the round it is in then."""
        goal = max(1, self.round(member)) + rounds
        return self.until(
            f"round {goal} of {member.name}",
            lambda: now if (now := self.round(member)) >= goal else None,
        )

    def release(self, member: Member) -> None:
        """Wait until it has released something new: of its own data, or of samples given here."""
        before = self.status(member).samples
        if member.config.source.kind == "http":
            assert ask(member, "/samples", [0.5] * (20 + 2 * before.taken))[0] == 200
        self.until(
            f"a release of {member.name}",
            lambda: self.status(member).samples.released > before.released,
        )

    def neighbour(self, member: Member, other: Member) -> NeighbourStatus | None:
        """One node, as another sees it; nothing before that one answers."""
        seen = self.status(member).neighbours
        return next((one for one in seen if one.name == other.name), None)

    def ready(self, *members: Member) -> None:
        """Wait until they, or all, have begun and know each other."""
        for one in members or self.members:
            self.until(f"{one.name} ready", partial(self._is_ready, one))

    def _is_ready(self, member: Member) -> bool:
        now = self.status(member)
        return now.began is not None and not now.troubles

    def agree(self, size: int, *members: Member) -> None:
        """Wait until each of them, or of all, is in a class of so many, or has so many records."""
        for one in members or self.members:
            self.until(f"{one.name} one of {size}", partial(self._is_among, one, size))

    def _is_among(self, member: Member, size: int) -> bool:
        now = self.status(member)
        return size == (now.class_size if now.records is None else now.records)

    def suspect(self, victim: Member, members: Sequence[Member], *, suspect: bool = True) -> None:
        """Wait until these do not wait for it any more, or do so again."""
        for one in members:
            self.until(
                f"{victim.name} {'suspect' if suspect else 'trusted'} to {one.name}",
                partial(self._suspects, one, victim, suspect),
            )

    def _suspects(self, member: Member, victim: Member, suspect: bool) -> bool:
        seen = self.neighbour(member, victim)
        return seen is not None and seen.suspect is suspect

    def _logs(self) -> str:
        return "\n".join(
            f"--- {member.name}\n{log_file(member).read_text()[-3000:]}" for member in self.members
        )


def log_file(member: Member) -> Path:
    """What a node has written."""
    return member.folder / "node.log"


def ask(member: Member, path: str, body: object = None) -> tuple[int, str]:
    """The code and text of an answer of its owner's side, 0 if there is none."""
    assert member.config.owner is not None
    connection = HTTPConnection(*split_address(member.config.owner.listen), timeout=PATIENCE)
    try:
        connection.request(
            "GET" if body is None else "POST",
            path,
            None if body is None else json.dumps(body),
            {"Authorization": f"Bearer {read_token(member.config.state)}"},
        )
        response = connection.getresponse()
        return response.status, response.read().decode()
    except (OSError, HTTPException, NodeError):
        return 0, ""
    finally:
        connection.close()


def counted(member: Member, series: str) -> float:
    """The value of one series of its metrics."""
    _, text = ask(member, "/metrics")
    values = (line.removeprefix(f"colme_{series} ") for line in text.splitlines())
    return next((float(value) for value in values if value[:1].isdecimal()), 0.0)


def received(member: Member, sender: Member) -> float:
    """Messages that one node has had from another since it started."""
    return counted(member, f'messages_received_total{{peer="{sender.name}"}}')


def require_each_sample_noised_once(member: Member) -> None:
    """The entries of a node's ledger join without overlap, and end where its releases do."""
    overview = Overview.of(member.config.state, entries=ENDLESS)
    entries = overview.last_entries[::-1]
    assert entries, "a ledger without an entry shows nothing"
    ends = [0, *(entry.last for entry in entries)]
    assert [entry.first for entry in entries] == [last + 1 for last in ends[:-1]]
    assert ends[-1] == overview.ledger.samples <= overview.taken
