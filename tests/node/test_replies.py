"""What a neighbour answers: once for what was said, no larger than a frame, in few words."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from colme.node.node import Node
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import LARGEST_FRAME, Reason, Refused, reply_of
from support.logged import logging
from support.neighbours import Hearer, Neighbours, hearing, welcome
from support.waiting import until

RARE_ROUNDS = {"interval": 3600}


def refusal(detail: str, reason: "pb.Reason" = pb.REASON_OLD_ROUND) -> bytes:
    return pb.Frame(refusal=pb.Refusal(reason=reason, detail=detail)).SerializeToString()


def commits(node: Node) -> float:
    name = "colme_commit_seconds_count "
    lines = node.metrics.text().decode().splitlines()
    return next(float(line.removeprefix(name)) for line in lines if line.startswith(name))


def last_error(node: Node) -> str:
    (other,) = node.status().neighbours
    return other.last_error or ""


def answering(folder: Path, says: Callable[[bytes], Sequence[bytes]], words: str) -> float:
    """Until a node has found out about a neighbour that says so; its commits in a session.

    `says` makes of a good hello what is said.
    """

    async def play() -> float:
        two = Neighbours(folder, "a", "b")
        config = two.config("a", "b", agreed=RARE_ROUNDS)
        hearer = Hearer(config)
        hearer.answer = lambda: says(hearer.usual()[0])
        async with (
            hearing(hearer, two.trust("b", "a"), two.address("b")),
            Node(config) as node,
        ):
            await until(lambda: len(hearer.sessions) >= 2)
            await until(lambda: words in last_error(node))
            return commits(node) / len(hearer.sessions)

    return asyncio.run(play())


def test_a_welcome_is_taken_once_for_a_hello(tmp_path: Path) -> None:
    """Each is a commit, and 3,000 of them were 3,000."""
    words = "it sent a welcome for nothing that I said"
    assert answering(tmp_path, lambda hello: [hello, *[welcome()] * 300], words) <= 3


def test_a_refusal_is_taken_once_for_a_message(tmp_path: Path) -> None:
    stale = refusal("old", pb.REASON_STALE_STATE)
    words = "it sent a refusal for nothing that I said"
    says = [welcome(), *[stale] * 300]
    assert answering(tmp_path, lambda hello: [hello, *says], words) <= 3


def test_a_hello_said_again_is_no_commit(tmp_path: Path) -> None:
    words = "it sent a welcome for nothing that I said"
    says = [welcome(), welcome()]
    assert answering(tmp_path, lambda hello: [hello, welcome(), *[hello] * 300, *says], words) <= 3


def test_a_reply_has_the_limit_of_a_frame(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with logging(capsys) as log:
        words = f"expected at most {LARGEST_FRAME}"
        answering(tmp_path, lambda hello: [hello, refusal("x" * 900_000)], words)
        assert sum(len(str(line)) for line in log.lines()) < 10_000


def test_a_long_refusal_is_cut_before_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with logging(capsys) as log:
        long = refusal("x" * (LARGEST_FRAME - 100))
        answering(tmp_path, lambda hello: [hello, long], "turned away: xxx")
        (line,) = log.lines(event="refused by a neighbour")
        assert line["why"] == "x" * 500 + "..."
        assert all(len(str(line)) < 1000 for line in log.lines())


def test_my_own_refusal_fits_whatever_it_quotes() -> None:
    """Else the neighbour would learn that its reply is too large, and not what it did wrong."""
    error = Refused(Reason.OTHER_CONFIGURATION, "b", "agreed.rule", "\x00" * LARGEST_FRAME, "mine")
    reply = reply_of(error)
    assert len(reply) <= LARGEST_FRAME
    assert pb.Frame.FromString(reply).refusal.detail.startswith("agreed.rule: saw ")
