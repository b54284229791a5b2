"""What all pages share: looks, curves, libraries that are not ours, and what a browser may do."""

from colme.pages.assets import CHARTS, FORCES, STYLES, Asset, asset, assets
from colme.pages.policy import HEADERS, POLICY, is_own_host, is_own_origin

__all__ = [
    "CHARTS",
    "FORCES",
    "HEADERS",
    "POLICY",
    "STYLES",
    "Asset",
    "asset",
    "assets",
    "is_own_host",
    "is_own_origin",
]
