"""A page that is one file: looks, scripts and data in it, and nothing asked of anybody.

It is sent around and opened from a disk, offline.
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from typing import Any

from colme.pages import asset


def one_file(
    title: str, body: str, *, styles: Sequence[str], scripts: Sequence[str], data: Any
) -> str:
    """The page; `styles` and `scripts` are files of pages, `data` is for the scripts, by `told`."""
    programs = [asset(name).text for name in scripts]
    looks = "\n".join(asset(name).text for name in styles)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_policy(programs))}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>\n{looks}</style>\n</head>\n<body>\n{body}\n"
        f'<script type="application/json" id="told">{_inside_a_page(data)}</script>\n'
        + "".join(f"<script>{program}</script>\n" for program in programs)
        + "</body>\n</html>\n"
    )


def _policy(programs: Sequence[str]) -> str:
    """These scripts and no other, whatever names the rows had; nothing from elsewhere."""
    hashes = (b64encode(sha256(program.encode()).digest()).decode() for program in programs)
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def _inside_a_page(data: Any) -> str:
    """JSON in which no text can end the element that it stands in, or begin another."""
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c")
