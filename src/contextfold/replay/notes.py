"""A session read once for measuring: which literals each message holds, what it says, and what people typed in it.

Literals are the exact strings an agent has to remember: paths, identifiers, hashes, addresses, numbers, phrases, flags
and errors. They follow the definition in `docs/replay.md` and nothing else; this file knows nothing of how digests
choose their lines. A path is compared by its last two parts, so that an absolute and a relative spelling are one
literal.

Of the sentences of the user it says which are orders and which of those a view still holds: verbatim, or eight of ten
words in one sentence of comparable length. Presence is measured, not obedience.

Notes are made when the first fold needs them and shared by every policy of the same session. They judge nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from msgspec import Struct, field

from contextfold.deferred import expression
from contextfold.domain import Block, Message, Reasoning, Text, ToolCall, ToolResult, decode, spoken_in
from contextfold.errors import BadMessage

from .spool import AHEAD, Spool

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
_TOKEN = expression("|".join(_CANDIDATES))
_ENDS_AS_FILE = expression(_SUFFIX + r"\Z")
_UUID = expression(r"[0-9a-f]{8}-[0-9a-f]{4}-")
_HASH = expression(r"\A(?=[a-f]*+\d)(?=\d*+[a-f])[0-9a-f]{7,64}\Z")
_CODE = expression(r"\A(?:E[A-Z]{4,10}|(?!RFC|SHA|UTF|ISO|MD|HTTP|CVE|AES|RSA)[A-Z]{1,4}\d{3,5})\Z")
_ERROR = expression(r"Err|Exception")
_HUMP = expression(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_QUOTES = expression(r"\"([^\"\n]{8,60})\"|`([^`\n]{8,60})`|'([^'\n]{8,60})'")
_GUTTER = expression(r"(?m)^[^\S\n]*+\d++(?:→|\t|:)")
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
    phrases = {"".join(groups).strip() for groups in _QUOTES.findall(text)}
    return frozenset(
        Literal("quoted", phrase)
        for phrase in phrases
        if len(phrase) >= 8 and " " in phrase and "\\" not in phrase and not _TOKEN.fullmatch(phrase)
        if sum(letter.isalpha() for letter in phrase) >= 6
    )


def widened(literals: frozenset[Literal]) -> frozenset[Literal]:
    """What a text with these makes available: a path also gives its file name."""
    names = {Literal("path", key.rsplit("/", 1)[1]) for kind, key in literals if kind == "path" and "/" in key}
    return literals | names if names else literals


@lru_cache(maxsize=30_000)
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


MOST = 400  # of the newest sentences are looked at
MOST_UNITS = 4_000  # of new text are compared
ALIKE = 0.8

_ENDS = expression(r"(?<=[.!?])\s+|\n+")
_WORD = expression(r"\w+")
_NOT_SAID = (("```", "```"), ("<system-reminder>", "</system-reminder>"))  # what stands between is not typed
_OPENS = expression("|".join(opening for opening, _ in _NOT_SAID))
_OPENINGS = (
    "please|can you|could you|let'?s|don'?t|do not|never|always|make sure|ensure|use|add|remove|fix|run|check|write|"
    "read|create|update|change|move|keep|look|implement|review|rename|delete|commit|push|test|try|stop|continue|show|find|"
    "explain|investigate|refactor|undo|revert|merge|rebase|ask|tell|put|avoid|leave|start|go|give|take|set|replace|open"
)
_ANYWHERE = "should|must|need to|needs to|have to|want|don'?t|do not|never|always|make sure|instead|only|please|without"
_ORDER = expression(rf"\A(?:(?:{_OPENINGS})\b|.*?\b(?:{_ANYWHERE})\b)", re.IGNORECASE | re.DOTALL)


class Sentence(NamedTuple):
    """One sentence a person typed, and the block it stands in: message and block, from 0."""

    place: tuple[int, int]
    text: str
    is_order: bool


def sentences_in(text: str, place: tuple[int, int]) -> list[Sentence]:
    """The sentences of one block that people typed."""
    found = []
    for raw in _ENDS.split(_said(text)):
        sentence = raw.strip(" \t-*>#")
        if 4 <= len(_WORD.findall(sentence)) <= 60 and not sentence.startswith(("/", "<", "{")):
            found.append(Sentence(place, sentence, _ORDER.match(sentence) is not None))
    return found


def _said(text: str) -> str:
    """The text without code and reminders. What is opened and never closed stays, and is looked for only once."""
    closings, unclosed = dict(_NOT_SAID), set[str]()
    parts, at = [], 0
    for opening in _OPENS.finditer(text):
        if opening.start() < at or opening.group() in unclosed:
            continue
        closing = closings[opening.group()]
        end = text.find(closing, opening.end())
        if end < 0:
            unclosed.add(opening.group())
            continue
        parts.append(text[at : opening.start()])
        at = end + len(closing)
    return " ".join((*parts, text[at:]))


def orders_kept(sentences: Sequence[Sentence], in_view: Collection[tuple[int, int]], added: str) -> tuple[int, int]:
    """How many orders are in view, and how many there are. `added` is the text that is nobody's message."""
    flat = _flat(added)
    units = [set(_WORD.findall(unit.lower())) for unit in _ENDS.split(added) if unit.strip()][:MOST_UNITS]
    units.sort(key=len)
    lengths = [len(unit) for unit in units]
    kept = of = 0
    for sentence in sentences:
        if not sentence.is_order:
            continue
        of += 1
        if sentence.place in in_view or _flat(sentence.text) in flat:
            kept += 1
            continue
        words = set(_WORD.findall(sentence.text.lower()))  # else perhaps in other words
        least, most = ALIKE * len(words), 3 * len(words) + 10
        comparable = units[bisect_left(lengths, least) : bisect_right(lengths, most)]
        kept += any(len(words & unit) >= least for unit in comparable)
    return kept, of


def _flat(text: str) -> str:
    return " ".join(text.lower().split())


class BlockNote(Struct, frozen=True):
    """One block: its words as far as literals are looked for in them, and the literals."""

    text: str
    uses: frozenset[Literal]
    is_reasoning: bool = False
    people: tuple[str, ...] = ()  # what a person said in it, also inside a tool's result


class Note(Struct, frozen=True):
    """One message."""

    is_assistant: bool
    blocks: tuple[BlockNote, ...]
    provides: frozenset[Literal]
    out: frozenset[Literal] = frozenset()  # what an assistant used
    quoted: frozenset[Literal] = frozenset()
    shows: frozenset[Literal] = frozenset()  # what the other side showed

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.blocks)

    @property
    def said(self) -> str:
        """The words without reasoning."""
        return "\n".join(block.text for block in self.blocks if not block.is_reasoning)


class Notes(Struct, frozen=True, dict=True):
    """A whole session."""

    messages: Iterable[Message]  # gone through once, when the first fold needs them
    typed: Iterable[bool]  # which of them people typed
    system: str = ""
    stop: frozenset[Literal] = field(default_factory=frozenset)  # literals that say nothing about memory

    @cached_property
    def all(self) -> Sequence[Note]:
        found, tools = Spool(Note), dict[str, str]()  # and the names of the tools by the ids of their calls
        is_first = True
        for message, is_typed in zip(self.messages, self.typed, strict=True):
            tools |= {call.id: call.full_name for call in message.calls}
            is_first = is_first and message.role != "assistant"
            found.append(_note(message, _people(message, is_typed, tools, is_first=is_first)))
        return found

    @cached_property
    def _said(self) -> Sequence[str]:
        """The words of each message, without what else is noted of it."""
        found = Spool(str)
        for note in self.all:
            found.append(note.said)
        return found

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """What people said, wherever a client put their words."""
        return tuple(
            sentence
            for place, note in enumerate(self.all)
            for at, block in enumerate(note.blocks)
            for words in block.people
            for sentence in sentences_in(words, (place, at))
        )

    def said_before(self, place: int, most: int = 2_000_000) -> str:
        """What was said before a place, of a very long session the newest so many characters."""
        found: list[str] = []
        while place and most > 0:
            place, stop = max(0, place - AHEAD), place
            for said in reversed(self._said[place:stop]):
                if most > 0:
                    found.append(said)
                    most -= len(said)
        return "\n".join(reversed(found))

    @cached_property
    def known(self) -> frozenset[Literal]:
        """What nobody has to remember: it is in the system prompt, or the caller said so."""
        return widened(literals_in(self.system)) | self.stop

    @cached_property
    def _first(self) -> dict[int, int]:
        """Where each literal first appeared, by its hash: the strings of a long recording would fill the memory."""
        found: dict[int, int] = {}
        for place, note in enumerate(self.all):
            for block in note.blocks:
                if not block.is_reasoning:
                    for literal in widened(block.uses):
                        found.setdefault(hash(literal), place)
        return found

    def is_older(self, literal: Literal, place: int) -> bool:
        """Whether a literal was there before this place, and is one that somebody has to remember."""
        return self._first.get(hash(literal), place) < place and literal not in self.known


def words_of(block: Block) -> str:
    """The words of a block in which literals are looked for: of a call only the strings it was given."""
    if isinstance(block, ToolCall):
        try:
            given = decode(block.arguments)
        except (BadMessage, UnicodeEncodeError):
            given = block.arguments
        return "\n".join(_strings(given))
    if isinstance(block, ToolResult):
        return "\n".join(words for part in block.blocks if (words := words_of(part)))
    if isinstance(block, Text | Reasoning):
        return block.text
    return ""


def _note(message: Message, people: Mapping[int, list[str]]) -> Note:
    blocks = []
    for place, block in enumerate(message.blocks):
        text, own = words_of(block), tuple(people.get(place, ()))
        blocks.append(BlockNote(text, literals_in(without_gutters(text)), isinstance(block, Reasoning), own))
    heard = [block for block in blocks if not block.is_reasoning]
    uses = frozenset[Literal]().union(*(block.uses for block in heard))
    provides = widened(uses.union(*(block.uses for block in blocks)))
    if message.role != "assistant":
        return Note(False, tuple(blocks), provides, shows=widened(uses))
    quoted = frozenset[Literal]().union(*(phrases_in(block.text) for block in heard))
    return Note(True, tuple(blocks), provides, out=uses, quoted=quoted)


def _people(message: Message, is_typed: bool, tools: Mapping[str, str], *, is_first: bool) -> dict[int, list[str]]:
    """What a person said, by the place of the block: `is_typed` says whether a message was typed at all."""
    people: dict[int, list[str]] = {}
    for speaker, words, place in spoken_in(message, tools, is_first=is_first) if message.role == "user" else ():
        block = message.blocks[place]
        if speaker.is_person and (is_typed or isinstance(block, ToolResult)):
            is_command = isinstance(block, Text) and block.text.lstrip().startswith("<command-")
            people.setdefault(place, []).append(_COMMAND.sub("", words) if is_command else words)
    return people


_COMMAND = expression(r"\A/\S+ ")  # the name of a command is no part of what was said with it


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
