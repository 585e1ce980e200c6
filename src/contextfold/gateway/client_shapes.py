"""What known clients write into messages by themselves, and move or renew without a word of their user's.

A table per client, since the name of a tag says nothing: what one client renews at every request is the document of
another program. Two kinds. *Dated* lines hold a date or a number and nothing else; they do not count when messages are
compared. *Moved* blocks hold words; they count like any others, and only show which thread a changed beginning belongs
to. For a client that is not in the table nothing is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from contextfold.domain import TextFilter

from .door import Visit

_DAY = r"\d{4}-\d{2}-\d{2}"
_WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_SHORT_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{1,2} \d{4}"


class ClientShapes(Struct, frozen=True):
    """What one client renews, as patterns that hold no word of anybody's, and the names of the tags it moves."""

    dated: re.Pattern[str] | None = None
    moved: Sequence[str] = ()
    signs: tuple[str, ...] = ()  # one of them stands in every dated line: they are found far sooner than a line

    @property
    def compared(self) -> TextFilter:
        """What is left of a text when messages are compared."""
        return TextFilter(self.words, self.signs)

    @property
    def anchored(self) -> TextFilter:
        """What is left of it when only its beginning is."""
        return TextFilter(self.without_moved, tuple(f"<{kind}>" for kind in self.moved))

    def words(self, text: str) -> str:
        """A text without lines of the client's own tags that only hold a date or a number, and without space around it.

        The same line outside of these tags is its user's.
        """
        if self.dated is None or not any(sign in text for sign in self.signs):
            return text.strip()
        kept: list[str] = []
        end = 0
        for start, stop in self._tagged(text):
            kept += [text[end:start], self.dated.sub("", text[start:stop])]
            end = stop
        return "".join([*kept, text[end:]]).strip()

    def undated(self, text: str) -> str:
        """A text that is all the client's own, such as its system prompt, without such lines anywhere in it."""
        return (text if self.dated is None else self.dated.sub("", text)).strip()

    def without_moved(self, text: str) -> str:
        """The same without moved blocks."""
        kept: list[str] = []
        end = 0
        for start, stop in self._tagged(text):
            kept.append(text[end:start])
            end = stop
        return "".join([*kept, text[end:]]).strip()

    def _tagged(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the client's own blocks stand, with their tags.

        Each kind of tag is looked for to the end once at most: a text of opening tags alone costs what it is long.
        """
        unclosed: set[str] = set()
        end = 0
        for opened in re.finditer(f"<({'|'.join(self.moved)})>", text) if self.moved else ():
            kind = opened[1]
            if opened.start() < end or kind in unclosed:
                continue
            closed = text.find(f"</{kind}>", opened.end())
            if closed < 0:
                unclosed.add(kind)
                continue
            end = closed + len(f"</{kind}>")
            yield opened.start(), end


PLAIN = ClientShapes()
_CLAUDE_CODE = ClientShapes(
    re.compile(
        rf"(?m)^(?:Today's date is (?:now )?{_DAY}\.?|(?:Today's date|currentDate): {_DAY}"
        r"|(?:<system-reminder>)?Token usage: \d+/\d+; \d+ remaining(?:</system-reminder>)?)[ \t]*$"
    ),
    ("system-reminder",),
    ("Today's date", "currentDate: ", "Token usage: "),
)
_CODEX = ClientShapes(
    re.compile(rf"(?m)^[ \t]*<current_date>{_DAY}</current_date>[ \t]*$"),
    ("environment_context",),
    ("<current_date>",),
)
_GEMINI_CLI = ClientShapes(
    re.compile(
        rf"(?m)^[ \t]*Today's date is {_WEEKDAY}, {_MONTH} \d{{1,2}}, \d{{4}}"
        r"(?: \(formatted according to the user's locale\))?\.?[ \t]*$"
    ),
    ("session_context",),
    ("Today's date is ",),
)
_OPENCODE = ClientShapes(
    re.compile(rf"(?m)^[ \t]*Today's date: {_SHORT_DAY}[ \t]*$"), ("system-reminder", "env"), ("Today's date: ",)
)
_ROO = ClientShapes(
    re.compile(
        rf"(?m)^(?:Current time in ISO 8601 UTC format: {_DAY}T[\d:.]{{5,15}}Z|# Current Cost\n\$\d+\.\d+)[ \t]*$"
    ),
    ("environment_details",),
    ("Current time in ISO 8601 UTC format: ", "# Current Cost\n"),
)

# By headers that no other client sends, then by how a user agent begins.
_BY_HEADER: Sequence[tuple[bytes, ClientShapes]] = (
    (b"x-claude-code-session-id", _CLAUDE_CODE),
    (b"x-codex-turn-metadata", _CODEX),
    (b"x-codex-window-id", _CODEX),
)
_BY_AGENT: Mapping[str, ClientShapes] = {
    "claude-cli": _CLAUDE_CODE,
    "codex_cli_rs": _CODEX,
    "codex_exec": _CODEX,
    "codex_vscode": _CODEX,
    "geminicli": _GEMINI_CLI,
    "opencode": _OPENCODE,
    "roocode": _ROO,
    "cline": _ROO,
    "kilo-code": _ROO,
}
_BY_NAME: Mapping[str, ClientShapes] = {**_BY_AGENT, "claude-code": _CLAUDE_CODE, "codex": _CODEX}


def shapes_named(client: str) -> ClientShapes:
    """The table of a client by the name that its threads begin with."""
    return _BY_NAME.get(client, PLAIN)


def shapes_of(visit: Visit) -> ClientShapes:
    """The table of whoever sent this; of nobody where the client is not known."""
    for header, shapes in _BY_HEADER:
        if visit.header(header):
            return shapes
    return _BY_AGENT.get(re.split(r"[\s/(]", visit.header(b"user-agent"), maxsplit=1)[0].lower(), PLAIN)
