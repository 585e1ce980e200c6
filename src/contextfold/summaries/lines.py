"""Texts as lines, the names in them that a reader may need again, and how a command ended.

A text is cut to a number of tokens, or into lines and sentences; never inside a character and never without a mark.
Tokens are counted by whoever asks; counting a prefix is no prefix of counting, so every result is counted once more
before it is handed out.

Names are paths, identifiers, hashes, addresses, numbers, flags, errors, quoted phrases. A path is known by its last two
parts, so that an absolute and a relative spelling are one term, and by its file name. Words are no terms; they are told
apart by how rare they are.

A reader who goes on wants to know whether the last tests passed and what is still broken; that stands in one line of an
output of thousands. Nothing is judged beyond what the output says of itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from contextfold.deferred import expression

Count: TypeAlias = Callable[[str], int]

MARK = "…"
_JOINERS = "\u200d\ufe0e\ufe0f"
_WIDEST_TOKEN = 24  # characters; longer tokens exist (runs of spaces), and then a little more room is left unused


def head(text: str, budget: int, count: Count, mark: str = MARK) -> str:
    """The beginning of the text with a mark where it ends early; empty if not even that fits."""
    if budget <= 0:
        return ""
    if len(text) <= budget * _WIDEST_TOKEN and count(text) <= budget:
        return text
    return _largest(
        min(len(text), budget * _WIDEST_TOKEN), lambda n: text[: whole(text, n)].rstrip() + mark, budget, count
    )


def middle(text: str, budget: int, count: Count, mark: str = f"\n{MARK}\n") -> str:
    """Both ends of the text with a mark in place of its middle: errors stand at the end, reasons at the beginning."""
    if budget <= 0:
        return ""
    if len(text) <= budget * _WIDEST_TOKEN and count(text) <= budget:
        return text

    def ends(n: int) -> str:
        front, back = whole(text, n - n // 2), whole(text, len(text) - n // 2)
        return text[:front].rstrip() + mark + text[back:].lstrip()

    return _largest(min(len(text) - 1, budget * _WIDEST_TOKEN), ends, budget, count)


def whole(text: str, end: int) -> int:
    """The last place up to `end` that does not part a letter from its marks."""
    while 0 < end < len(text) and (
        unicodedata.combining(text[end]) or text[end] in _JOINERS or text[end - 1] == "\u200d"
    ):
        end -= 1
    return end


def _largest(most: int, made: Callable[[int], str], budget: int, count: Count) -> str:
    """The longest of the texts `made(0..most)` within the budget, within 1 %; bisection, as counting is the cost."""
    low, high = -1, most
    while high - low > max(high // 100, 1):
        half = (low + high + 1) // 2
        if count(made(half)) <= budget:
            low = half
        else:
            high = half
    best = made(low) if low > 0 else ""
    return best if best and count(best) <= budget else ""


# -- lines ------------------------------------------------------------------------------------------------------------

LONGEST = 220  # characters; longer lines are taken by the sentence, then by the clause

_GUTTER = expression(r"\A\s*+\d++(?:→|\t|:(?=\s)|[-:](?=\t)| \|(?=\s|\Z))")
_SENTENCE = expression(r"(?<=[.!?])\s+|(?<=[。！？])")
_CLOSED = expression(r"(?<=[.!?;])\s+|(?<=[。！？])")
_CLAUSE = expression(r".{1,220}(?:[\s,;、，|]|\Z)|.{1,220}", re.DOTALL)
_BLANK = expression(r"\A[\W_]*+\Z")
_RUN = expression(r"(\S)\1{15,}")
_RUN_OF_FOUR = expression(r"(\S)\1{3}")


def split(text: str) -> Iterator[str]:
    """The lines of a text that say anything."""
    for raw in text.splitlines():
        line = _GUTTER.sub("", raw).strip()
        if len(line) <= LONGEST:
            if not _BLANK.match(line):
                yield line
            continue
        if _RUN_OF_FOUR.search(line[::4]):  # every fourth letter of a long run
            line = _RUN.sub(r"\1\1\1…", line)
        for piece in _pieces(line):
            if not _BLANK.match(piece):
                yield piece


def _pieces(line: str) -> Iterator[str]:
    """Sentences, joined while they stay short, cut at clauses when one alone is too long."""
    held = ""
    for sentence in parted(line, ";"):
        if len(held) + len(sentence) < LONGEST:
            held = f"{held} {sentence}".strip()
            continue
        if held:
            yield held
        held = ""
        if len(sentence) <= LONGEST:
            held = sentence
        else:
            yield from (piece.strip() for piece in _CLAUSE.findall(sentence))
    if held:
        yield held


def parted(line: str, also: Literal["", ";"] = "") -> list[str]:
    """The sentences of a line; also what a semicolon ends."""
    if not (line.isascii() and line.isprintable()):
        return (_CLOSED if also else _SENTENCE).split(line)
    for mark in (".", "!", "?", also):  # a pattern that looks behind at every letter takes many times as long
        if mark and mark in line:
            line = line.replace(f"{mark} ", f"{mark}\n")
    return [sentence.lstrip() for sentence in line.split("\n")]


# -- names ------------------------------------------------------------------------------------------------------------

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
    is_plain = not ("/" in text or ("-" in text and ("--" in text or _DASHED.search(text))))
    if is_plain and "." in text:
        is_plain = _EXTENSION.search(text) is None
    found = set(chain.from_iterable(map(_terms_of, (_WORD if is_plain else _TERM).findall(text))))
    if '"' in text or "`" in text or "'" in text or "「" in text:
        phrases = ("".join(groups).strip() for groups in _QUOTED.findall(text))
        found.update(
            Term("quoted", phrase) for phrase in phrases if len(phrase) >= 4 and " " in phrase and "\\" not in phrase
        )
    return found


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


# -- how a command ended ----------------------------------------------------------------------------------------------

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
_NEWEST_LINES = 200  # lines at the end of an output that are looked at
_LONGEST_OUTCOME = 160  # characters of such a line
_BOTH_ENDS = 20_000  # characters of an output's end, and as many of its beginning


def outcome_in(output: str, *, failed: bool) -> str:
    """The line that says how it ended: the last tally, else the first fault of what failed; empty if none does."""
    if failed:  # a part that went well does not say why the whole did not
        tallies = list(_tallies(output))
        lines = (line.strip()[:_LONGEST_OUTCOME] for line in output[:_BOTH_ENDS].splitlines()[:_NEWEST_LINES])
        first_fault = (line for line in lines if _FAULT.search(line))
        return _worded(line for line in tallies if _BAD.search(line)) or next(first_fault, "") or _worded(tallies)
    return _worded(_tallies(output))


def _tallies(output: str) -> Iterator[str]:
    """The newest first."""
    for raw in reversed(output[-_BOTH_ENDS:].splitlines()[-_NEWEST_LINES:]):
        line = raw.strip()
        if len(line) <= _LONGEST_OUTCOME and (_OPENS.match(line) or _TALLY.search(line)):
            yield line


def _worded(tallies: Iterable[str]) -> str:
    """The first that is more than one word, if one is."""
    first = ""
    for line in tallies:
        if " " in line or "\t" in line:
            return line
        first = first or line
    return first


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
        words = command.name.split()[:6]  # with other arguments it is another try at the same thing
        kind = " ".join(word for word in words if not word.startswith(("-", "/", "'", '"')))[:40]
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
