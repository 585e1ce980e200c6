"""What the model named in a request takes, by the version in its name. An unknown name is held to what all take."""

from __future__ import annotations

import re

from contextfold.dialects.wire import Json

from .turns import Allowed

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
