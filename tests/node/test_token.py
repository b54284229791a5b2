"""What is its owner's alone: token, state and identity, from the first byte and whoever looks."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from colme.errors import IdentityError, NodeError, StoreError
from colme.node.owner.token import owner_token, read_token
from colme.node.state import backup, restore
from colme.node.trust.identity import PRIVATE_FILE, PUBLIC_FILE, Identity
from support.stored import commit, opened, rounds


def test_it_is_made_once_and_long_enough(tmp_path: Path) -> None:
    token = owner_token(tmp_path)
    assert len(token) >= 43
    assert owner_token(tmp_path) == read_token(tmp_path) == token


def test_two_nodes_have_two_tokens(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert owner_token(tmp_path / "a") != owner_token(tmp_path / "b")


def test_it_is_the_owners_alone_from_the_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = []
    really_open = os.open

    def watched(path: Path, flags: int, mode: int = 0o777) -> int:
        file = really_open(path, flags, mode)
        modes.append(os.fstat(file).st_mode & 0o777)
        return file

    umask = os.umask(0)
    try:
        monkeypatch.setattr(os, "open", watched)
        owner_token(tmp_path)
    finally:
        os.umask(umask)
    assert modes[0] == 0o600
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600


def test_it_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An owner who asks while the node starts is not told to delete half a token."""
    really_sync, seen = os.fsync, []

    def watched(file: int) -> None:
        seen.append((tmp_path / "token").exists())
        really_sync(file)

    monkeypatch.setattr(os, "fsync", watched)
    (tmp_path / "token.partial").write_text("of a start that was killed")
    owner_token(tmp_path)
    assert seen[0] is False
    assert [path.name for path in tmp_path.iterdir()] == ["token"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_one_that_others_can_read_or_write_is_refused_with_the_remedy(
    mode: int, tmp_path: Path
) -> None:
    owner_token(tmp_path)
    (tmp_path / "token").chmod(mode)
    with pytest.raises(IdentityError, match=f"mode {mode:o}.*chmod 600 {tmp_path}/token"):
        owner_token(tmp_path)


@pytest.mark.parametrize("content", [b"", b"short\n", b"\xff" * 40, b"two lines\n" * 5])
def test_a_damaged_one_is_refused_with_the_remedy(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(IdentityError, match="delete the file"):
        owner_token(tmp_path)


def test_a_missing_one_or_a_missing_folder_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(IdentityError, match="the node makes it when it starts"):
        read_token(tmp_path)
    assert not (tmp_path / "token").exists()
    with pytest.raises(IdentityError, match="a place to write"):
        owner_token(tmp_path / "nowhere")


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
    files = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "far" / "a").iterdir()}
    assert files == {PRIVATE_FILE: 0o600, PUBLIC_FILE: 0o644}
