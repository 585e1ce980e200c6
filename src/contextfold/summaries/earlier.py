"""Reading a digest of ours again, so that the next one updates it instead of quoting it.

What the user said stays what the user said, lines stay under their file, and each keeps its seq, however often a thread
is folded. A summary somebody else wrote has no such form: its lines are lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

from msgspec import Struct

from contextfold.deferred import expression

from .lines import MARK
from .wordings import ENGLISH, JAPANESE, Wording

_SPEECH = frozenset({"requests", "decisions", "work"})
_TOLD = expression(r"(?:#(\d+) )?([>-]) (.*)")
_FILE = expression(r"\A(?P<name>.+) \((?P<done>[^()]*+)\)")
_COMMAND = expression(r"#(?P<seq>\d+) (?P<name>.+)")
_EDGE = expression(r"^<(?P<closes>/?)folded-(?P<nonce>\w++)[^>\n]*+>", re.MULTILINE)
_MARKED = expression(rf"(?<![^\s=\"'`]){MARK}(?=/)")
_DONE = expression(r"(.+?)(?: (\d+)×)?")


class DigestEntry(Struct, frozen=True):
    """One line of a digest: its section, whose seq it carries, and the file or command it opens, if it does."""

    section: str
    text: str
    seq: int = 0
    opens: str = ""
    actions: tuple[tuple[str, int], ...] = ()
    failed: bool = False
    tool: str = ""  # that reported the text


def entries(previous: str) -> Iterator[DigestEntry]:
    """Everything in a previous summary: entries of our digests, and paragraphs of what others wrote (no section)."""
    # A digest has no empty line, and no line of the history begins one of its lines.
    for part in "\n\n".join(list(_framed(previous)) or [previous]).split("\n\n"):
        words = next((words for words in (ENGLISH, JAPANESE) if _is_digest(part, words)), None)
        if words is None:
            if part.strip():
                yield DigestEntry("", part)
            continue
        told = groupby(_entries(part, words), key=lambda one: (one.section, one.seq, _is_speech(one)))
        for (section, seq, is_speech), group in told:  # what was said in one message is one entry again
            if is_speech:
                yield DigestEntry(section, "\n".join(entry.text for entry in group), seq)
            else:
                yield from group


def unlike_digest(summary: str) -> str:
    """A summary that a model or a client wrote, with nothing that reads like a digest: only ours say who spoke."""
    return "".join(_unlike_digest(line) for line in summary.splitlines(keepends=True))


def _unlike_digest(line: str) -> str:
    if line.strip() in _HEADINGS:
        return f"#{line.lstrip()}"
    return line.replace("<", "‹", 1) if line.startswith(("<folded-", "</folded-")) else line


_HEADINGS = frozenset(f"## {each}" for words in (ENGLISH, JAPANESE) for each in words.headings.values())


def _is_speech(entry: DigestEntry) -> bool:
    return entry.section in _SPEECH and not entry.tool


def is_digest(previous: str) -> bool:
    """Whether a previous summary holds nothing but digests of ours."""
    return all(entry.section for entry in entries(previous))


def _framed(previous: str) -> Iterator[str]:
    """What stands in our frames, each closed by its own nonce; an edge inside a frame is part of what it holds."""
    edges = list(_EDGE.finditer(previous))
    last_closing = {edge["nonce"]: edge.start() for edge in edges if edge["closes"]}
    opened: re.Match[str] | None = None
    for edge in edges:
        if opened is None and not edge["closes"] and last_closing.get(edge["nonce"], 0) > edge.start():
            opened = edge
        elif opened is not None and edge["closes"] and edge["nonce"] == opened["nonce"]:
            yield previous[opened.end() : edge.start()].removeprefix("\n").removesuffix("\n")
            opened = None


def _is_digest(part: str, words: Wording) -> bool:
    first = part.strip().removeprefix(words.emergency).lstrip("\n").partition("\n")[0]
    return first.startswith("## ") and first.removeprefix("## ") in words.headings.values()


def _entries(digest: str, words: Wording) -> Iterator[DigestEntry]:
    sections = {f"## {heading}": name for name, heading in words.headings.items()}
    opening, label_of = f"{words.marks['root']} ", _label(words.marks["reported"])
    section, seq, root = "", 0, ""
    for line in digest.strip().splitlines():
        if line in sections:
            section = sections[line]
            continue
        if line.startswith(opening):
            root = line.removeprefix(opening)
            continue
        told = _TOLD.fullmatch(line)
        if told:
            seq = int(told.group(1)) if told.group(1) else seq
            text = told.group(3).removeprefix(f"{MARK} ")
            label = label_of.match(text) if section != "requests" else None
            yield DigestEntry(section, text[label.end() :] if label else text, seq, tool=label["tool"] if label else "")
        elif section in ("files", "commands"):
            yield from _opened(section, line, words, root)


@lru_cache(maxsize=4)
def _label(template: str) -> re.Pattern[str]:
    """How a line begins that a tool reported."""
    before, _, after = template.partition("{tool}")
    return re.compile(rf"{re.escape(before)}(?P<tool>[\w./-]+){re.escape(after)} ")


def _opened(section: str, line: str, words: Wording, root: str) -> Iterator[DigestEntry]:
    """A heading of a file or command, and the names listed behind it."""
    line, _, also = line.partition(f"; {words.marks['also']} ")
    line, arrow, end = line.rpartition(" → ") if line.endswith(words.marks["failed"]) else (line, "", "")
    found = (_FILE if section == "files" else _COMMAND).fullmatch(line)
    if found is None:
        return
    named = found.groupdict()
    done = [part.strip() for part in named.get("done", "").split(",")]
    verbs = {words.marks[action]: action for action in ("read", "written", "edited", "deleted")}
    found_in = [each for part in done if (each := _DONE.fullmatch(part)) and each.group(1) in verbs]
    actions = tuple((verbs[each.group(1)], int(each.group(2) or 1)) for each in found_in)
    failed = bool(arrow and end) or words.marks["failed"] in done
    yield DigestEntry(section, "", int(named.get("seq", "0")), restored(named["name"], root), actions, failed)
    if also:
        yield DigestEntry(section, f"{words.marks['also']} {also}")


def restored(text: str, root: str) -> str:
    """A path, or a command that names some, with the root in place of its mark."""
    return _MARKED.sub(lambda _: root, text) if root else text
