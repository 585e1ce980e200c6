"""The tools of a session: which definitions are sent, what was visible when, and which calls were refused.

The caller carries calls out and asks `toolbox.enforce` before; here the same is asked when an answer arrives, so that a
refusal is on record and the result of a refused call cannot enter the thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from contextfold import dialects
from contextfold.domain import Detail, Draft, Message, Projection, ToolsProjected, encode
from contextfold.errors import Refused
from contextfold.folding import Steps, content_of, record
from contextfold.toolbox import Ruling, ToolList, ToolUse, enforce, tool_use

from .desk import Desk, Tools
from .noting import state_of

PROJECTION = "projection"


def definitions(desk: Desk, given: Tools) -> Tools:
    """The definitions for the next request; None where they stay as they were."""
    layering, before = desk.layering, desk.frame.tools
    if given is None:
        layering.is_changed = False
        return None
    if not isinstance(given, ToolList):
        layering.tools, layering.waits = None, False
        layering.is_changed = before is not None and list(given) != list(before)
        return given
    layering.tools = given
    differs = before is not None and list(given.definitions) != list(before)
    # Providers reject calls in the history when no tool at all is defined, so an empty list never replaces another.
    may_go = given.is_forced and bool(given.definitions)
    layering.waits = differs and given.mode == "projected" and not may_go
    layering.is_changed = differs and not layering.waits
    return None if layering.waits else list(given.definitions)


def released(desk: Desk) -> Tools:
    """The list that waited for a fold, now that there was one and the cache is written anew anyway."""
    layering = desk.layering
    if not layering.waits or layering.tools is None or not layering.tools.definitions:
        return None
    grown = layering.tools.tokens - desk.frame.tool_tokens
    now = desk.decide()
    if now.used + max(0, grown) * 2 > now.usable:
        return None
    return replace(layering.tools, is_forced=True)


def used(desk: Desk, tokens: int) -> ToolUse | None:
    """What this request does about tools, for its report."""
    layering = desk.layering
    if layering.tools is None:
        return None
    prompt = max(0, tokens - desk.frame.tool_tokens)
    differs = layering.waits or (layering.tools.mode == "projected" and layering.is_changed)
    if layering.tools.mode == "stable":
        names = [each["name"] for each in layering.tools.definitions]
        differs = names != list(layering.tools.visible)
    return tool_use(
        layering.tools,
        prompt,
        desk.model.prices,
        is_changed=layering.is_changed,
        differs=differs,
        waits=layering.waits,
    )


def option(desk: Desk, dialect: str) -> Mapping[str, Any]:
    """The provider's own way of allowing only some of the tools it was told of, where it was asked for."""
    chosen = desk.layering.tools
    if chosen is None or not chosen.by_option or not chosen.hidden:
        return {}
    return dialects.find(dialect).allowing(chosen.visible, desk.model)


# -- audit ------------------------------------------------------------------------------------------------------------


def visibility(desk: Desk, now: Projection) -> list[Draft]:
    """What the model could see and why not more, where that is not what was written last."""
    chosen = desk.layering.tools
    if chosen is None:
        return []
    hidden = {name: [why.rule, why.reason] for name, why in sorted(chosen.hidden.items())}
    body = encode({"visible": chosen.visible, "hidden": hidden})
    details: dict[str, Detail] = {
        "kind": PROJECTION,
        "mode": chosen.mode,
        "phase": chosen.phase.value,
        "environment": chosen.environment.value,
        "tokens": chosen.tokens,
        "waits": desk.layering.waits,
    }
    event = ToolsProjected(chosen.visible, details)
    last = next((each for each in reversed(now.events) if _is_projection(each.event)), None)
    if last is not None and last.event == event and desk.thread.lens.words(last.seq) == body:
        return []
    return [Draft(event, now.head, desk.now(), body)]


def _is_projection(event: object) -> bool:
    return isinstance(event, ToolsProjected) and event.details.get("kind") == PROJECTION


def rulings(desk: Desk, message: Message) -> Sequence[Ruling]:
    """The calls of an answer that the tools in force do not allow."""
    if desk.layering.tools is None or not message.calls:
        return ()
    state, tools = state_of(desk), desk.layering.tools.tools
    ruled = (enforce(call, state, tools) for call in message.calls)
    return [each for each in ruled if not each.is_allowed]


def refusals(desk: Desk, refused: Iterable[Ruling], parent: int) -> list[Draft]:
    """Each refusal as an event."""
    visible = desk.layering.tools.visible if desk.layering.tools is not None else ()
    return [
        Draft(
            ToolsProjected(visible, {"refused": ruling.call.id, "tool": ruling.call.name, "rule": ruling.rule}),
            parent,
            desk.now(),
            encode({"reason": ruling.reason, "text": ruling.text}),
        )
        for ruling in refused
    ]


def refuse(desk: Desk, ruling: Ruling) -> Steps[None]:
    """Put on record that a call was refused when it was about to be carried out."""
    if not ruling.is_allowed and desk.layering.refusals.of(desk.thread).get(ruling.call.id) != ruling.text:
        yield from record(lambda now: refusals(desk, [ruling], now.head))


def gate(desk: Desk, message: Message) -> None:
    """Refuse the result of a call that was refused: whatever it says, it should not have happened."""
    if not message.results:
        return
    known = desk.layering.refusals.of(desk.thread)
    for result in message.results:
        if result.call in known and content_of(result) != known[result.call]:
            raise Refused(result.call, known[result.call])
