"""The exact strings an agent has to remember: paths, identifiers, hashes, addresses, numbers, phrases, errors, flags.

A measure, so it follows the definition in `docs/replay.md` and nothing else; it knows nothing of how digests choose
their lines. A path is compared by its last two parts, so that an absolute and a relative spelling are one literal.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_FILES = (
    "go py ts tsx js jsx mjs json jsonl md yml yaml sh toml rs java txt sql html css mod sum lock cfg ini env "
    "rb c h cpp hpp ipynb rst xml csv log pl tmpl proto traj"
)
_SUFFIX = rf"\.(?:{'|'.join(_FILES.split())})"
# Linear by construction: a path is tried only where a run of its letters begins (or at a slash with no part before it),
# a file only where its dotted name begins. What fails there fails at every later letter of the same run too.
_CANDIDATES = (
    r"https?://[^\s\"'`<>)\]}\\]+",  # an address
    r"(?:(?<![\w.@+~/-])|(?<![\w.@+~-])(?=/))/?(?:[\w.@+~-]++/)+[\w.@+-]++",  # a path of several parts
    r"(?<![\w/])/[\w.@+-]{4,}+",  # … of one, from the root
    rf"(?<![\w-])(?<![\w-]\.)[\w-]++(?:\.[\w-]++)*{_SUFFIX}\b",  # a file
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",  # a UUID
    r"(?<![\w-])--[a-z][\w-]{2,}",  # a flag
    r"[a-z0-9]++(?:-[a-z0-9]++){2,}",  # a name in kebab case
    r"\w{4,}+",  # any other word; most are none
)
_TOKEN = re.compile("|".join(_CANDIDATES))
_ENDS_AS_FILE = re.compile(_SUFFIX + r"\Z")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")
_HASH = re.compile(r"\A(?=[a-f]*+\d)(?=\d*+[a-f])[0-9a-f]{7,64}\Z")
_CODE = re.compile(r"\A(?:E[A-Z]{4,10}|(?!RFC|SHA|UTF|ISO|MD|HTTP|CVE|AES|RSA)[A-Z]{1,4}\d{3,5})\Z")
_ERROR = re.compile(r"Err|Exception")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_QUOTES = re.compile(r"\"([^\"\n]{8,60})\"|`([^`\n]{8,60})`|'([^'\n]{8,60})'")
_GUTTER = re.compile(r"(?m)^[^\S\n]*+\d++(?:→|\t|:)")
_NOWHERE = ("", ".", "..", "~", "...")


class Literal(NamedTuple):
    """A string to remember, and of which kind."""

    kind: str
    key: str


def without_gutters(text: str) -> str:
    """Line numbers of file viewers are not content."""
    return _GUTTER.sub("", text)


def literals_in(text: str) -> frozenset[Literal]:
    """What a text relies on."""
    found = (_classified(token) for token in set(_TOKEN.findall(text)))
    return frozenset(literal for literal in found if literal is not None)


def phrases_in(text: str) -> frozenset[Literal]:
    """Phrases in quotation marks: several words, nothing escaped, no literal of another kind."""
    phrases = ("".join(groups).strip() for groups in _QUOTES.findall(text))
    return frozenset(Literal("quoted", phrase) for phrase in phrases if _is_phrase(phrase))


def widened(literals: frozenset[Literal]) -> frozenset[Literal]:
    """What a text with these makes available: a path also gives its file name."""
    names = {Literal("path", key.rsplit("/", 1)[1]) for kind, key in literals if kind == "path" and "/" in key}
    return literals | names if names else literals


def _is_phrase(phrase: str) -> bool:
    if len(phrase) < 8 or " " not in phrase or "\\" in phrase or _TOKEN.fullmatch(phrase):
        return False
    return sum(letter.isalpha() for letter in phrase) >= 6


@lru_cache(maxsize=300_000)
def _classified(token: str) -> Literal | None:
    if token.startswith("http") and "://" in token:
        return Literal("url", token.rstrip(".,;:!?"))
    if token.startswith("--"):
        return Literal("flag", token) if len(token) >= 6 else None
    if "/" in token:
        return _path(token.rstrip(".,:;-+@"))
    if _UUID.match(token):
        return Literal("hash", token)
    if token.isdigit():
        return Literal("number", token)
    if _ENDS_AS_FILE.search(token):
        return Literal("path", token) if len(token) >= 6 else None
    if _HASH.match(token):
        return Literal("hash", token)
    if "-" in token:
        return Literal("ident", token) if len(token) >= 8 and any(map(str.isalpha, token)) else None
    return Literal("error", token) if _CODE.match(token) else _name(token)


def _path(token: str) -> Literal | None:
    parts = [part for part in token.split("/") if part not in _NOWHERE]
    is_rooted = token.startswith(("/", "./", "../", "~"))
    if not parts or not (_ENDS_AS_FILE.search(token) or is_rooted or len(parts) >= 3):
        return None
    return None if all(map(str.isdigit, parts)) else Literal("path", "/".join(parts[-2:]))


def _name(token: str) -> Literal | None:
    core = token.strip("_")
    if len(token) < 6 or not token.isascii():
        return None
    if core.isdigit():
        return Literal("number", core) if len(core) >= 4 else None
    has_digit = any(map(str.isdigit, core)) and not core[0].isdigit()
    if len(core) < 6 or not ("_" in core or _HUMP.search(core) or has_digit):
        return None
    return Literal("error" if _ERROR.search(token) and len(token) > 7 else "ident", token)
