"""Asks a running node, as its owner: over loopback, with its token."""

from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from pydantic import TypeAdapter, ValidationError

from colme.errors import ConfigError, IdentityError, NetworkError
from colme.node.config import NodeConfig
from colme.node.owner.status import Status
from colme.node.owner.token import read_token

PATIENCE = 5.0
"""Seconds to wait for an answer."""
FIRST_ANSWER = 120.0
"""Seconds to wait for an estimate: a crowded machine may need them to load what computes it."""

STATUS = TypeAdapter(Status)
ANSWER = TypeAdapter(dict[str, Any] | None)


class OwnerClient:
    """The owner's side of the configured node."""

    def __init__(self, config: NodeConfig) -> None:
        if config.owner is None:
            expected = "an address for the owner's side, such as listen = '127.0.0.1:7401'"
            raise ConfigError("owner", None, expected)
        self._address = config.owner.listen
        self._token_path = config.state / "token"
        self._token = read_token(config.state)
        # Past any proxy of the environment: the token is for this machine alone.
        self._opener = build_opener(ProxyHandler({}))

    def status(self) -> Status:
        """Counts and words: see `Owned.status`. What a later version has added is left out."""
        try:
            return STATUS.validate_json(self.get("/status"))
        except ValidationError:
            raise self._stranger("no status") from None

    def estimate(self) -> dict[str, Any] | None:
        """The owner's answer; None while there is no sample."""
        content = self.get("/estimate", none_at=409, patience=FIRST_ANSWER)
        try:
            return ANSWER.validate_json(content or b"null")
        except ValidationError:
            raise self._stranger("no answer") from None

    def get(self, path: str, *, none_at: int | None = None, patience: float = PATIENCE) -> bytes:
        """Return what the node answers; nothing where it refuses with the code `none_at`."""
        request = Request(
            f"http://{self._address}{path}", headers={"Authorization": f"Bearer {self._token}"}
        )
        try:
            with self._opener.open(request, timeout=patience) as response:
                content: bytes = response.read()
        except HTTPError as error:
            with error:
                if error.code == none_at:
                    return b""
                if error.code == 401:
                    expected = f"the token of the node at {self._address}; another may run there"
                    raise IdentityError("token", str(self._token_path), expected) from None
                raise self._stranger(f"{error.code} {error.reason}") from None
        except TimeoutError:
            expected = f"an answer within {patience:g} s; the node is busy: ask again"
            raise NetworkError("owner.listen", self._address, expected) from None
        except (OSError, HTTPException) as error:
            expected = f"a running node; start it with colme node ({error})"
            raise NetworkError("owner.listen", self._address, expected) from None
        return content

    def _stranger(self, seen: str) -> NetworkError:
        expected = f"a healthy colme node there (it answered with {seen}); see its log"
        return NetworkError("owner.listen", self._address, expected)
