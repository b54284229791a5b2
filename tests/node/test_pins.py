"""The files of pinned certificates: only their owner may change them, and a change is told."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from shutil import copyfile

import pytest

from colme.cli.app import run
from colme.errors import IdentityError
from colme.node.trust.identity import PUBLIC_FILE, Certificate, Identity, read_certificates
from colme.node.trust.tls import Trust
from support.logged import logging
from support.neighbours import Neighbours


def pinned(two: Neighbours) -> Path:
    """A copy of b's certificate, in a folder of its own."""
    folder = two.folder / "pinned"
    folder.mkdir(mode=0o755)
    copyfile(two.identity("b") / PUBLIC_FILE, folder / "b.crt")
    return folder / "b.crt"


def trusting(two: Neighbours, **pins: Path) -> Trust:
    return Trust(Identity.load(two.identity("a")), two.identity("a"), pins)


HARM: dict[str, tuple[Callable[[Path], None], str]] = {
    "all": (lambda pin: pin.chmod(0o646), "mode 646, others may write to it.*chmod go-w {0}"),
    "group": (lambda pin: pin.chmod(0o664), "mode 664, others may write to it.*chmod go-w {0}"),
    "folder": (lambda pin: pin.parent.chmod(0o777), "others may replace it.*chmod go-w {1}"),
}


@pytest.mark.parametrize(("harm", "words"), HARM.values(), ids=list(HARM))
def test_one_that_others_could_change_is_refused_at_the_start(
    harm: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    two = Neighbours(tmp_path, "a", "b")
    pin = pinned(two)
    trusting(two, b=pin)
    harm(pin)
    with pytest.raises(IdentityError, match=words.format(pin, pin.parent)):
        trusting(two, b=pin)
    assert run(["identity", "show", str(pin)]) == 0, "to look at it is no harm"


def test_one_of_somebody_else_is_refused_unless_it_is_roots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = Neighbours(tmp_path, "a", "b")
    pin, identity = pinned(two), Identity.load(two.identity("a"))
    owner = pin.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    monkeypatch.setattr("colme.node.files.ROOT", owner)
    Trust(identity, two.identity("a"), {"b": pin})
    monkeypatch.setattr("colme.node.files.ROOT", owner + 2)
    with pytest.raises(IdentityError, match=f"{pin}: it belongs to user {owner}"):
        Trust(identity, two.identity("a"), {"b": pin})


@pytest.mark.parametrize(("harm", "words"), HARM.values(), ids=list(HARM))
def test_while_the_node_runs_such_a_file_is_not_believed(
    harm: Callable[[Path], None], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = Neighbours(tmp_path, "a", "b")
    pin = pinned(two)
    trust = trusting(two, b=pin)
    before = trust.certificates("b")
    pin.write_bytes(Identity.renew(two.identity("b"), now=datetime.now(UTC)).certificate.pem)
    harm(pin)
    with logging(capsys) as log:
        assert trust.certificates("b") == before
        (line,) = log.lines(event="pinned certificate can't be read", peer="b")
        assert words.partition(",")[0] in line["why"] or "others may replace it" in line["why"]


def test_a_change_is_told_with_both_fingerprints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = Neighbours(tmp_path, "a", "b")
    pin = pinned(two)
    trust = trusting(two, b=pin)
    (old,) = read_certificates(pin)
    with logging(capsys) as log:
        assert trust.certificates("b") == (old,)
        assert log.lines(event="pinned certificate changed") == []
        new = Identity.renew(two.identity("b"), now=datetime.now(UTC)).certificate
        for now in ((old, new), (new,)):
            pin.write_bytes(b"".join(one.pem for one in now))
            assert trust.certificates("b") == now
            assert trust.certificates("b") == now
        first, second = log.lines(event="pinned certificate changed", peer="b", level="warning")
    assert first["why"] == f"was {old.fingerprint}, is {old.fingerprint} and {new.fingerprint}"
    assert second["why"] == f"was {old.fingerprint} and {new.fingerprint}, is {new.fingerprint}"


def test_while_the_node_runs_a_certificate_stays_one_nodes_alone(tmp_path: Path) -> None:
    """Else whoever may change one neighbour's file could speak for another, or for this node."""
    three = Neighbours(tmp_path, "a", "b", "c")
    pin = pinned(three)
    trust = trusting(three, b=pin, c=three.identity("c") / PUBLIC_FILE)
    before = trust.certificates("b")
    for other in ("a", "c"):
        (stolen,) = read_certificates(three.identity(other) / PUBLIC_FILE)
        pin.write_bytes(stolen.pem)
        assert trust.certificates("b") == before
    assert trust.name_of(Certificate(stolen.pem).pem) == "c"
