"""What several tests of nodes ask for by name."""

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

import pytest

from colme.node import driver
from colme.node.session import link
from support.boarded import boarded
from support.driven import driven
from support.logged import Logged, logging


@pytest.fixture
def logged(capsys: pytest.CaptureFixture[str]) -> Iterator[Logged]:
    """What nodes log while the test runs."""
    with logging(capsys) as lines:
        yield lines


@pytest.fixture
def call_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours that were away are called again within a tenth of a second."""
    monkeypatch.setattr(link, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(link, "LONGEST_PAUSE", 0.1)


@pytest.fixture
def retry_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that failed is tried again after a hundredth of a second."""
    monkeypatch.setattr(driver, "FIRST_RETRY", 0.01)


@pytest.fixture(
    params=[partial(boarded, answers=True), partial(driven, deadline=0.05)], ids=["relay", "paper"]
)
def working(request: pytest.FixtureRequest) -> Callable[..., AbstractAsyncContextManager[Any]]:
    """Begins the driver of either kind of algorithm, without a network."""
    return request.param  # type: ignore[no-any-return]
