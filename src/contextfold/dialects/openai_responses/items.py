"""Which side an item of the Responses API belongs to, and which items make one message of ours.

An answer of the model is several items in a row: reasoning, words, calls. They stand or fall together, so they are one
message. It reads outlines only; what an item says is for the parser.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from contextfold.dialects.neutral import side_of
from contextfold.domain import Role
from contextfold.errors import BadMessage

ROLES: Mapping[object, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}
# Calls that the caller answers always; the others may also be answered by the provider, within the same answer.
OURS = ("function_call", "custom_tool_call")
_USERS = ("mcp_approval_response", "compaction_trigger", "configuration_update")
_PROVIDERS = ("program_output",)  # an output that no caller ever gives


def kind_of(item: Mapping[str, Any]) -> str:
    """The item's type; a message may leave it out."""
    kind = item.get("type")
    return kind if isinstance(kind, str) else "message" if kind is None and "role" in item else ""


def is_output(kind: str) -> bool:
    """Whether an item of this kind answers a call."""
    return kind.endswith("_output") and kind not in _PROVIDERS


def is_call(kind: str) -> bool:
    return kind.endswith("_call") or kind in OURS


def call_of(item: Mapping[str, Any]) -> str | None:
    """The id that pairs a call with its output; the older local shell has only one id."""
    call = item.get("call_id")
    if isinstance(call, str):
        return call
    own = item.get("id")
    return own if kind_of(item) == "local_shell_call_output" and isinstance(own, str) else None


def settled(items: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Ids of calls that the provider answered itself: its output stands in an answer, or says where it was made."""
    called: set[str] = set()
    answered: set[str] = set()
    hosted: set[str] = set()
    has_more = False  # something that only the model says
    for item in items:
        kind, call = kind_of(item), call_of(item)
        has_more = has_more or not is_output(kind)
        if call is not None and kind not in OURS and kind.removesuffix("_output") not in OURS:
            (answered if is_output(kind) else called).add(call)
            hosted |= {call} if item.get("execution") == "server" else set()
    return frozenset(hosted | (answered if has_more else called & answered))


def side(item: Mapping[str, Any], settled_calls: frozenset[str] = frozenset()) -> Role:
    """Who speaks in an item."""
    kind = kind_of(item)
    if kind == "message":
        role = item.get("role")
        found = side_of(role, ROLES)
        if found is None:
            said = "no role" if role is None else f"the role {role!r}"
            raise BadMessage(f"This message has {said}. Responses know {', '.join(map(repr, ROLES))}: set one of them.")
        return found
    if isinstance(item.get("role"), str) and item["role"] in ROLES:  # tools that a developer adds, for instance
        return ROLES[item["role"]]
    return "user" if kind in _USERS or (is_output(kind) and not _is_hosted(item, settled_calls)) else "assistant"


def _is_hosted(output: Mapping[str, Any], settled_calls: frozenset[str]) -> bool:
    """Whether the provider itself made this output: it answers a call of its own, or names none at all."""
    call = call_of(output)
    return call in settled_calls if call is not None else kind_of(output).removesuffix("_output") not in OURS


def role_of(items: Sequence[Mapping[str, Any]]) -> Role:
    """Who speaks in all of them; items of several sides are several messages."""
    inside = settled(items)
    roles = list(dict.fromkeys(side(item, inside) for item in items))
    if len(roles) > 1:
        raise BadMessage(
            f"These items are of several sides ({', '.join(roles)}). Append what each side said as its own message."
        )
    return roles[0] if roles else "assistant"


def turns(items: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """The items of a request as messages of ours: each answer of the model whole, everything else one by one."""
    inside = settled(items)
    for is_answer, group in groupby(items, key=lambda item: side(item, inside) == "assistant"):
        if is_answer:
            yield list(group)
        else:
            yield from ([item] for item in group)
