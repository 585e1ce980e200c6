"""What a digest reads out of texts: the names a reader may need again, and how a command ended.

Names are paths, identifiers, hashes, addresses, numbers, flags, errors, quoted phrases. A path is known by its last two
parts, so that an absolute and a relative spelling are one term, and by its file name. Words are no terms; they are told
apart by how rare they are.

A reader who goes on wants to know whether the last tests passed and what is still broken; that stands in one line of an
output of thousands. Nothing is judged beyond what the output says of itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Protocol, TypeVar

from msgspec import Struct

from contextfold.deferred import expression

_EXTENSIONS = (
    "go|py|pyi|ts|tsx|js|jsx|mjs|cjs|json|jsonl|md|mdx|yml|yaml|sh|bash|toml|rs|java|kt|swift|txt|sql|html|css|scss|mod|sum|"
    "lock|cfg|ini|env|rb|php|cs|c|h|cc|cpp|hpp|ipynb|rst|xml|csv|tsv|log|pl|lua|tmpl|proto|traj|vue|svelte|ex|exs|hs|scala"
)
# Linear by construction: a path is tried only where a run of its letters begins (or at a slash with no part before it),
# a file only where its dotted name begins. What fails there fails at every later letter of the same run too. Most words
# stand alone, and nothing begins at a blank: both are found out before anything else is tried.
_TERM = expression(
    r"(?=[\w/.@+~-])(?:\w{4,}+(?![./@+~:-])"
    r"|https?://[^\s\"'`<>)\]}\\]+"
    r"|(?:(?<![\w.@+~/-])|(?<![\w.@+~-])(?=/))/?(?:[\w.@+~-]++/)+[\w.@+-]++|/(?<![\w/]/)[\w.@+-]{4,}+"
    rf"|(?<![\w-])(?<![\w-]\.)[\w-]++(?:\.[\w-]++)*\.(?:{_EXTENSIONS})\b"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|--(?<![\w-]--)[a-z][\w-]{2,}"
    r"|[a-z0-9]++(?:-[a-z0-9]++){2,}"
    r"|\w{4,}+)"
)
_WORD = expression(r"\w{4,}+")  # all that is left of it in a text without paths, files, flags and names with dashes
_DASHED = expression(r"-[a-z0-9]++-")
_QUOTED = expression(r"\"([^\"\n]{8,60})\"|`([^`\n]{8,60})`|'([^'\n]{8,60})'|「([^」\n]{4,40})」")
_EXTENSION = expression(rf"\.(?:{_EXTENSIONS})\b")
_HAS_EXTENSION = expression(rf"\.(?:{_EXTENSIONS})\Z")
_HEX = expression(r"\A(?=[a-f]*+\d)(?=\d*+[a-f])[0-9a-f]{7,64}\Z")
_UUID = expression(r"[0-9a-f]{8}-[0-9a-f]{4}-")
_ERROR = expression(r"Err|Exception")
_CODE = expression(r"\A(?:E[A-Z]{4,10}|(?!RFC|SHA|UTF|ISO|MD|HTTP|CVE|AES|RSA)[A-Z]{1,4}\d{3,5})\Z")
_HUMP = expression(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_DIGIT = expression(r"\d")


class Term(Struct, frozen=True, order=True, cache_hash=True, gc=False):
    """A name and what kind of name it is."""

    kind: str
    key: str


def terms_in(text: str) -> set[Term]:
    """Every term of a line or a longer text."""
    found: set[Term] = set()
    is_plain = not ("/" in text or ("-" in text and ("--" in text or _DASHED.search(text))))
    if is_plain and "." in text:
        is_plain = _EXTENSION.search(text) is None
    for token in (_WORD if is_plain else _TERM).findall(text):
        terms = _terms_of(token)
        if terms:
            found.update(terms)
    if '"' in text or "`" in text or "'" in text or "「" in text:
        found.update(_phrases(text))
    return found


def _phrases(text: str) -> set[Term]:
    phrases = ("".join(groups).strip() for groups in _QUOTED.findall(text))
    return {Term("quoted", phrase) for phrase in phrases if len(phrase) >= 4 and " " in phrase and "\\" not in phrase}


@lru_cache(maxsize=100_000)
def _terms_of(token: str) -> tuple[Term, ...]:
    """The terms one token stands for; a path also stands for its file name."""
    if token.startswith("http") and "://" in token:
        return (Term("url", token.rstrip(".,;:!?")),)
    if token.startswith("--"):
        return (Term("flag", token),) if len(token) >= 6 else ()
    if "/" in token:
        return _path(token.rstrip(".,:;-+@"))
    if _UUID.match(token) or _HEX.match(token):
        return (Term("hash", token),)
    if token.isdigit():
        return (Term("number", token),)
    if _HAS_EXTENSION.search(token):
        return (Term("path", token),) if len(token) >= 6 else ()
    if "-" in token:
        return (Term("ident", token),) if len(token) >= 8 and not token.replace("-", "").isdigit() else ()
    return _name(token)


def _path(token: str) -> tuple[Term, ...]:
    parts = [part for part in token.split("/") if part not in ("", ".", "..", "~", "...")]
    rooted = token.startswith(("/", "./", "../", "~"))
    if not parts or not (_HAS_EXTENSION.search(token) or rooted or len(parts) >= 3):
        return ()
    if all(part.isdigit() for part in parts):
        return ()
    whole = Term("path", "/".join(parts[-2:]))
    is_file = len(parts) > 1 and _HAS_EXTENSION.search(parts[-1])
    return (whole, Term("path", parts[-1])) if is_file else (whole,)


def _name(token: str) -> tuple[Term, ...]:
    if len(token) >= 4 and (_ERROR.search(token) or _CODE.match(token)):
        return (Term("error", token),)
    core = token.strip("_")
    if len(token) < 6 or len(core) < 4 or not token.isascii():
        return ()
    if core.isdigit():
        return (Term("number", core),)
    if _NOISE.match(core):
        return ()
    if len(core) >= 6 and ("_" in core or _HUMP.search(core) or (_DIGIT.search(core) and not core[0].isdigit())):
        return (Term("ident", token),)
    return ()


# Letters one by one among digits: coordinates of drawings, keys, packed data; nobody names a thing so.
_NOISE = expression(r"\A(?:[A-Za-z]{0,2}\d++){2,20}[A-Za-z]{0,2}\Z")


def sub_words(key: str) -> frozenset[str]:
    """The plain words inside a name: `parse_file` and `ParseFile` speak of parsing and of files."""
    return frozenset(word.lower() for word in _SUB_WORDS.findall(key) if len(word) > 2)


_SUB_WORDS = expression(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")


_OPENS = expression(
    r"(?:ok|PASS|FAIL|PASSED|FAILED|SUCCESS)\b|(?:Tests?|Test Suites|test result|BUILD)[: ]", re.IGNORECASE
)
_TALLY = expression(
    r"\b\d{1,7} (?:tests? |specs? )?(?:passed|passing|failed|failing|failures?|errors?|problems?|warnings?|skipped)\b"
    r"|\bRan \d{1,7} tests?\b|\bAll checks passed|\bbuild (?:succeeded|failed)\b|成功|失敗",
    re.IGNORECASE,
)
_FAULT = expression(
    r"(?:error|exception|panic|fatal|failed|not found|denied|undefined)\b|エラー|例外|失敗", re.IGNORECASE
)
_BAD = expression(r"(?<!\b0 )(?:fail|error|problem)|失敗", re.IGNORECASE)  # but not: 0 failed
_CHECKS = expression(
    r"\b(?:tests?|pytest|jest|vitest|mocha|tox|nox|lint|ruff|eslint|mypy|pyright|tsc|build|compile|check|vet|clippy|make|"
    r"cargo|gradle|mvn|verify|typecheck)\b|テスト",
    re.IGNORECASE,
)
_NEWEST = 200  # lines at the end of an output that are looked at
_LONGEST = 160  # characters of such a line
_BOTH_ENDS = 20_000  # characters of an output's end, and as many of its beginning


def outcome_in(output: str, *, failed: bool) -> str:
    """The line that says how it ended: the last tally, else the first fault of what failed; empty if none does."""
    if failed:  # a part that went well does not say why the whole did not
        tallies = list(_tallies(output))
        return _worded(line for line in tallies if _BAD.search(line)) or _first_fault(output) or _worded(tallies)
    return _worded(_tallies(output))


def _tallies(output: str) -> Iterator[str]:
    """The newest first."""
    for raw in reversed(output[-_BOTH_ENDS:].splitlines()[-_NEWEST:]):
        line = raw.strip()
        if len(line) <= _LONGEST and (_OPENS.match(line) or _TALLY.search(line)):
            yield line


def _worded(tallies: Iterable[str]) -> str:
    """The first that is more than one word, if one is."""
    first = ""
    for line in tallies:
        if " " in line or "\t" in line:
            return line
        first = first or line
    return first


def _first_fault(output: str) -> str:
    lines = (line.strip() for line in output[:_BOTH_ENDS].splitlines()[:_NEWEST])
    return next((line[:_LONGEST] for line in lines if _FAULT.search(line[:_LONGEST])), "")


class EndedCommand(Protocol):
    """A command with how it ended."""

    name: str
    failed: bool
    answered: bool
    outcome: str


C = TypeVar("C", bound=EndedCommand)


def telling(commands: Iterable[C]) -> Iterator[C]:
    """Oldest first: failures that nothing later mended, and the last check; a few at most."""
    seen: set[str] = set()
    found: list[C] = []
    checked = False
    for command in reversed(list(commands)):
        kind = _kind(command.name)
        if not command.answered or kind in seen:
            continue
        seen.add(kind)
        is_check = not checked and bool(command.outcome) and bool(_CHECKS.search(command.name))
        checked = checked or is_check
        if is_check or (command.failed and command.outcome):
            found.append(command)
        if len(found) == _MOST:
            break
    yield from reversed(found)


_MOST = 3


def _kind(name: str) -> str:
    """The same command with other arguments is another try at the same thing."""
    return " ".join(word for word in name.split()[:6] if not word.startswith(("-", "/", "'", '"')))[:40]
