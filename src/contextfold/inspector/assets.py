"""The page itself: a few files beside this one, read once, each with its type and a tag that tells when it changed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
INDEX = "index.html"


@dataclass(frozen=True, slots=True)
class Asset:
    """One file of the page."""

    kind: str
    data: bytes
    tag: str


@cache
def assets() -> dict[str, Asset]:
    """Every file by its name."""
    found: dict[str, Asset] = {}
    for each in files(__package__).joinpath("assets").iterdir():
        kind = TYPES.get(each.name.rpartition(".")[2])
        if kind is not None:
            data = each.read_bytes()
            found[each.name] = Asset(kind, data, f'"{sha256(data).hexdigest()[:24]}"')
    return found
