"""What the user said, sentence by sentence, and which of it a digest keeps.

A person's own words are kept verbatim, newest and most binding first when not all of them fit: what somebody asked for
is the part of a conversation that cannot be found out again. Long pastes are shortened; a cut shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from contextfold.deferred import expression

from .lines import MARK, Count, head, parted
from .passages import HistoryPassage

_ORDERS = expression(  # how an order begins
    r"(?:please|can you|could you|let'?s|don'?t|do not|never|always|make sure|ensure|use|add|remove|fix|run|check|"
    r"write|read|create|update|change|move|keep|look|implement|review|rename|delete|commit|push|test|try|stop|continue|"
    r"show|find|explain|investigate|refactor|undo|revert|merge|rebase|ask|tell|put|avoid|leave|start|go|give|take|set|"
    r"replace|open)\b",
    re.IGNORECASE,
)
_WISHES = expression(  # what one has somewhere
    r"\b(?:should|must|needs? to|have to|want|don'?t|do not|never|always|make sure|instead|only|please|without)\b",
    re.IGNORECASE,
)
_WISHING = (  # without which no pattern needs to be tried at every letter
    *("should", "must", "need", "have to", "want", "don", "do not", "never", "always", "make sure", "instead"),
    *("only", "please", "without"),
)
_ASKS = expression(
    r"して|せよ|しろ|しない|するな|ください|下さい|お願い|ほしい|欲しい|たい|べき|必要|禁止|必ず|絶対|ないで|まず"
    r"|请|不要|必须|需要|应该|务必|帮我|[?？]\s*\Z"
)
_BULLETS = " \t-*>#•・`0123456789.)("  # what may stand before the words of an order in a list
_FENCE = "```"
_BARE_FENCE = expression(r"`{3,}+\w*+")  # says nothing without what stood in it
_PROSE = expression(r"[^\W\d_]")
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())
LEAST_WEIGHT = 0.45  # below it a line is a paste: it has to earn its place like any other line
PROTECTED = 4.0  # from it on a sentence is an order, or all that was said at once
TASK, _OPENING = 1_000.0, 4  # what the first sentences of all weigh, and how many they are: everything serves them
_BRIEF, _FEW = 600, 6  # characters and sentences of a message that is an order or an answer as a whole
_LOGGED = expression(  # lines that somebody pasted: traces, logs, numbered code, tables, JSON
    r"""\A(?:at \S+[ (]|File ".*", line \d|\d{4}-\d\d-\d\d[T ]\d|\[?\d\d:\d\d:\d\d|\s*\d{1,6}\s?[|→:]\s|[\[{}"|]
    |goroutine \d|Traceback |\w+(?:\.\w+)+(?:Error|Exception)\b|npm (?:ERR|warn)|\$ |[+-]{3} |@@ )""",
    re.VERBOSE,
)
_LONG = 320  # characters of one sentence before it is shortened


class Saying(Struct, gc=False):
    """One sentence or line of the user's."""

    passage: HistoryPassage
    index: int
    text: str
    weight: float
    opens_line: bool = True  # whether it began a line of what was typed


Manner: TypeAlias = tuple[bool, bool, bool]  # it asks for something, was pasted rather than said, is a word or two


def sayings(text: str, passage: HistoryPassage, known: dict[str, Manner] | None = None) -> list[Saying]:
    """Every sentence that was typed, weighed by what it says; `known` ones are not looked at again."""
    known = {} if known is None else known
    out: list[Saying] = []
    pieces, fenced = list(_pieces(text)), False
    skipped = range(_MOST_PIECES // 2, len(pieces) - _MOST_PIECES // 2)  # of a paste only its ends are weighed
    is_brief = len(text) <= _BRIEF and len(pieces) <= _FEW
    for index, (piece, opens_line) in enumerate(pieces):
        if index in skipped:
            continue
        if _FENCE in piece:
            fenced = not fenced
            if _BARE_FENCE.fullmatch(piece):
                continue
        manner = known.get(piece)
        if manner is None:
            manner = known[piece] = _manner(piece)
        weight = _weight(manner, index, len(pieces), fenced)
        out.append(Saying(passage, index, piece, max(weight, PROTECTED) if is_brief else weight, opens_line))
    return out


def with_task(said: Sequence[list[Saying]]) -> list[list[Saying]]:
    """What was typed, the first sentences before all else: whoever forgets what was asked for first is lost."""
    first = [
        replace(saying, weight=max(saying.weight, TASK)) if saying.index < _OPENING and saying.weight >= 1 else saying
        for group in said[:1]
        for saying in group
    ]
    return [first, *said[1:]] if said else []


def by_recency(said: Sequence[Sequence[Saying]]) -> list[Saying]:
    """What was typed, message by message, weighed by when it was said too."""
    last = len(said) - 1
    out: list[Saying] = []
    for place, group in enumerate(said):
        recency = 4.0 if place == last else 2.0 if place in (0, last - 1) else 1.0 + place / (last + 1)
        out += [Saying(each.passage, each.index, each.text, each.weight * recency, each.opens_line) for each in group]
    return out


def lasting(said: dict[int, list[Saying]]) -> None:
    """Let go of the lightest sentences where there are very many; the first message and the newest stay whole."""
    if sum(map(len, said.values())) <= _MOST_SAYINGS:
        return
    older = list(said)[1:-_NEWEST]
    light = sorted(
        (saying for order in older for saying in said[order]), key=lambda each: each.weight / (12 + len(each.text))
    )
    gone = {id(saying) for saying in light[: sum(map(len, said.values())) - _MOST_SAYINGS * 3 // 4]}
    for order in older:
        said[order] = [saying for saying in said[order] if id(saying) not in gone]
        if not said[order]:
            del said[order]


_MOST_SAYINGS = 2_000
_MOST_PIECES = 40_000  # sentences or lines of one message; a book has fewer
_NEWEST = 20  # messages
_LEAST_ROOM = 2  # tokens that a line costs beside its words


def sentences(text: str) -> list[str]:
    """The sentences of what somebody typed."""
    return [sentence for sentence, _ in _pieces(text)]


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Sentences, and whether each begins a line."""
    for line in text.splitlines():
        said = [sentence.strip() for sentence in parted(line) if sentence.strip()]
        yield from ((sentence, place == 0) for place, sentence in enumerate(said))


def _weight(manner: Manner, index: int, of: int, fenced: bool) -> float:
    asks, is_pasted, is_short = manner
    weight = 6.0 if asks else 1.0
    if fenced or is_pasted:
        weight *= 0.25
    if of > 1 and is_short:  # the end of a wrapped line says nothing alone
        weight *= 0.5
    if of > 30 and not (index < 6 or index >= of - 3):
        weight *= 0.5
    return weight


def _manner(piece: str) -> Manner:
    is_ascii = piece.isascii()
    letters = len(piece.encode().translate(None, _NO_LETTERS)) if is_ascii else len(_PROSE.findall(piece))
    is_pasted = letters / max(len(piece), 1) < 0.55 or _LOGGED.match(piece) is not None
    return _asks(piece.lstrip(_BULLETS)), is_pasted, is_ascii and piece.count(" ") < 2


def _asks(piece: str) -> bool:
    """Whether it is an order, a wish or a question."""
    if _ORDERS.match(piece):
        return True
    if not piece.isascii():
        return _WISHES.search(piece) is not None or _ASKS.search(piece) is not None
    low = piece.lower()
    for word in _WISHING:
        if word in low:
            return low.endswith("?") or _WISHES.search(piece) is not None
    return low.endswith("?")


def needed(candidates: Sequence[Saying], count: Count) -> int:
    """Tokens of all that is protected."""
    texts = {saying.text for saying in candidates if saying.weight >= PROTECTED}
    return sum(count(text if len(text) <= _LONG else text[:_LONG]) + 2 for text in texts)


def keep(candidates: Sequence[Saying], room: int, count: Count) -> list[Saying]:
    """As many of the weightiest as fit, in the order they were said."""

    def binding(saying: Saying) -> tuple[bool, float, int, int]:
        """What is protected first, then what says most for its length, then the newest."""
        density = saying.weight / (12 + len(saying.text))
        return saying.weight < PROTECTED, -density, -saying.passage.order, saying.index

    kept: list[Saying] = []
    seen: set[str] = set()
    for saying in sorted(candidates, key=binding):
        if room <= _LEAST_ROOM:
            break
        if saying.text in seen or saying.weight < LEAST_WEIGHT:
            continue
        text = saying.text if len(saying.text) <= _LONG else head(saying.text[: _LONG * 2], _LONG // 4, count)
        price = count(text) + 2
        if price > room:
            continue
        room -= price
        seen.add(saying.text)
        kept.append(replace(saying, text=text))
    return sorted(kept, key=lambda each: (each.passage.order, each.index))


def told(kept: Sequence[Saying]) -> list[str]:
    """The kept sentences as lines, one paragraph a message, with a mark where something was left out."""
    lines: list[str] = []
    for place, saying in enumerate(kept):
        before = kept[place - 1] if place else None
        if before is None or before.passage is not saying.passage:
            lines.append(f"#{saying.passage.seq} > {saying.text}")
        elif before.index + 1 != saying.index:
            lines.append(f"> {MARK} {saying.text}")
        elif saying.opens_line:
            lines.append(f"> {saying.text}")
        else:
            lines[-1] += f" {saying.text}"
    return lines
