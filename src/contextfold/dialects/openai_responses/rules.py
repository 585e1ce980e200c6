"""What the Responses API rejects, one small rule each. It changes nothing: repairing is another step.

Calls and outputs pair by `call_id` wherever they stand; a request that goes on from a stored response may answer calls
that only the provider has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from contextfold.dialects.repairs import WirePiece, id_in, is_filled, malformed, read_pieces
from contextfold.dialects.wire import Json, lone_surrogate
from contextfold.domain import Problem

from .parse import ROLES, is_call, is_output, kind_of
from .render import CHAINS

# Ids of items carry the kind of the item; an id of another kind is rejected.
PREFIXES: Mapping[str, str] = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "custom_tool_call": "ctc",
}
_INPUTS = ("input_text", "input_image", "input_file", "input_audio")
_OUTPUTS = ("output_text", "refusal")
_NEED_TEXT = {"function_call": "arguments", "custom_tool_call": "input"}


class InputItem(NamedTuple):
    """One item of a request, as far as it can be read."""

    path: str
    kind: str
    value: Json
    parts: tuple[WirePiece, ...] = ()

    @property
    def call(self) -> str | None:
        if self.kind == "local_shell_call_output" and "call_id" not in self.value:
            return id_in(self.value, "id")
        return id_in(self.value, "call_id")

    @property
    def calls(self) -> bool:
        """Whether it is a call that pairs by an id."""
        return is_call(self.kind) and (self.kind in _NEED_TEXT or self.value.get("call_id") is not None)

    @property
    def is_hosted(self) -> bool:
        """Whether the provider itself ran what this is about: it says so, or names no call."""
        is_callers = self.kind.removesuffix("_output") in _NEED_TEXT
        return not is_callers and (self.value.get("execution") == "server" or self.call is None)


class ItemsRequest(NamedTuple):
    """A request, read once for all rules."""

    body: Json
    entries: list[InputItem]
    is_adjacent: bool

    @property
    def is_chained(self) -> bool:
        return any(self.body.get(name) for name in CHAINS)


def read_entries(body: Json) -> tuple[list[InputItem], list[Problem]]:
    """The items that can be read, and a problem for everything that has not even the form of one."""
    given = body.get("input")
    if isinstance(given, str):
        return ([InputItem("input", "message", {"role": "user", "content": given})] if given else []), []
    if not isinstance(given, Sequence) or isinstance(given, bytes) or not (given or any(map(body.get, CHAINS))):
        return [], [malformed("input", "Send a text, or a list with at least one item.")]
    entries: list[InputItem] = []
    problems: list[Problem] = []
    for index, item in enumerate(given):
        path = f"input[{index}]"
        if not isinstance(item, Mapping) or not kind_of(item):
            problems.append(malformed(path, "An item is an object with a type, or a message with a role."))
            continue
        kind, content = kind_of(item), item.get("content")
        pieces: tuple[WirePiece, ...] = ()
        if kind == "message" and isinstance(content, list | tuple):
            pieces = read_pieces(f"{path}.content", content, problems)
        elif kind == "message" and not isinstance(content, str | None):
            problems.append(malformed(f"{path}.content", "Content is a string or a list."))
        entries.append(InputItem(path, kind, item, pieces))
    return entries, problems


def unknown_role(asked: ItemsRequest) -> Iterator[Problem]:
    for entry in asked.entries:
        role = entry.value.get("role")
        if entry.kind == "message" and (not isinstance(role, str) or role not in ROLES):
            yield Problem(f"{entry.path}.role", "unknown-role", f"Use one of {', '.join(map(repr, ROLES))}.")


def unanswered_call(asked: ItemsRequest) -> Iterator[Problem]:
    """Every call has its output somewhere in the input."""
    answered = {entry.call for entry in asked.entries if is_output(entry.kind)}
    for entry in asked.entries:
        if entry.calls and entry.call not in answered and not entry.is_hosted:
            yield Problem(entry.path, "unanswered-call", f"Send an output with the call_id {entry.call!r}.")


def orphan_output(asked: ItemsRequest) -> Iterator[Problem]:
    """Every output answers a call of the input, or one that the provider keeps."""
    called = {entry.call for entry in asked.entries if entry.calls}
    for entry in asked.entries:
        if is_output(entry.kind) and entry.call not in called and not asked.is_chained and not entry.is_hosted:
            yield Problem(
                entry.path, "orphan-output", f"Send the call {entry.call!r} too, or show the output as a message."
            )


def duplicate_call(asked: ItemsRequest) -> Iterator[Problem]:
    yield from _doubled([entry for entry in asked.entries if entry.calls], "duplicate-call", "Give each call its own.")


def duplicate_output(asked: ItemsRequest) -> Iterator[Problem]:
    outputs = [entry for entry in asked.entries if is_output(entry.kind)]
    yield from _doubled(outputs, "duplicate-output", "Keep one output for it.")


def _doubled(entries: list[InputItem], rule: str, advice: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for entry in entries:
        if entry.call is not None and entry.call in seen:
            yield Problem(entry.path, rule, f"The call_id {entry.call!r} was used before. {advice}")
        seen.add(entry.call or "")


def missing_call_id(asked: ItemsRequest) -> Iterator[Problem]:
    for entry in asked.entries:
        pairs = entry.calls or (is_output(entry.kind) and entry.kind != "local_shell_call_output")
        if pairs and not is_filled(entry.value.get("call_id")):
            yield Problem(f"{entry.path}.call_id", "missing-call-id", "Name the call by its call_id.")


def malformed_call(asked: ItemsRequest) -> Iterator[Problem]:
    """A function's call has a name, and its arguments are text."""
    for entry in asked.entries:
        field = _NEED_TEXT.get(entry.kind)
        if field is not None and not (is_filled(entry.value.get("name")) and isinstance(entry.value.get(field), str)):
            yield Problem(entry.path, "malformed-call", f"Give the call a name, and {field!r} as a string.")


def malformed_output(asked: ItemsRequest) -> Iterator[Problem]:
    """A function's output is text or a list of parts."""
    for entry in asked.entries:
        if entry.kind in ("function_call_output", "custom_tool_call_output"):
            output = entry.value.get("output")
            if not isinstance(output, str | list | tuple):
                yield Problem(f"{entry.path}.output", "malformed-output", "Send the output as a string or as parts.")


def reasoning_without_successor(asked: ItemsRequest) -> Iterator[Problem]:
    """Reasoning is followed by an item of the model's."""
    for index, entry in enumerate(asked.entries):
        if entry.kind == "reasoning":
            after = asked.entries[index + 1] if index + 1 < len(asked.entries) else None
            if after is None or is_users(after.value):
                yield Problem(
                    entry.path,
                    "reasoning-without-successor",
                    "Send what it led to right behind it, or leave it out.",
                )


def is_users(item: Json) -> bool:
    """Whether an item is not the model's."""
    kind = kind_of(item)
    if kind == "message":
        return item.get("role") != "assistant"
    return is_output(kind) or kind == "mcp_approval_response"


def wrong_id(asked: ItemsRequest) -> Iterator[Problem]:
    """An item's own id has the prefix of its kind."""
    for entry in asked.entries:
        prefix, own = PREFIXES.get(entry.kind), entry.value.get("id")
        if prefix is not None and own is not None and not (isinstance(own, str) and own.startswith(prefix)):
            yield Problem(f"{entry.path}.id", "wrong-id", f"Use the id that came back ({prefix}_…), or leave it out.")


def duplicate_id(asked: ItemsRequest) -> Iterator[Problem]:
    """An item is sent once."""
    seen: set[str] = set()
    for entry in asked.entries:
        own = entry.value.get("id")
        if isinstance(own, str) and entry.kind in PREFIXES:
            if own in seen:
                yield Problem(f"{entry.path}.id", "duplicate-id", f"The item {own!r} was sent before. Send it once.")
            seen.add(own)


def misplaced_part(asked: ItemsRequest) -> Iterator[Problem]:
    """What goes in is `input_…`, what came out is `output_text` or a refusal."""
    for entry in asked.entries:
        wanted = _OUTPUTS if entry.value.get("role") == "assistant" else _INPUTS
        for part in entry.parts:
            if part.kind not in wanted:
                yield Problem(part.path, "misplaced-part", f"Use a part of type {' or '.join(map(repr, wanted))}.")


def empty_message(asked: ItemsRequest) -> Iterator[Problem]:
    for entry in asked.entries:
        content = entry.value.get("content")
        is_empty = content is None or content in ("", [], ())
        if entry.kind == "message" and is_empty and not isinstance(entry.value.get("id"), str):
            yield Problem(entry.path, "empty-message", "Leave the empty message out.")


def two_states(asked: ItemsRequest) -> Iterator[Problem]:
    """A stored response or a conversation, not both."""
    if all(asked.body.get(name) for name in CHAINS):
        yield Problem("previous_response_id", "two-states", "Send previous_response_id or conversation, not both.")


def apart(asked: ItemsRequest) -> Iterator[Problem]:
    """Where the server is strict: outputs stand right behind the calls they answer."""
    if not asked.is_adjacent:
        return
    waiting: set[str] = set()
    for before, entry in zip([None, *asked.entries], asked.entries, strict=False):
        if entry.calls:
            waiting = waiting if before is not None and before.calls else set()
            waiting.add(entry.call or "")
        elif is_output(entry.kind) and entry.call not in waiting:
            yield Problem(entry.path, "apart", f"Put the output right behind the call {entry.call!r}.")
        elif not is_output(entry.kind):
            waiting = set()


RULES: tuple[Callable[[ItemsRequest], Iterator[Problem]], ...] = (
    unknown_role,
    unanswered_call,
    orphan_output,
    duplicate_call,
    duplicate_output,
    missing_call_id,
    malformed_call,
    malformed_output,
    reasoning_without_successor,
    wrong_id,
    duplicate_id,
    misplaced_part,
    empty_message,
    two_states,
    apart,
)


def check(body: Mapping[str, Any], is_adjacent: bool = False) -> list[Problem]:
    """Everything the API would reject in this request."""
    entries, problems = read_entries(body)
    asked = ItemsRequest(body, entries, is_adjacent)
    problems += lone_surrogate(body)
    return problems + [problem for rule in RULES for problem in rule(asked)]
