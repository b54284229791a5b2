"""Whose files they are: what somebody else could change, or read, is refused before it is used."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from colme.errors import IdentityError, NodeError, StoreError
from colme.node.owner.token import owner_token, read_token
from colme.node.state import backup, restore
from colme.node.trust.identity import PRIVATE_FILE, Identity
from support.stored import commit, opened, rounds


def a_state(folder: Path) -> Path:
    """With a sample, and a token."""
    with closing(opened(folder)) as store:
        commit(store, next(rounds()))
    owner_token(folder)
    return folder


def linked(path: Path) -> None:
    """Its content elsewhere, and a link in its place."""
    elsewhere = path.with_name("elsewhere")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


HARM: dict[str, tuple[Callable[[Path], object], str]] = {
    "open folder": (lambda f: f.chmod(0o777), "mode 777, others may write in it.*chmod 700 {0}"),
    "folder of a group": (lambda f: f.chmod(0o720), "mode 720, others may write.*chmod 700 {0}"),
    "linked folder": (linked, "{0}: a symbolic link.*a folder itself, such as .*elsewhere"),
    "readable": (lambda f: (f / "state.sqlite").chmod(0o640), "mode 640.*600 {0}/state.sqlite"),
    "writable": (lambda f: (f / "state.sqlite").chmod(0o602), "mode 602.*600 {0}/state.sqlite"),
    "linked": (lambda f: linked(f / "state.sqlite"), "state.sqlite: a symbolic link"),
    "log": (lambda f: (f / "state.sqlite-wal").symlink_to("/dev/null"), "-wal: a symbolic link"),
    "index": (lambda f: (f / "state.sqlite-shm").symlink_to(f / "no"), "-shm: a symbolic link"),
    "lock": (lambda f: linked(f / "lock"), "lock: a symbolic link"),
}


@pytest.mark.parametrize(("harm", "words"), HARM.values(), ids=list(HARM))
def test_a_state_that_others_could_touch_is_refused_and_left_as_it_is(
    harm: Callable[[Path], object], words: str, tmp_path: Path
) -> None:
    folder = a_state(tmp_path / "state")
    before = (folder / "state.sqlite").read_bytes()
    harm(folder)
    with pytest.raises(StoreError, match=words.format(folder)):
        opened(folder)
    assert (folder / "state.sqlite").read_bytes() == before


def test_a_backup_is_not_restored_to_where_others_could_touch_it(tmp_path: Path) -> None:
    folder = a_state(tmp_path / "state")
    backup(folder, tmp_path / "copy")
    folder.chmod(0o770)
    with pytest.raises(StoreError, match=f"mode 770.*chmod 700 {folder}"):
        restore(tmp_path / "copy", folder)


def test_a_link_or_a_pipe_in_the_place_of_a_secret_is_refused(tmp_path: Path) -> None:
    folder, identity = a_state(tmp_path / "state"), tmp_path / "identity"
    Identity.create("a", identity, now=datetime.now(UTC))
    linked(folder / "token")
    linked(identity / PRIVATE_FILE)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "token").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "token", mode=0o600)
    attempts: list[Callable[[], object]] = [
        lambda: owner_token(folder),
        lambda: read_token(folder),
        lambda: Identity.load(identity),
        lambda: owner_token(tmp_path / "new"),
    ]
    for attempt in attempts:
        with pytest.raises(IdentityError, match=r"a symbolic link.*the file itself"):
            attempt()
    assert not (tmp_path / "nowhere").exists(), "nothing is written where a link leads"
    with pytest.raises(IdentityError, match="no regular file"):
        owner_token(tmp_path)


def test_a_secret_that_others_could_replace_is_refused(tmp_path: Path) -> None:
    identity = tmp_path / "identity"
    Identity.create("a", identity, now=datetime.now(UTC))
    identity.chmod(0o770)
    with pytest.raises(IdentityError, match=f"others may replace it.*chmod go-w {identity}"):
        Identity.load(identity)


def test_what_belongs_to_somebody_else_is_refused_whoever_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root could read it, and would rely on what another user put there."""
    folder = a_state(tmp_path / "state")
    Identity.create("a", tmp_path / "a", now=datetime.now(UTC))
    me, other = os.geteuid(), os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    words = f"belongs to user {me}, and this process to user {other}.*chown -R {other} {tmp_path}"
    attempts: list[Callable[[], object]] = [
        lambda: opened(folder),
        lambda: owner_token(folder),
        lambda: read_token(folder),
        lambda: Identity.load(tmp_path / "a"),
    ]
    for attempt in attempts:
        with pytest.raises(NodeError, match=words):
            attempt()


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mask", [0, 0o777, 0o022])
def test_what_is_made_is_its_owners_alone_under_any_umask(mask: int, tmp_path: Path) -> None:
    with umask(mask):
        folder = a_state(tmp_path / "deep" / "state")
        with closing(opened(folder)):
            modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
        Identity.create("a", tmp_path / "far" / "a", now=datetime.now(UTC))
    assert set(modes) == {"lock", "state.sqlite", "state.sqlite-wal", "state.sqlite-shm", "token"}
    assert set(modes.values()) == {0o600}
    for made in (folder, folder.parent, tmp_path / "far", tmp_path / "far" / "a"):
        assert made.stat().st_mode & 0o777 == 0o700
    assert Identity.load(tmp_path / "far" / "a").name == "a"
