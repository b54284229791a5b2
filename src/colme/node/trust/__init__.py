"""Who a node is, and whom it takes for whom: certificates, pinned by hand."""

from typing import TYPE_CHECKING

from colme.node.later import when_asked
from colme.node.trust.identity import (
    PRIVATE_FILE,
    PUBLIC_FILE,
    Certificate,
    Identity,
    read_certificates,
)

if TYPE_CHECKING:
    from colme.node.trust.probe import explain
    from colme.node.trust.tls import Trust, channel_options, server_options, signing_settings
else:  # They need gRPC, an identity does not.
    __getattr__ = when_asked(
        __name__,
        probe=("explain",),
        tls=("Trust", "channel_options", "server_options", "signing_settings"),
    )

__all__ = [
    "PRIVATE_FILE",
    "PUBLIC_FILE",
    "Certificate",
    "Identity",
    "Trust",
    "channel_options",
    "explain",
    "read_certificates",
    "server_options",
    "signing_settings",
]
