"""What a summarizing model is asked, cut to the room its window has.

The previous summary and both ends of the conversation are always in it: dropping the oldest text drops the previous
summary, and dropping the newest drops the work. Each message is framed as data under a nonce of its own. No tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .cuts import Count, head, middle
from .frames import frame, nonce_of
from .instructions import Instructions, instructions
from .request import Source, SummaryRequest
from .shared_prompt import Shared
from .speech import spoken

INSTRUCTIONS_CAP = 4_000  # characters of the user's own instructions
PREVIOUS_SHARE = 4  # the previous summary may take a quarter of the room before it is cut
_LEAST = 60  # tokens a message is cut to before whole messages are left out
_HEAD_SHARE = 0.3  # of the messages that remain, by tokens, from the old end


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request for a summary: one system text and one user text, for an answer of about `budget` tokens.

    `shared` asks the same of the model that is spoken to, at the end of its own conversation, which its provider has
    cached; whoever cannot speak in that conversation's wire format uses the two texts.
    """

    system: str
    text: str
    budget: int = 2_000
    shared: Shared | None = None


def prompt(request: SummaryRequest, count: Count, room: int) -> Prompt:
    """The prompt, system and text together within `room` tokens (or as small as a prompt can be)."""
    words = instructions(request.language)
    bodies = [spoken(source.message, request.language) for source in request.sources]
    nonce = nonce_of((request.previous, request.instructions, *bodies))
    system = _task(request, words, nonce)
    front = _front(request, words, nonce, count, room // PREVIOUS_SHARE)
    closing = words.closing if not request.prompt.strip() else words.own_closing
    fixed = count(system) + count(front) + count(closing) + 8
    messages = _messages(request, bodies, words, nonce, count, room - fixed)
    text = "\n\n".join(part for part in (front, messages, closing) if part)
    return Prompt(system, text, request.budget)


def _task(request: SummaryRequest, words: Instructions, nonce: str) -> str:
    """The caller's own prompt where there is one, else ours; what is data is said in either."""
    if own := request.prompt.strip():
        return f"{own}\n\n{words.data.format(nonce=nonce, budget=request.budget)}"
    return words.task.format(nonce=nonce, budget=request.budget, sections="\n".join(words.sections))


def _front(request: SummaryRequest, words: Instructions, nonce: str, count: Count, room: int) -> str:
    parts = []
    if request.instructions.strip():
        wish = request.instructions.strip()[:INSTRUCTIONS_CAP]
        parts += [words.added, frame("instructions", wish, nonce)]
    if request.previous.strip():
        kept = middle(request.previous.strip(), max(room, _LEAST), count)
        parts += [words.previous, frame("previous", kept, nonce)]
    return "\n".join((*parts, words.conversation))


def _messages(
    request: SummaryRequest, bodies: Sequence[str], words: Instructions, nonce: str, count: Count, room: int
) -> str:
    """Each message in its frame; when they are too many, long ones are cut first, then the middle is left out."""
    sources = request.sources
    sizes = [count(body) for body in bodies]
    edge = count(_framed(sources[0], "", nonce)) + 4 if sources else 0
    cap = _cap(sizes, room - edge * len(sizes))
    kept = _both_ends([min(size, cap) + edge for size in sizes], room)
    parts: list[str] = []
    for index, (source, body, size) in enumerate(zip(sources, bodies, sizes, strict=True)):
        if index in kept:
            parts.append(_framed(source, body if size <= cap else middle(body, cap, count), nonce))
        elif index - 1 in kept or index == 0:
            missing = [other.seq for place, other in enumerate(sources) if place not in kept]
            parts.append(words.left_out.format(messages=len(missing), first=missing[0], last=missing[-1]))
    text = "\n".join(parts)
    return text if count(text) <= room else head(text, room, count)


def _framed(source: Source, body: str, nonce: str) -> str:
    return frame("message", body, nonce, (("seq", str(source.seq)), ("role", source.message.role)))


def _cap(sizes: Sequence[int], room: int) -> int:
    """The largest size to which messages may be cut so that all of them fit, but no less than a few lines."""
    left, many = room, len(sizes)
    for size in sorted(sizes):
        if size * many > left:
            return max(left // many, _LEAST)
        left, many = left - size, many - 1
    return max(sizes, default=_LEAST)


def _both_ends(sizes: Sequence[int], room: int) -> frozenset[int]:
    """The places to keep: all, or the oldest up to a share of the room and the newest for the rest."""
    if sum(sizes) <= room:
        return frozenset(range(len(sizes)))
    room -= 40  # the line that says what is left out
    first = _run(sizes, int(room * _HEAD_SHARE))
    last = _run(sizes[first:][::-1], room - sum(sizes[:first]))
    return frozenset((*range(first), *range(len(sizes) - last, len(sizes))))


def _run(sizes: Sequence[int], room: int) -> int:
    """How many of the sizes fit one after the other."""
    for index, size in enumerate(sizes):
        room -= size
        if room < 0:
            return index
    return len(sizes)
