"""What a person typed of a text on the user's side, and what her client put there.

The place where a client puts its user's words decides, never a tag somewhere in the text. So a text is read from its
opening: a client's message is the client's whole; before the words stand its notes and blocks, each up to where its tag
is closed last, because they quote files; behind the words stand notes in lines of their own, and attachments. A tag
that is only mentioned, or never closed, is a person's word like any other. What a client frames and what somebody typed
in the same bytes cannot be told apart: then nobody is believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .client_texts import (
    ANY_TAG,
    AROUND,
    ATTACHED,
    BEHIND,
    COMMAND,
    COPILOT_INSTRUCTIONS,
    FILE_FIRST,
    IN_EDITOR,
    LEADING,
    MEANWHILE,
    NEXT_SIGN,
    OPENINGS,
    PEOPLES,
    QUERIES,
    REQUEST,
    RESUMED,
    WHOLE,
    WRAPPED,
)

_MOST_BLOCKS = 64  # before a query; clients put a dozen there, and of more nobody is believed


class UsersSide(NamedTuple):
    """A text of the user's side: what a person typed, and what a product put there."""

    typed: tuple[str, ...]
    added: tuple[str, ...] = ()


def users_side(text: str) -> UsersSide:
    """What a person typed of a text that stands on the user's side, and what a product added to it."""
    rest, before = _without_leading(text)
    meanwhile = tuple(words for note in before[:1] if (words := _sent_meanwhile(note)))
    if COMMAND.match(rest.lstrip()):
        return UsersSide((*_commanded(rest), *meanwhile), before)
    if is_clients(rest) or (before and rest[:1].strip(" \t\r\n<")):  # no client writes words right behind a closing
        return UsersSide((*_resumed(rest), *meanwhile), (*before, rest))
    rest, behind = _without_notes(rest)
    if behind and is_clients(rest):
        return UsersSide((*_resumed(rest), *meanwhile), (*before, rest, *behind))
    typed, around = _place_of_words(rest, has_blocks=bool(before))
    return UsersSide((*(words for words in typed if words.strip()), *meanwhile), (*before, *behind, *around))


def is_typed(text: str) -> bool:
    """Whether a person said something in a text of the user's side."""
    return bool(users_side(text).typed)


def is_quoted(text: str, place: int) -> bool:
    """Whether a place of a text stands inside something that a client put there: a message, a note, an attachment."""
    rest, _ = _without_leading(text)
    place -= len(text) - len(rest)
    if place < 0 or is_clients(rest) or IN_EDITOR.match(rest) or ATTACHED.search(rest, 0, place):
        return True
    opened = {each["tag"] for each in (*BEHIND.finditer(rest, 0, place), WRAPPED.match(rest)) if each is not None}
    return any(rest.find(f"</{tag}>", place) >= 0 for tag in opened)


def is_clients(text: str) -> bool:
    """Whether a client wrote all of it: by its opening, or because it stands in a tag of a client's.

    A tag of a client's that is not closed counts where the client would have written it: alone in its line.
    """
    if OPENINGS.match(text) or COPILOT_INSTRUCTIONS.match(text):
        return True
    if (whole := WHOLE.match(text)) is not None:
        line = whole["same_line"]
        return not line.strip() or line.startswith("<") or f"</{whole['tag'].split()[0]}>" in text
    tag = WRAPPED.match(text)
    return tag is not None and tag["tag"].lower() not in PEOPLES and text.rstrip().endswith(f"</{tag['tag']}>")


# -- notes and blocks -------------------------------------------------------------------------------------------------


def _without_leading(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without the closed notes and blocks that begin it, and those."""
    found: list[str] = []
    while True:
        if (opened := LEADING.match(text)) is not None:
            end = _end(text, opened["tag"], opened.end())
        elif not found and (opened := FILE_FIRST.match(text)) is not None:
            last = text.rfind("\n```", opened.end() - 1)
            end = last + 4 if last >= 0 and text[last + 4 : last + 5] in ("", "\n") else -1
        else:
            return text, tuple(found)
        if end < 0:
            return text, tuple(found)
        found.append(text[:end])
        text = text[end:]


def _without_notes(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without the notes and blocks behind its words: in lines of their own, or closed where the text ends."""
    kept: list[str] = []
    found: list[str] = []
    place, ends = 0, dict[str, int]()  # the last closing of a tag is the same for all of its openings
    while (opened := BEHIND.search(text, place)) is not None:
        tag = opened["tag"]
        if tag not in ends:
            ends[tag] = _end(text, tag, opened.end())
        end = ends[tag]
        if end < opened.end() or (opened["line"] is None and text[end:].strip()):
            place = opened.end()
            continue
        kept.append(text[: opened.start()])
        found.append(text[opened.start() : end])
        text, place, ends = text[end:], 0, {}
    return "".join((*kept, text)), tuple(found)


def _end(text: str, tag: str, start: int) -> int:
    """Where a note or a block ends: where its tag is closed last; -1 where it is not closed.

    One that follows may quote that closing too. Then its own closing would stand there unopened: it ends the whole. So
    does the last closing of a block that is opened inside and closed behind.
    """
    closing = f"</{tag}>"
    last = text.rfind(closing, start)
    if last < 0:
        return -1
    end, read = last + len(closing), start
    inside = {tag}
    while read < end:
        known, upto = len(inside), end
        inside.update(each["tag"] for each in ANY_TAG.finditer(text, read, upto) if not each["closing"])
        read = upto
        if len(inside) > known:
            closings = (f"</{each}>" for each in inside)
            end = max(end, *(at + len(each) for each in closings if (at := text.rfind(each, end)) >= 0), 0)
    opened: set[str] = set()
    for each in ANY_TAG.finditer(text, end):
        if each["closing"] and each["tag"] not in opened:
            return _end(text, each["tag"], end)
        opened.add(each["tag"])
    return end


def _sent_meanwhile(note: str) -> str:
    """The words in a note that begins its text, without what the client tells the model to do about them."""
    sent = MEANWHILE.match(note.lstrip())
    if sent is None:
        return ""
    words: str = sent["words"].partition("</system-reminder>")[0]
    if is_clients(words):  # what a sub-agent reported while the agent worked
        return ""
    for order in ("\n\nPlease address this message", "\n\nIMPORTANT:"):
        words = words.partition(order)[0]
    return words.strip()


# -- where the words stand --------------------------------------------------------------------------------------------


def _place_of_words(text: str, *, has_blocks: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a text without notes by the place that its client has for them, and what else stands there."""
    if IN_EDITOR.match(text):
        before, heading, words = text.rpartition(REQUEST)
        return ((words,), (before,)) if heading else ((), (text,))
    for tag in QUERIES:
        if (query := _query(text, tag, has_blocks=has_blocks)) is not None:
            return query
    attached: tuple[str, ...] = ()
    if (first := ATTACHED.search(text)) is not None:
        text, attached = text[: first.start()], (text[first.start() :],)
    if (around := AROUND.match(text)) is not None:
        rest, closing = text[around.end() :], f"</{around['tag']}>"
        at = rest.find(closing)
        while at >= 0:
            end = at + len(closing)
            if (further := NEXT_SIGN.search(rest, end)) is not None and further[0] == "<":
                return (rest[:at],), (rest[end:], *attached)
            at = rest.find(closing, end) if further is not None else -1
        text = "".join(rest.rpartition(closing)[::2])
    return (text,), attached


def _resumed(text: str) -> Iterator[str]:
    """What a person says where a client takes a task up again: the only place for her words in its message."""
    text = _without_notes(text)[0].strip()
    opened = RESUMED.search(text) if text.startswith("[TASK RESUMPTION]") else None
    if opened is not None and text.endswith("\n</user_message>"):
        words = text[opened.end() :].removesuffix("\n</user_message>")
        if ATTACHED.search(words) is None:
            yield words


def _commanded(text: str) -> Iterator[str]:
    """A command with what was typed behind it; without arguments nobody said anything. What it printed follows."""
    parts: dict[str, str] = {}
    rest = text.lstrip()
    while (opened := COMMAND.match(rest)) and opened["tag"] not in parts:
        words, _, rest = rest[opened.end() :].partition(f"</{opened['tag']}>")
        parts[opened["tag"]], rest = words.strip(), rest.lstrip()
    if arguments := parts.get("command-args"):
        yield f"{parts.get('command-name', '')} {arguments}".strip()
    if typed := parts.get("bash-input"):
        yield f"! {typed}"


def _query(text: str, tag: str, *, has_blocks: bool) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The words in a client's tag for them, and the rest; None where the text has no such place.

    A tag that begins the text is the client's, and is closed at its first closing. Behind blocks, which quote files,
    only the last tag counts, and only if it ends the text or is the only one.
    """
    opening, closing = f"<{tag}>", f"</{tag}>"
    if closing not in text:
        return None
    begins = text.lstrip().startswith(opening)
    if begins and not has_blocks:
        words, _, behind = text.partition(opening)[2].partition(closing)
        return (words.strip(),), (behind,) if behind.strip() else ()
    before, _, words = text.rpartition(opening)
    if not begins:
        blocks = _blocks_of(before) if text.rstrip().endswith(closing) else None
        if blocks is None:
            return _beside_unknown(text, before, words, opening, closing)
        if blocks > _MOST_BLOCKS:
            return (), (text,)
    if text.count(opening) > 1 and not text.rstrip().endswith(closing):
        return (), (text,)
    words, _, behind = words.partition(closing)
    return (words.strip(),), tuple(each for each in (before, behind) if each.strip())


def _beside_unknown(
    text: str, before: str, words: str, opening: str, closing: str
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """A query behind a tag that no table knows, or beside other text: the query's words, and nobody's if there are two.

    None where the text begins with no tag of a client's: then somebody only speaks of such a tag.
    """
    wrapped = WRAPPED.match(before)
    if wrapped is None or wrapped["tag"].lower() in PEOPLES:
        return None
    query, closed, behind = words.partition(closing)
    if not closed or text.count(opening) > 1 or closing in behind:
        return (), (text,)
    return (query.strip(),), tuple(each for each in (before, behind) if each.strip())


def _blocks_of(text: str) -> int | None:
    """How many closed tags a text is, as clients put them before a query; None where it is something else.

    Nothing behind one more than the most is read: each block costs a look at all that follows it.
    """
    blocks = 0
    while blocks <= _MOST_BLOCKS and (tag := WRAPPED.match(text)) is not None:
        end = _end(text, tag["tag"], tag.end())
        if end < 0:
            return None
        text = text[end:]
        blocks += 1
    return blocks if blocks > _MOST_BLOCKS or not text.strip() else None
