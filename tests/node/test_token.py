"""The owner's token: made once, the owner's alone from the first byte."""

import os
from pathlib import Path

import pytest

from colme.errors import IdentityError
from colme.node.owner.token import owner_token, read_token


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
