"""Messages as Anthropic reads them: strings become blocks, neighbours with one role one turn, calls meet their results.

Each block remembers where the client put it, for errors. What precedes the newest compaction block is not read at all.
Every call is answered in the very next user turn, by results that stand first and once.

The blocks Anthropic knows: which fields each must and may have, who may say it, and where it may be marked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from contextfold.testing.server.faults import objects, refuse

# Kind: (fields it must have, fields it may have). `type` and `cache_control` are common.
BLOCKS: Final[dict[str, tuple[frozenset[str], frozenset[str]]]] = {
    kind: (frozenset(must.split()), frozenset(may.split()))
    for kind, must, may in (
        ("text", "text", "citations"),
        ("image", "source", "transformations"),
        ("document", "source", "title context citations"),
        ("search_result", "source title content", "citations"),
        ("thinking", "thinking signature", ""),
        ("redacted_thinking", "data", ""),
        ("tool_use", "id name input", "caller toolset_name"),
        ("tool_result", "tool_use_id", "content is_error toolset_name"),
        ("server_tool_use", "id name input", "caller"),
        ("web_search_tool_result", "tool_use_id content", "caller"),
        ("web_fetch_tool_result", "tool_use_id content", "caller"),
        ("code_execution_tool_result", "tool_use_id content", ""),
        ("bash_code_execution_tool_result", "tool_use_id content", ""),
        ("text_editor_code_execution_tool_result", "tool_use_id content", ""),
        ("tool_search_tool_result", "tool_use_id content", ""),
        ("advisor_tool_result", "tool_use_id content", ""),
        ("mcp_tool_use", "id name input server_name", ""),
        ("mcp_tool_result", "tool_use_id", "content is_error"),
        ("container_upload", "file_id", ""),
        ("compaction", "", "content encrypted_content signature tool_changes"),
        ("tool_addition", "tool", ""),
        ("tool_removal", "tool", ""),
        ("mcp_tool_listing", "mcp_server_name tools", ""),
        ("fallback", "from to", "trigger"),
    )
}

REASONING: Final = frozenset({"thinking", "redacted_thinking"})
ASSISTANT_ONLY: Final = REASONING | {"tool_use", "server_tool_use", "mcp_tool_use", "compaction", "fallback"}
USER_ONLY: Final = frozenset({"tool_result", "image", "container_upload"})
SYSTEM_MAY: Final = frozenset({"text", "tool_addition", "tool_removal"})
INSIDE_RESULTS: Final = frozenset({"text", "image", "document", "search_result", "tool_reference"})
MEDIA_TYPES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
LIFETIMES: Final = {"5m": 300, "1h": 3_600}

_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def check_block(block: dict[str, Any], at: str, role: str) -> None:
    """One block by itself, wherever it stands."""
    kind = block.get("type")
    known = BLOCKS.get(kind) if isinstance(kind, str) else None
    if not isinstance(kind, str) or known is None:
        raise refuse(f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags", "kind")
    must, may = known
    for name in sorted(must - block.keys()):
        raise refuse(f"{at}.{kind}.{name}: Field required", "field-missing")
    for name in block.keys() - must - may - {"type", "cache_control"}:
        raise refuse(f"{at}.{kind}.{name}: Extra inputs are not permitted", "field-unknown")
    _speaker(kind, at, role)
    if kind == "text":
        check_text(block["text"], at)
    elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        _call(block, at, kind)
    elif kind == "tool_result":
        _result(block, at)
    elif kind == "image":
        _image(block["source"], at)
    elif kind == "thinking" and not (isinstance(block["thinking"], str) and isinstance(block["signature"], str)):
        raise refuse(f"{at}.thinking.signature: Input should be a valid string", "field-type")
    check_mark(block, at)


def _speaker(kind: str, at: str, role: str) -> None:
    if role == "user" and kind in ASSISTANT_ONLY:
        raise refuse(f"{at}: `{kind}` blocks can only be in `assistant` messages", "speaker")
    if role == "assistant" and kind in USER_ONLY:
        raise refuse(f"{at}: `{kind}` blocks can only be in `user` messages", "speaker")
    if role == "system" and kind not in SYSTEM_MAY:
        raise refuse(f"{at}: system messages may only contain text", "speaker")


def check_text(text: Any, at: str) -> None:
    if not isinstance(text, str):
        raise refuse(f"{at}.text: Input should be a valid string", "field-type")
    if not text:
        raise refuse("messages: text content blocks must be non-empty", "empty-text")
    if not text.strip():
        raise refuse("messages: text content blocks must contain non-whitespace text", "empty-text")


def _call(block: dict[str, Any], at: str, kind: str) -> None:
    if not isinstance(block["id"], str) or not _ID.fullmatch(block["id"]):
        raise refuse(f"{at}.{kind}.id: String should match pattern '^[a-zA-Z0-9_-]+$'", "call-id")
    if not isinstance(block["name"], str) or not _NAME.fullmatch(block["name"]):
        raise refuse(f"{at}.{kind}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'", "call-name")
    if not isinstance(block["input"], dict):
        raise refuse(f"{at}.{kind}.input: Input should be a valid dictionary", "call-input")


def _result(block: dict[str, Any], at: str) -> None:
    content = block.get("content")
    if block.get("is_error") is True and not content:
        raise refuse(f"{at}.tool_result: content cannot be empty if `is_error` is true", "error-empty")
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        raise refuse(f"{at}.tool_result.content: Input should be a valid list", "field-type")
    for number, inner in enumerate(content):
        where = f"{at}.tool_result.content.{number}"
        kind = inner.get("type") if isinstance(inner, dict) else None
        if kind not in INSIDE_RESULTS:
            raise refuse(f"{where}: Input tag '{kind}' does not match any of the expected tags", "kind")
        if kind == "text":
            check_text(inner.get("text"), where)
        elif kind == "image":
            _image(inner.get("source"), where)


def _image(source: Any, at: str) -> None:
    if not isinstance(source, dict) or source.get("type") not in ("base64", "url", "file"):
        raise refuse(f"{at}.image.source: Input tag does not match any of the expected tags", "image-source")
    if source["type"] != "base64":
        return
    if source.get("media_type") not in MEDIA_TYPES:
        listed = ", ".join(f"'{each}'" for each in sorted(MEDIA_TYPES))
        raise refuse(f"{at}.image.source.base64.media_type: Input should be one of {listed}", "image-type")
    if not source.get("data"):
        raise refuse(f"{at}.image.source.base64: image cannot be empty", "image-empty")


def check_mark(block: dict[str, Any], at: str) -> None:
    mark = block.get("cache_control")
    if mark is None:
        return
    if block.get("type") in REASONING:
        raise refuse(f"{at}.{block['type']}.cache_control: Extra inputs are not permitted", "mark-on-thinking")
    lifetime_of(mark, at)


def lifetime_of(mark: Any, at: str) -> int:
    """Seconds that a `cache_control` asks for."""
    if not isinstance(mark, dict) or mark.get("type") != "ephemeral":
        raise refuse(f"{at}.cache_control.type: Input should be 'ephemeral'", "mark")
    lifetime = LIFETIMES.get(mark.get("ttl", "5m"))
    if lifetime is None:
        raise refuse(f"{at}.cache_control.ephemeral.ttl: Input should be '5m' or '1h'", "mark")
    return lifetime


def check_pairs(turns: Sequence[ReadTurn], *, may_stay_open: bool = False) -> None:
    """Refuse calls without results, results without calls, and either of them twice."""
    seen: set[str] = set()
    for call in (call for turn in turns for call in _calls(turn)):
        if call.block["id"] in seen:
            raise refuse(f"{call.at}: `tool_use` ids must be unique", "call-twice")
        seen.add(call.block["id"])
    _server_tools(turns)
    before: ReadTurn | None = None
    for turn in turns:
        if turn.role == "system":
            continue
        if turn.role == "user":
            _results(before, turn)
        elif before is not None and before.role == "assistant":
            _unanswered(before, [])
        before = turn
    if before is not None and before.role == "assistant" and not may_stay_open:
        _unanswered(before, [])


def open_calls(turns: Sequence[ReadTurn]) -> list[str]:
    """Calls of the last turn that nothing answers."""
    return [each.block["id"] for each in _calls(turns[-1])] if turns else []


def _results(before: ReadTurn | None, turn: ReadTurn) -> None:
    asked = [call.block["id"] for call in _calls(before)] if before is not None else []
    first: list[str] = []
    results = [placed for placed in turn.blocks if placed.kind == "tool_result"]
    for placed in turn.blocks[: len(results)]:
        if placed.kind != "tool_result":
            break
        first.append(str(placed.block["tool_use_id"]))
    for placed in results:
        if placed.block["tool_use_id"] not in asked:
            raise refuse(
                f"{placed.at}: unexpected `tool_use_id` found in `tool_result` blocks: {placed.block['tool_use_id']}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
                "result-without-call",
            )
    if before is not None:
        _unanswered(before, first)
    for number, call in enumerate(first):
        if call in first[:number]:
            said = "each tool_use must have a single result. Found multiple `tool_result` blocks with id"
            raise refuse(f"{turn.blocks[number].at}: {said}: {call}", "result-twice")


def _unanswered(turn: ReadTurn, answered: Sequence[str]) -> None:
    lacking = [call for call in _calls(turn) if call.block["id"] not in answered]
    if lacking:
        ids = ", ".join(call.block["id"] for call in lacking)
        raise refuse(
            f"messages.{lacking[0].message}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
            "call-without-result",
        )


def _calls(turn: ReadTurn) -> Iterator[PlacedBlock]:
    return (placed for placed in turn.blocks if placed.kind == "tool_use")


def _server_tools(turns: Sequence[ReadTurn]) -> None:
    """What the provider's own tools answered stands in the same turn as its call; a program may wait for results."""
    programs: dict[str, PlacedBlock] = {}
    for turn in turns:
        if turn.role == "user" and programs and any(placed.kind != "tool_result" for placed in turn.blocks):
            said = "only `tool_result` blocks may follow while programmatic tool calls are pending"
            raise refuse(f"messages.{turn.blocks[0].message}: {said}", "program-results")
        if turn.role == "assistant":
            programs = _of_a_program(turn, programs, is_last=turn is turns[-1])


def _of_a_program(turn: ReadTurn, programs: dict[str, PlacedBlock], *, is_last: bool) -> dict[str, PlacedBlock]:
    """The server's calls that wait beyond this turn: those by whose code the client's tools were called."""
    calls, waiting, made = dict(programs), dict(programs), set[str]()
    for placed in turn.blocks:
        if placed.kind in ("server_tool_use", "mcp_tool_use"):
            calls[placed.block["id"]] = waiting[placed.block["id"]] = placed
        elif placed.kind.endswith("_tool_result"):
            call = placed.block["tool_use_id"]
            if call not in calls:
                said = f"unexpected `tool_use_id` found in `{placed.kind}` blocks: {call}"
                raise refuse(f"{placed.at}: {said}. Each must follow its `server_tool_use` block.", "server-result")
            waiting.pop(call, None)
        elif placed.kind == "tool_use" and "tool_id" in (placed.block.get("caller") or {}):
            program = placed.block["caller"]["tool_id"]
            if program not in calls:
                raise refuse(f"{placed.at}.caller.tool_id: no `server_tool_use` with id {program}", "caller")
            made.add(program)
    for call, placed in waiting.items():
        if call not in made and not is_last:
            name = placed.block["name"]
            said = f"`{name}` tool use with id `{call}` was found without a corresponding result block"
            raise refuse(f"{placed.at}: {said}", "server-call")
    return {call: placed for call, placed in waiting.items() if call in made}


_COMMON: Final = frozenset({"role", "content"})
# A system message may set how the next answer is written, with words or without, and say how long it is shown.
_FIELDS: Final = {"system": _COMMON | {"output_config", "clear_at"}}


class PlacedBlock(Struct, frozen=True):
    """A block, and its place in the request."""

    block: dict[str, Any]
    message: int
    index: int

    @property
    def at(self) -> str:
        return f"messages.{self.message}.content.{self.index}"

    @property
    def kind(self) -> str:
        return str(self.block.get("type"))


class ReadTurn(Struct):
    """What one side said before the other spoke."""

    role: str
    blocks: list[PlacedBlock]

    def keep(self, stays: Callable[[PlacedBlock], bool]) -> None:
        """Take out every block but these."""
        self.blocks = [placed for placed in self.blocks if stays(placed)]


def read_turns(messages: Any) -> list[ReadTurn]:
    """Check each message by itself, and join neighbours of one role."""
    given = objects(messages, "messages: Input should be a valid list", "messages")
    if not given:
        raise refuse("messages: at least one message is required", "no-messages")
    turns: list[ReadTurn] = []
    for number, message in enumerate(given):
        role, blocks = _message(message, number, is_last=number == len(given) - 1)
        if turns and turns[-1].role == role:
            turns[-1].blocks.extend(blocks)
        else:
            turns.append(ReadTurn(role, blocks))
    return [turn for turn in turns if turn.blocks]


def _message(message: dict[str, Any], number: int, *, is_last: bool) -> tuple[str, list[PlacedBlock]]:
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant", "system"):
        raise refuse(f"messages.{number}.role: Input should be 'user' or 'assistant'", "role")
    for name in message.keys() - _FIELDS.get(role, _COMMON):
        raise refuse(f"messages.{number}.{name}: Extra inputs are not permitted", "field-unknown")
    if content is None and message.get("output_config"):
        return role, []
    if not isinstance(content, str | list):
        raise refuse(f"messages.{number}.content: Input should be a valid string or list", "content")
    if not content:
        if is_last and role == "assistant":
            return role, []
        raise refuse(
            f"messages.{number}: all messages must have non-empty content except for the optional final "
            "assistant message",
            "empty-message",
        )
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    objects(blocks, f"messages.{number}.content: Input should be a valid list of blocks", "content")
    placed = [PlacedBlock(block, number, index) for index, block in enumerate(blocks)]
    for each in placed:
        check_block(each.block, each.at, role)
    return role, placed


def after_compaction(turns: list[ReadTurn]) -> tuple[list[ReadTurn], PlacedBlock | None]:
    """What the model still reads: from the newest compaction block that holds a summary."""
    for number in range(len(turns) - 1, -1, -1):
        for index in range(len(turns[number].blocks) - 1, -1, -1):
            placed = turns[number].blocks[index]
            if placed.kind == "compaction" and placed.block.get("content"):
                first = ReadTurn(turns[number].role, turns[number].blocks[index:])
                return [first, *turns[number + 1 :]], placed
    return turns, None
