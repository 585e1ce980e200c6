"""An Anthropic request read as turns: who speaks, which calls and results pair, and what its model takes.

Tools that run at Anthropic have their call and result in one turn. One exception: a program, that is a call by whose
code tools of the caller's are called (`caller.tool_id` names it), waits for their results over turns of the user's that
hold nothing but results. A last turn may be paused. Rules, repair and rendering all ask here; what is sent has a call
and its result, or neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from contextfold.deferred import expression
from contextfold.dialects.repairs import WireMessage, WirePiece, id_in
from contextfold.dialects.wire import Json, assembled, elements, fields, listed
from contextfold.domain import Problem, decode

THINKING = ("thinking", "redacted_thinking")
SERVER_CALLS = ("server_tool_use", "mcp_tool_use")


class LoneHalves(NamedTuple):
    """What cannot be sent as it is, each block by its `id()`."""

    calls: set[int]  # nobody answered them
    results: set[int]  # nobody called for them
    callers: set[int]  # calls of the caller's tools by a program that is not there


def lone_halves(turns: Sequence[tuple[object, Sequence[Json]]]) -> LoneHalves:
    """The halves of pairs in these turns, each a role and its blocks; the last one may be paused."""
    found = LoneHalves(set(), set(), set())
    programs: dict[object, Json] = {}  # calls whose results stand in a later turn
    called_by: list[tuple[Json, Json | None]] = []
    for number, (role, blocks) in enumerate(turns):
        if role == "system":
            continue
        if role != "assistant" and any(block.get("type") != "tool_result" for block in blocks):
            found.calls.update(map(id, programs.values()))
            programs = {}
        waiting = dict(programs) if role == "assistant" else {}
        called = dict(waiting)
        made: set[object] = set()
        for block in blocks:
            if block.get("type") in SERVER_CALLS:
                call = id_in(block, "id")
                if call in waiting:  # the same again: only the newer can be answered
                    found.calls.add(id(waiting[call]))
                called[call] = waiting[call] = block
            elif is_server_result(block):
                if id_in(block, "tool_use_id") not in called:
                    found.results.add(id(block))
                waiting.pop(id_in(block, "tool_use_id"), None)
            elif (maker := program_of(block)) is not None:
                called_by.append((block, called.get(maker)))
                made.add(maker)
        if number + 1 < len(turns) or role != "assistant":
            found.calls.update(id(block) for known, block in waiting.items() if known not in made)
        if role == "assistant":
            programs = {known: block for known, block in waiting.items() if known in made}
    found.callers.update(id(block) for block, program in called_by if program is None or id(program) in found.calls)
    return found


def is_server_result(block: Json) -> bool:
    """Whether it is what a tool that ran at Anthropic answered."""
    kind = block.get("type")
    return isinstance(kind, str) and kind.endswith("_tool_result")


def program_of(block: Json) -> str | None:
    """The call by whose code this tool of the caller's was called; None where the model itself called it."""
    caller = block.get("caller") if block.get("type") == "tool_use" else None
    return id_in(caller, "tool_id") if isinstance(caller, Mapping) else None


def is_paused(blocks: Iterable[Json]) -> bool:
    """Whether the model's turn waits for a tool that runs at Anthropic: it is sent back as it is, to be continued."""
    held = list(blocks)
    answered = {id_in(block, "tool_use_id") for block in held}
    return any(block.get("type") in SERVER_CALLS and id_in(block, "id") not in answered for block in held)


class Allowed(Struct, frozen=True):
    """What a model takes. The defaults are those of current models; the model's profile knows better."""

    prefill: bool = False  # a last message of the assistant's, to be continued: not since 4.7
    sampling: bool = True  # temperature, top_p, top_k: not since 4.7
    thinking_budget: bool = True  # an explicit budget: not since 4.7
    forced_tool: bool = True  # tool_choice "any" or "tool": not on Fable 5.1 and Sonnet 5.5
    thinking_optional: bool = True  # older models want a calling last turn to start with thinking


class MergedTurn(NamedTuple):
    """Neighbouring messages of one role, merged."""

    role: object
    pieces: tuple[WirePiece, ...]
    messages: tuple[WireMessage, ...]


class MessagesRequest(NamedTuple):
    """A request, read once for all rules."""

    body: Json
    messages: list[WireMessage]
    turns: list[MergedTurn]
    allowed: Allowed

    def pairs(self) -> Iterator[tuple[MergedTurn | None, MergedTurn | None]]:
        """Each turn with the next, from nothing before the first to nothing after the last."""
        return pairwise((None, *self.turns, None))

    def lone_halves(self) -> LoneHalves:
        """Calls and results of tools that run at Anthropic, where one lacks the other."""
        return lone_halves([(turn.role, [piece.block for piece in turn.pieces]) for turn in self.turns])

    def pieces_in(self, found: set[int]) -> Iterator[WirePiece]:
        """The blocks of these identities, with their places."""
        return (piece for turn in self.turns for piece in turn.pieces if id(piece.block) in found)


def merged(messages: list[WireMessage]) -> list[MergedTurn]:
    turns = []
    for role, group in groupby(messages, key=lambda message: message.role):
        together = tuple(group)
        turns.append(MergedTurn(role, tuple(piece for message in together for piece in message.pieces), together))
    return turns


def calls(turn: MergedTurn | None) -> list[WirePiece]:
    """The tool calls of an assistant's turn."""
    if turn is None or turn.role != "assistant":
        return []
    return [piece for piece in turn.pieces if piece.kind == "tool_use"]


def results(turn: MergedTurn | None) -> list[WirePiece]:
    """The tool results of a user's turn."""
    if turn is None or turn.role != "user":
        return []
    return [piece for piece in turn.pieces if piece.kind == "tool_result"]


# Values that change nothing: clients send them always, and not everybody says that they are refused.
_DEFAULTS = {"temperature": 1, "top_p": 1, "top_k": None}


def sampling(asked: MessagesRequest) -> Iterator[Problem]:
    if not asked.allowed.sampling:
        for name, usual in _DEFAULTS.items():
            if asked.body.get(name) not in (None, usual):
                yield Problem(name, "sampling", f"Leave {name!r} out: this model takes no sampling parameters.")


def refused_sampling(settings: Json) -> tuple[str, ...]:
    """Sampling parameters, whatever their value, in a request to a model that takes none."""
    if allowed_in(settings).sampling:
        return ()
    return tuple(name for name in _DEFAULTS if settings.get(name) is not None)


def thinking_budget(asked: MessagesRequest) -> Iterator[Problem]:
    match asked.body.get("thinking"):
        case {"budget_tokens": int()} if not asked.allowed.thinking_budget:
            yield Problem("thinking.budget_tokens", "thinking-budget", "Leave the budget out: this model sets its own.")
        case _:
            pass


def forced_tool(asked: MessagesRequest) -> Iterator[Problem]:
    match asked.body.get("tool_choice"):
        case {"type": "any" | "tool"} if not asked.allowed.forced_tool:
            yield Problem("tool_choice", "forced-tool", "Use tool_choice 'auto' or 'none' with this model.")
        case _:
            pass


def starts_with_thinking(asked: MessagesRequest) -> Iterator[Problem]:
    """Older models with thinking on: a last assistant turn that calls tools begins with its thinking."""
    match asked.body.get("thinking"):
        case {"type": "enabled"} if not asked.allowed.thinking_optional:
            pass
        case _:
            return
    last = next((turn for turn in reversed(asked.turns) if turn.role == "assistant"), None)
    if last is not None and calls(last) and last.pieces[0].kind not in THINKING:
        yield Problem(
            last.pieces[0].path,
            "starts-with-thinking",
            "Return the turn's thinking block in front, or turn thinking off for this request.",
        )


_NEW = expression(r"claude-(opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")
_OLD = expression(r"claude-(\d)(?:-(\d{1,2}))?-(opus|sonnet|haiku)")

# From this version on: no prefill, no sampling parameters, no explicit thinking budget.
_STRICT = (4, 7)
# Before this version: with thinking on, a last turn that calls tools begins with its thinking.
_LENIENT = (4, 5)
_NO_FORCED_TOOL = {"fable": (5, 1), "mythos": (5, 1), "sonnet": (5, 5)}


def allowed_in(body: Json) -> Allowed:
    """What this request may ask of its model."""
    family, version = _version(str(body.get("model") or ""))
    if not version:
        return Allowed()
    is_strict = version >= _STRICT
    no_forced = _NO_FORCED_TOOL.get(family)
    return Allowed(
        prefill=not is_strict,
        sampling=not is_strict,
        thinking_budget=not is_strict,
        forced_tool=no_forced is None or version < no_forced,
        thinking_optional=version >= _LENIENT,
    )


def _version(model: str) -> tuple[str, tuple[int, ...]]:
    found = _NEW.search(model)
    if found:
        return found[1], (int(found[2]), int(found[3] or 0))
    found = _OLD.search(model)
    return (found[3], (int(found[1]), int(found[2] or 0))) if found else ("", ())


# In the type of every such call and result and in no type of the caller's own tools; and where a program called.
SIGNS = (b"_tool_", b'"caller"')
_OF_A_LOOP = (b'"caller"', b'"tool_result"')
_REACH = 4  # chunks before the new ones in which the turn they end is looked for


class _MessageRole(Struct):
    role: object = None


_spoken = msgspec.json.Decoder(_MessageRole)


def settled(chunks: list[bytes], since: int = 0) -> list[bytes]:
    """The chunks without halves of what ran at a server, in turns that are over; the older were looked at."""
    start = max(0, since - _REACH)
    if not holds_any(chunks, start, SIGNS):
        return chunks
    while start > 0 and (not chunks[start - 1] or any(mark in chunks[start - 1] for mark in _OF_A_LOOP)):
        start -= 1
    while start > 0 and (
        not all(chunks[start - 1 : start + 1]) or _speaker(chunks[start - 1]) == _speaker(chunks[start])
    ):
        start -= 1
    _settle(chunks, [at for at in range(start, len(chunks)) if chunks[at]])
    return chunks


def holds_any(chunks: Sequence[bytes], start: int, marks: tuple[bytes, ...]) -> bool:
    """Whether one of these words stands in a chunk from here on; asked at every turn, so without a generator."""
    for at in range(start, len(chunks)):
        chunk = chunks[at]
        for mark in marks:
            if mark in chunk:
                return True
    return False


def _speaker(chunk: bytes) -> object:
    try:
        return _spoken.decode(chunk).role
    except msgspec.MsgspecError:  # lone surrogates: only the tolerant decoder reads them
        return decode(chunk).get("role")


def _settle(chunks: list[bytes], places: list[int]) -> None:
    contents = {at: decode(chunks[at]).get("content") for at in places}  # words alone count as one block
    held = {at: each if isinstance(each, list) else [{"type": "text"}] if each else [] for at, each in contents.items()}
    turns = [
        (role, [block for at in group for block in held[at]])
        for role, group in groupby(places, key=lambda at: _speaker(chunks[at]))
    ]
    halves = lone_halves(turns)
    for at, blocks in held.items():
        gone = [id(block) in halves.calls or id(block) in halves.results for block in blocks]
        freed = [id(block) in halves.callers for block in blocks]
        if any(gone) or any(freed):
            chunks[at] = _mended(chunks[at], gone, freed)


def _mended(chunk: bytes, gone: list[bool], freed: list[bool]) -> bytes:
    """The message without some blocks, and with some calls as the model's own."""
    parts = fields(chunk)
    originals = zip(elements(parts["content"]), gone, freed, strict=True)
    kept = [_called_by_nobody(raw) if is_freed else raw for raw, is_gone, is_freed in originals if not is_gone]
    return assembled({**parts, "content": listed(kept)}) if kept else b""


def _called_by_nobody(call: Raw) -> Raw:
    return Raw(assembled({name: value for name, value in fields(call).items() if name != "caller"}))
