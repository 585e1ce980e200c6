"""What only some models take; `Allowed` says which."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextfold.dialects.wire import Json
from contextfold.domain import Problem

from .content import THINKING
from .turns import Allowed, MessagesRequest, calls

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


_NEW = re.compile(r"claude-(opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")
_OLD = re.compile(r"claude-(\d)(?:-(\d{1,2}))?-(opus|sonnet|haiku)")

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
