"""A digest in no time: the newest words of each speaker, for when a chosen one takes too long."""

from __future__ import annotations

from contextfold.domain import Text, read_as, users_side

from .lines import MARK, Count, head, split
from .passages import SourceMessage
from .request import SummaryRequest
from .texts import neutral

_QUICK_CHARACTERS = 200  # of one message


def _people_in(source: SourceMessage, *, is_first: bool) -> tuple[str, ...]:
    """What a person typed in a message. In results of tools nobody is believed: their calls are not read here."""
    message = source.message
    if message.role != "user":
        return ()
    blocks = read_as(message, source.spoken_by, is_first=is_first)
    return tuple(typed for _, block in blocks if isinstance(block, Text) for typed in users_side(block.text).typed)


def quick_digest(request: SummaryRequest, count: Count) -> str:
    """The previous summary's beginning, then the newest words of each speaker: for when there is no time to choose."""
    before = head(request.previous[: request.budget * _QUICK_CHARACTERS], request.budget // 4, count)
    front = [f"- {line}" for line in before.splitlines() if line.strip()]
    room = request.budget - sum(count(line) + 1 for line in front)
    newest, opening = list[str](), request.opening
    for source in reversed(request.sources):
        typed = next(iter(_people_in(source, is_first=source.seq in opening)), "")
        said = next(split((typed or source.message.text)[: _QUICK_CHARACTERS * 8]), "")[:_QUICK_CHARACTERS]
        line = f"#{source.seq} {'>' if typed else '-'} {said}"
        room -= count(line) + 1
        if room < 0:
            break
        newest += [line] if said else []
    return head(neutral("\n".join((*front, *reversed(newest)))), request.budget, count, f"\n{MARK}")
