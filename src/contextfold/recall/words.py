"""A message cut into passages, and a passage or a question into terms: what is found, and by what.

A short message is one passage. Long outputs are cut at line ends, so that one hit in a log of a thousand lines brings
twenty lines back and not a thousand.

Terms are made the same way of what was said and of what is asked, so that the one finds the other. Words are cut at
spaces and signs; identifiers and paths count whole and in their parts (`parse_args`, `parseArgs`, `src/app.py`);
Chinese, Japanese and Korean, which write no spaces, as pairs of neighbouring characters. A day is named by the same
terms however it is written. Stemming and diacritics are the business of the index. Nothing here looks at more than a
bounded stretch of text for one term.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import date
from itertools import pairwise
from typing import NamedTuple

from contextfold.deferred import expression
from contextfold.domain import (
    CLIENT,
    Block,
    Document,
    Message,
    Reasoning,
    SpokenBy,
    Text,
    ToolCall,
    ToolResult,
    is_typed,
    read_as,
)

LENGTH = 1_200  # characters of a passage, about 300 tokens
_LEAST = 400  # a line end is looked for after this many


class Piece(NamedTuple):
    """A stretch of one block of a message: who speaks, and the words."""

    block: int
    start: int
    speaker: str
    text: str


def passages(message: Message, spoken_by: SpokenBy = "") -> Iterator[Piece]:
    """Every passage of a message, in order. Pictures and sealed content have no words and give none.

    `spoken_by` is what its outline says. A text of the user's side in which nobody typed a word is its client's.
    """
    names = {call.id: call.name for call in message.calls}
    reported = _reported(message, spoken_by)
    for place, block in enumerate(message.blocks):
        speaker, text = _words(message.role, block, names)
        speaker = reported.get(place, speaker)
        for start, stop in stretches(text):
            yield Piece(place, start, speaker, text[start:stop])


def _reported(message: Message, spoken_by: SpokenBy) -> dict[int, str]:
    """Who speaks in the texts on the user's side that no person typed, by their places: a tool, or the client."""
    texts = {place for place, block in enumerate(message.blocks) if isinstance(block, Text)}
    if message.role != "user" or not texts:
        return {}
    names, reported = dict[str, str](), dict[int, str]()
    for place, block in read_as(message, spoken_by, is_first=True):
        if place in texts and (isinstance(block, Document) or (isinstance(block, Text) and not is_typed(block.text))):
            reported[place] = CLIENT.kind
        if isinstance(block, ToolCall):
            names[block.id] = block.name
        if isinstance(block, ToolCall | ToolResult) and isinstance(message.blocks[place], Text):
            id = block.call if isinstance(block, ToolResult) else block.id
            reported[place] = names.get(id) or "tool"
    return reported


def block_text(message: Message, block: int) -> str:
    """The words that the passages of one block were cut from."""
    return _words(message.role, message.blocks[block], {})[1]


def passage_text(message: Message, block: int, start: int) -> str:
    """The words of one passage."""
    text = block_text(message, block)
    return text[start : next((stop for begin, stop in stretches(text, start) if begin == start), len(text))]


def _words(role: str, block: Block, names: dict[str, str]) -> tuple[str, str]:
    match block:
        case Text():
            return role, block.text
        case ToolCall():
            return role, f"{block.name} {block.arguments}"
        case ToolResult():
            inner = "\n".join(_words(role, each, names)[1] for each in block.blocks)
            return block.name or names.get(block.call) or "tool", inner
        case Reasoning():
            return role, block.text
        case Document():
            return CLIENT.kind if role == "user" else role, f"{block.title}\n{block.text}".strip()
        case _:
            return role, ""


def stretches(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Where to cut a text: at a line end, else at a space, else anywhere; nothing that is only white space."""
    while start < len(text):
        stop = min(start + LENGTH, len(text))
        if stop < len(text):
            cut = max(text.rfind("\n", start + _LEAST, stop), 0) or text.rfind(" ", start + _LEAST, stop)
            stop = cut + 1 if cut > 0 else stop
        if not text[start:stop].isspace():
            yield start, stop
        start = stop


LONGEST = 64  # characters of a term; longer runs are data, and their beginning is enough to find them again

_DATED = 10_000  # characters of a text that are searched for dates
_NAME = expression(r"(?<=[a-z,;:] )[A-Z][A-Za-z]{2,}")
_DEEPEST = 8  # parts of an identifier that count as one term together

_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_RUN = expression(rf"[{_CJK}ー々]+|(?:(?![{_CJK}])[^\W_])+")
_JOINS = frozenset("_-.@#+")  # inside one identifier; a slash parts a path into its names
_HUMP = expression(r"[a-z0-9](?=[A-Z])|[A-Z](?=[A-Z][a-z])")
_IS_CJK = expression(f"[{_CJK}]")
_ONLY_HIRAGANA = expression("[\u3040-\u309fー]+")

# What questions are made of. They stand in every text, or say only that something is asked.
_PLAIN_WORDS = """
a about above after again all also am an and any are as ask asked at be because been before being below both
but by can could did do does doing done down each ever few find for from further get give go had has have
having he her here hers him his how i if in into is it its just kind know let like may me mention mentioned
might more most much must my no nor not now of off on once one only or other our ours out over own please
remember remind said same say says she should so some such tell than that the their theirs them then there
these they this those through to told too under until up us use very was we were what when where which while
who whom whose why will with would you your yours s t d ll m re ve don didn doesn isn wasn aren weren hasn
haven hadn won wouldn couldn shouldn
"""
PLAIN = frozenset(_PLAIN_WORDS.split())

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH = "(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
_MONTH += "oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_DAY, _YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", r"(?P<year>(?:19|20)\d\d)"
# How people write a day: 2023-05-08, 8 May 2023, May 8th, May 2023, 2023年5月8日. A month alone is a word like others.
_DATES = tuple(
    expression(pattern, re.IGNORECASE | re.ASCII)
    for pattern in (
        rf"\b{_YEAR}[-/.](?P<number>\d{{1,2}})[-/.](?P<day>\d{{1,2}})(?!\d)",
        rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}\b(?:,?\s+{_YEAR}\b)?",
        rf"\b{_MONTH}\.?\s+{_DAY}\b(?:,?\s+{_YEAR}\b)?",
        rf"\b{_MONTH}\.?,?\s+(?:of\s+)?{_YEAR}\b",
        r"\b(?:in|of|during|since|until|before|after|by|last|this|next|early|late|mid)\s+(?P<month>(?-i:May))\b",
        rf"(?:{_YEAR}年)?(?P<number>\d{{1,2}})月(?:(?P<day>\d{{1,2}})日)?",
    )
)


_SENTENCES = {
    "\ufdfa": " \u0635\u0644\u0639\u0645 ",
    "\ufdfb": " \u062c\u0644 ",
}  # ligatures of blessings, as people shorten them


def terms(text: str) -> Iterator[str]:
    """Every term of a text that is kept, in order; identifiers give several."""
    text = text if text.isascii() else _normal(text)
    joined: list[str] = []
    end = -1
    for run in _RUN.finditer(text):
        word, start = run.group(), run.start()
        if joined and not (start == end + 1 and text[end] in _JOINS):
            yield from _compound(joined)
            joined = []
        if _IS_CJK.match(word):
            if joined:
                yield from _compound(joined)
                joined = []
            yield from _pairs(word)
            end = -1
            continue
        joined.append(word[:LONGEST])
        end = run.end()
        if len(joined) > _DEEPEST:
            yield from _compound(joined)
            joined = []
    if joined:
        yield from _compound(joined)


def _normal(text: str) -> str:
    """One spelling of each sign; the two that stand for a whole sentence are said short, or a text would grow by 18."""
    for sign, words in _SENTENCES.items():
        text = text.replace(sign, words)
    return unicodedata.normalize("NFKC", text)


def _compound(words: list[str]) -> Iterator[str]:
    parts = [part.lower() for word in words for part in _humps(word)]
    yield from parts
    if len(parts) > 1:
        yield "".join(parts)[:LONGEST]


def _humps(word: str) -> list[str]:
    if word.islower() or word.isupper() or not word.isascii():
        return [word]
    cuts = [0, *(match.end() for match in _HUMP.finditer(word)), len(word)]
    return [word[start:stop] for start, stop in pairwise(cuts)]


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for place in range(len(run) - 1):
        yield run[place : place + 2]


def kept_terms(text: str) -> tuple[str, ...]:
    """The terms by which a passage is found: each once, in order, without plain words, which nobody asks for.

    A third of an index would be plain words and repetitions; how often a short passage says a word tells little. Single
    letters and digits stand in every listing and tell nothing apart.
    """
    found = dict.fromkeys(terms(text))
    return tuple(term for term in found if term not in PLAIN and (len(term) > 1 or not term.isascii()))


def asked_terms(question: str, without: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """What a question asks for: its terms once each, without plain words, without pairs of hiragana alone.

    `without` are words that say nothing here, such as the names of the people who speak.
    """
    found = dict.fromkeys(terms(question))
    kept = [term for term in found if not (term in PLAIN or term in without or _ONLY_HIRAGANA.fullmatch(term))]
    kept = list(dict.fromkeys([*kept, *date_terms(question)]))
    return tuple(kept) or tuple(term for term in found if term not in without) or tuple(found)


def date_terms(text: str) -> tuple[str, ...]:
    """The days, months and years that a text names, each by the terms that `day_terms` gives."""
    found: dict[str, None] = {}
    for pattern in _DATES:
        for match in pattern.finditer(text[:_DATED]):
            parts = match.groupdict()
            number = int(parts.get("number") or 0) or _month_number(parts.get("month") or "")
            year, day = int(parts.get("year") or 0), int(parts.get("day") or 0)
            found |= dict.fromkeys(_named_day(year, number, day))
    return tuple(found)


def names_in(text: str) -> tuple[str, ...]:
    """Terms of the names and of the days that a text tells: words with a capital inside a sentence, and dates."""
    spoken = dict.fromkeys(term for name in _NAME.findall(text[:_DATED]) for term in terms(name) if term not in PLAIN)
    days = (term for term in date_terms(text) if term[0].isalpha() and term[-1].isdigit())
    return tuple(dict.fromkeys([*spoken, *days]))


def day_terms(day: date) -> tuple[str, ...]:
    """The words by which people name a day."""
    month = _MONTHS[day.month - 1]
    return (str(day.year), month, f"{month}{day.day}", _DAYS[day.weekday()])


def _named_day(year: int, month: int, day: int) -> tuple[str, ...]:
    """What is known of a day; nothing where no calendar has it."""
    try:
        whole = date(year or 2000, month, day or 1)  # a leap year has every day
    except ValueError:
        return ()
    known = (bool(year), True, bool(day), False)  # a weekday is asked for by its name
    return tuple(term for term, is_known in zip(day_terms(whole), known, strict=True) if is_known)


def _month_number(name: str) -> int:
    return next((n for n, month in enumerate(_MONTHS, 1) if name and month.startswith(name[:3].lower())), 0)
