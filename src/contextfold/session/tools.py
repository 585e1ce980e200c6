"""The tools of a session: which definitions are sent, what was visible when, and which calls were refused.

The caller carries calls out and asks `toolbox.enforce` before; here the same is asked when an answer arrives, so that a
refusal is on record and the result of a refused call cannot enter the thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from contextfold import dialects
from contextfold.domain import Detail, Message, NewEvent, Projection, ToolsProjected, encode
from contextfold.errors import Refused
from contextfold.folding import Steps, content_of, record
from contextfold.toolbox import Ruling, ToolList, ToolUse, enforce, tool_use

from .desk import Desk
from .notes import state_of
from .turn import Tools

PROJECTION = "projection"


def released(desk: Desk) -> Tools:
    """The list that waited for a fold, now that there was one and the cache is written anew anyway."""
    gate = desk.tools
    if not gate.waits or gate.tools is None or not gate.tools.definitions:
        return None
    grown = gate.tools.tokens - desk.turn.frame.tool_tokens
    now = desk.decide()
    if now.used + max(0, grown) * 2 > now.usable:
        return None
    return replace(gate.tools, is_forced=True)


def used(desk: Desk, chosen: ToolList, tokens: int) -> ToolUse:
    """What a request does about these tools, for its report."""
    gate = desk.tools
    prompt = max(0, tokens - desk.turn.frame.tool_tokens)
    differs = gate.waits or (chosen.mode == "projected" and gate.is_changed)
    if chosen.mode == "stable":
        names = [each["name"] for each in chosen.definitions]
        differs = names != list(chosen.visible)
    return tool_use(
        chosen,
        prompt,
        desk.model.prices,
        is_changed=gate.is_changed,
        differs=differs,
        waits=gate.waits,
    )


def option(desk: Desk, chosen: ToolList, dialect: str) -> Mapping[str, Any]:
    """The provider's own way of allowing only some of the tools it was told of, where it was asked for."""
    if not chosen.by_option or not chosen.hidden:
        return {}
    return dialects.find(dialect).allowing(chosen.visible, desk.model)


# -- audit ------------------------------------------------------------------------------------------------------------


def visibility(desk: Desk, now: Projection) -> list[NewEvent]:
    """What the model could see and why not more, where that is not what was written last."""
    chosen = desk.tools.tools
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
        "waits": desk.tools.waits,
    }
    event = ToolsProjected(chosen.visible, details)
    last = next((each for each in reversed(now.events) if _is_projection(each.event)), None)
    if last is not None and last.event == event and desk.lens.words(last.seq) == body:
        return []
    return [NewEvent(event, now.head, desk.now(), body)]


def _is_projection(event: object) -> bool:
    return isinstance(event, ToolsProjected) and event.details.get("kind") == PROJECTION


def rulings(desk: Desk, message: Message) -> Sequence[Ruling]:
    """The calls of an answer that the tools in force do not allow."""
    if desk.tools.tools is None or not message.calls:
        return ()
    state, tools = state_of(desk), desk.tools.tools.tools
    ruled = (enforce(call, state, tools) for call in message.calls)
    return [each for each in ruled if not each.is_allowed]


def refusals(desk: Desk, refused: Iterable[Ruling], parent: int) -> list[NewEvent]:
    """Each refusal as an event."""
    visible = desk.tools.tools.visible if desk.tools.tools is not None else ()
    return [
        NewEvent(
            ToolsProjected(visible, {"refused": ruling.call.id, "tool": ruling.call.name, "rule": ruling.rule}),
            parent,
            desk.now(),
            encode({"reason": ruling.reason, "text": ruling.text}),
        )
        for ruling in refused
    ]


def refuse(desk: Desk, ruling: Ruling) -> Steps[None]:
    """Put on record that a call was refused when it was about to be carried out."""
    if not ruling.is_allowed and desk.tools.refusals.of(desk.thread).get(ruling.call.id) != ruling.text:
        yield from record(lambda now: refusals(desk, [ruling], now.head))


def check_results(desk: Desk, message: Message) -> None:
    """Refuse the result of a call that was refused: whatever it says, it should not have happened."""
    known = desk.tools.refusals.of(desk.thread)
    for result in message.results:
        if result.call in known and content_of(result) != known[result.call]:
            raise Refused(result.call, known[result.call])
