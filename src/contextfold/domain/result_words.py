"""Who speaks in a tool's result: a person in an answer or a rejection that her client wrote down, or the tool.

Only the first text of a result is the client's to write; files, pages and hooks that follow it are foreign. Of an
answer only what was given counts: the question is the model's, and so is what the model showed beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from contextfold.deferred import expression

from .client_texts import BEHIND, PEOPLES
from .messages import Document, Text, ToolResult
from .speakers import doubtful_part, persons_part

_LONGEST: Final = 20_000  # characters of a result that are looked at: nobody types more into a rejection
_DEEPEST: Final = 12  # levels of an answer that is JSON
_NOTHING_SAID: Final = expression(
    r"\A\s*+The user wants to clarify these questions"
)  # written by a client for its user
_CLOSINGS: Final = (  # what clients put behind their user's words
    "\n\nNote: The user's next message may contain",
    " You can now continue with the user's answers in mind",
    "\n\nPlease address this message",
    " selected preview:",  # of an answer in Claude Code: the model's text, and nobody can tell where it ends
)
_TAGGED: Final = expression(r"\A\s*+<(?P<tag>answer|feedback|user_message)>(?P<words>.*?)(?:</(?P=tag)>|\Z)", re.DOTALL)
_OWN_LINE: Final = expression(  # a tag that no table knows, in a line of its own; people's own are theirs
    rf"^[ \t]*+<(?!(?:{'|'.join(sorted(PEOPLES))})[\s>])(?P<tag>[a-zA-Z][\w-]{{0,60}})(?=[\s>])", re.MULTILINE
)
_USER_NOTES: Final = '" user notes:'
_ANSWER_KEYS: Final = frozenset(
    ("answers", "answer", "content", "response", "responses", "feedback", "selected", "selection", "reply", "comment")
)
_QUESTION_KEY: Final = expression(  # keys of what was asked, not of what was answered
    r"(?:question|prompt|context|header|option|action|status|attachment|preview|description|title|label|document)[\w-]*+\Z",
    re.IGNORECASE,
)


class ResultWords(NamedTuple):
    """A tool's result by who speaks in it. Around a person's words stand only the client's, which are left out."""

    persons: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()  # a rejection's words, or else the tool's
    rest: str = ""  # what the tool returned


def result_words(result: ToolResult, tool: str = "") -> ResultWords:
    """Who speaks in a tool's result; `tool` is the name of the tool that was called, where it is known."""
    tool = tool or result.name
    first = result.blocks[0].text if result.blocks and isinstance(result.blocks[0], Text) else ""
    text, foreign = result_text(result), result_text(result, start=1)
    part = persons_part(first[:_LONGEST], tool, is_error=result.is_error)
    if part is not None:
        persons = tuple(_unwrapped(part))
        return ResultWords(persons, rest=f"{_behind(part, first)}{foreign}" if persons else text)
    part = doubtful_part(first[:_LONGEST], tool)
    if part is not None and (doubtful := tuple(_unwrapped(part))):
        return ResultWords(doubtful=doubtful, rest=f"{_behind(part, first)}{foreign}")
    return ResultWords(rest=text)


def _behind(part: str, text: str) -> str:
    """What a tool returned behind words that a client put into a tag."""
    tagged = _TAGGED.match(part)
    return text[text.index(part) + tagged.end() :] if tagged else ""


def result_text(result: ToolResult, start: int = 0) -> str:
    """The words that a tool returned, from the block at `start` on."""
    return "\n".join(
        block.text if isinstance(block, Text) else f"{block.title}\n{block.text}".strip()
        for block in result.blocks[start:]
        if isinstance(block, Text | Document)
    )


def _unwrapped(words: str) -> Iterator[str]:
    """Without what a client puts around and behind them; an answer that is JSON by the strings that were given."""
    for closing in _CLOSINGS:
        words = words.partition(closing)[0]
    notes = (each.start() for each in BEHIND.finditer(words) if _is_note(each, words))
    others = (each.start() for each in _OWN_LINE.finditer(words) if f"</{each['tag']}>" in words[each.end() :])
    words = words[: min(next(notes, len(words)), next(others, len(words)))]
    tagged = _TAGGED.match(words)
    words = (tagged["words"] if tagged else words).strip()
    if _NOTHING_SAID.match(words):
        words = "\n".join(line.strip() for line in words.splitlines() if line.strip().startswith("Answer:"))
    given = _given(words) if words.startswith(("{", "[")) else None
    if given is not None:
        yield from (each for each in given if each.strip())
    elif answered := _answers(words):
        yield answered


def _is_note(opened: re.Match[str], words: str) -> bool:
    """Whether a client's tag begins a note behind the words: it has a line of its own, begins one, or ends the text."""
    is_last = words.rstrip().endswith(f"</{opened['tag']}>")
    return opened["line"] is not None or is_last or words[opened.end() : opened.end() + 1] in ("", "\n")


def _answers(words: str) -> str:
    """What stands behind the questions of a list of questions and answers; other words as they are.

    Between two answers stands the next question: where none does, a question holds what parts them, and which words are
    an answer nobody can tell.
    """
    if not words.startswith('"') or '"="' not in words:
        return words
    *parts, last = words.split('"="')[1:]
    between = [_before_question(part) for part in parts]
    if None in between:
        return ""
    return "\n".join(each for part in (*filter(None, between), last) for each in _answer(part))


def _before_question(part: str) -> str | None:
    """An answer, with the user's notes to it, of a text that ends with the next question; None where there is none."""
    answer, _, notes = part.partition(_USER_NOTES)
    if notes and '", "' not in answer:
        notes, is_next, _ = notes.partition(', "')
        return f"{answer}{_USER_NOTES}{notes}" if is_next else None
    answer, is_next, _ = part.partition('", "')
    return answer if is_next else None


def _answer(part: str) -> Iterator[str]:
    """An answer and the user's notes to it."""
    answer, is_noted, notes = part.partition(_USER_NOTES)
    yield answer.rstrip(" .").removesuffix('"')
    if is_noted:
        yield notes.strip()


def _given(words: str) -> list[str] | None:
    """The strings of an answer that is JSON, without the questions; None where it is none."""
    try:
        value = msgspec.json.decode(words)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    names_answer = isinstance(value, dict) and any(str(key).casefold() in _ANSWER_KEYS for key in value)
    return list(_strings(value, inside=not names_answer))


def _strings(value: Any, *, inside: bool, depth: int = 0) -> Iterator[str]:
    """Strings below a key that names an answer; a question's own words are not the user's."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < _DEEPEST:
        for each in value:
            yield from _strings(each, inside=inside, depth=depth + 1)
    elif isinstance(value, dict) and depth < _DEEPEST:
        for key, each in value.items():
            name = str(key).casefold()
            if name in _ANSWER_KEYS or (inside and _QUESTION_KEY.match(name) is None):
                yield from _strings(each, inside=True, depth=depth + 1)
