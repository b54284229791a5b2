"""What several tests of nodes ask for by name."""

import pytest

from colme.node.session import link


@pytest.fixture
def call_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours that were away are called again within a tenth of a second."""
    monkeypatch.setattr(link, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(link, "LONGEST_PAUSE", 0.1)
