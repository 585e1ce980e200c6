"""Everything that happens between "the user spoke" and "ready to send", and when the answer comes back.

Steps: generators that yield what they need from outside. They decide nothing about size (`folding.decide` does) and
nothing about bytes (the dialects do).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contextfold import dialects, tokens
from contextfold.domain import (
    Attached,
    Draft,
    Message,
    Text,
    View,
    check_view,
    decode,
    encode,
)
from contextfold.errors import CannotFit, InvalidRequest
from contextfold.folding import (
    LEAST_TURN,
    Conversation,
    Decision,
    Made,
    Report,
    Signals,
    Steps,
    Strategy,
    cache_effect,
    fold_until_it_fits,
    longest_answer,
    record,
    spent_at,
    tell,
)
from contextfold.layers import LayerUse
from contextfold.summaries import fold_notice
from contextfold.thread import binding
from contextfold.thread.rendering import UNMARKED, Rendering
from contextfold.toolbox import ToolUse

from . import ahead, attaching, compacting, gating, noting
from .desk import Desk, Frame, Surroundings
from .hooks import FoldNotice, journal
from .request import Request

INTERRUPTED_TURN = "[The tool calls above were interrupted. Go on without their results.]"

# Models without prefill reject a request that ends with their own words.
CONTINUE = "[Go on from here.]"


def surround(desk: Desk, given: Surroundings) -> None:
    """Take over what the caller says about system, tools and the answer's length."""
    if given.system is not None:
        desk.layering.system = given.system
    system, tools = desk.layering.surrounded(noting.framed(desk)), gating.definitions(desk, given.tools)
    tools = desk.frame.tools if tools is None else tools
    cost = tokens.fixed_cost(system, tools, desk.counter)
    desk.frame = Frame(system, tools, given.output, cost.system, cost.tools, cost.request)


def prepare(
    desk: Desk, given: Surroundings, dialect: str | None, settings: Mapping[str, object], cache: bool = False
) -> Steps[Request]:
    """Decide, fold if needed, check, render: a request that fits, or `CannotFit`."""
    surround(desk, given)
    dialect = dialects.suited(dialect, desk.model) if dialect else desk.dialect
    desk.spoken = dialect
    yield from compacting.let_go(desk)
    yield from hand_over(desk, dialect)
    noting.refresh(desk)
    attached = yield from attaching.ask(desk, may_fold=True)
    before = desk.view()
    decision = desk.decide(before)
    desk.conversation = Conversation(dialect, decision.used, lambda: _whole(desk, dialect, settings, before, cache))
    made = Made()
    if decision.will_fold:
        made = yield from fold(desk, decision)
        attached += yield from attaching.ask(desk, may_fold=False)
        if made.folds and (tools := gating.released(desk)) is not None:
            surround(desk, Surroundings(tools=tools, output=given.output))
        if attached.made:  # what was attached again is not folded at once
            desk.signals = Signals(spent=spent_at(desk.decide(), decision.goal))
    elif decision.action == "warn" and not desk.was_warned:
        desk.was_warned = True
        yield from tell(desk.hooks.on_warning, decision)
    elif decision.action == "ahead":
        ahead.want(desk, decision)
    if decision.action == "send":
        desk.was_warned = False
    now = yield from _fitting(desk, decision, made)
    view = desk.view() if made.folds else before
    outcome = Outcome(decision, now, before, view, made)
    desk.request = _request(desk, dialect, settings, outcome, cache, attached)
    desk.books.prepared(desk.thread, view, desk.budget(), desk.frame.tokens, desk.now())
    return desk.request


def fold(desk: Desk, decision: Decision) -> Steps[Made]:
    """Run the policy's stages, and tell whoever listens of each fold."""
    made = Made()
    if decision.trigger == "ahead":
        made = yield from ahead.settle(desk)
    if decision.trigger != "ahead" or not desk.decide().fits:
        stages, last = _stages(desk, decision)
        made += yield from fold_until_it_fits(desk, decision, stages, last)
    desk.signals = Signals()
    desk.signals = Signals(spent=spent_at(desk.decide(), decision.goal))
    _journal(desk, decision, made)
    for each in made.folds:
        line = fold_notice(each.kind, each.messages or each.blocks, each.before, each.after, desk.language())
        yield from tell(desk.hooks.on_fold, FoldNotice(each, decision.trigger, desk.model, desk.instructions, line))
    return made


def _journal(desk: Desk, decision: Decision, made: Made) -> None:
    facts = {"thread": desk.thread.name, "model": desk.model.name, "trigger": decision.trigger}
    for each in made.folds:
        sizes = {"messages": each.messages, "blocks": each.blocks, "before": each.before, "after": each.after}
        journal(logging.INFO, "folded", fold=each.id, kind=each.kind, **facts, **sizes)
    for attempt in made.attempts:
        if attempt.refusal is not None:
            level = logging.WARNING if attempt.strategy == "summarizer" else logging.DEBUG
            journal(level, "refused", strategy=attempt.strategy, reason=attempt.refusal.value, **facts)


def _stages(desk: Desk, decision: Decision) -> tuple[Sequence[Strategy], Sequence[Strategy]]:
    policy = desk.policy
    if not policy.automatic and decision.trigger != "explicit":
        return (), policy.last_resort
    if decision.only:
        return [stage for stage in policy.stages if stage.name == decision.only], policy.last_resort
    return policy.stages, policy.last_resort


def _fitting(desk: Desk, decision: Decision, made: Made) -> Steps[Decision]:
    """The decision on what came of folding, once it fits."""
    now = desk.decide() if made.folds or made.attempts else decision
    if not now.fits:
        error = _cannot_fit(desk, now)
        journal(logging.WARNING, "cannot fit", thread=desk.thread.name, limit=error.limit, parts=error.parts)
        yield from tell(desk.hooks.on_cannot_fit, error)
        raise error
    return now


def _cannot_fit(desk: Desk, now: Decision) -> CannotFit:
    if now.second is None or now.used > now.usable:
        return CannotFit(desk.parts(), desk.budget().whole)
    return CannotFit(desk.second_parts(now.second.trigger), now.second.threshold - 1, now.second.trigger)


class Outcome(NamedTuple):
    """What deciding and folding came to: the decision and the view, before and after."""

    first: Decision
    now: Decision
    before: View
    view: View
    made: Made


def report_of(
    outcome: Outcome, losses: tuple[str, ...] = (), layers: tuple[LayerUse, ...] = (), tools: ToolUse | None = None
) -> Report:
    first, now, before, after, made = outcome
    cache = cache_effect(before, after, made.reasoning_dropped, made.reasoning_left) if made.folds else None
    return Report(
        first.trigger,
        first.reason,
        first.used,
        now.used,
        now.usable,
        tuple(made.folds),
        tuple(made.attempts),
        cache,
        after.count,
        losses,
        layers,
        tools,
    )


def _request(
    desk: Desk,
    dialect: str,
    settings: Mapping[str, object],
    outcome: Outcome,
    cache: bool,
    attached: attaching.Attaching,
) -> Request:
    model, view, used = desk.model, outcome.view, outcome.now.used
    output = longest_answer(model, desk.budget(), used, desk.frame.output)
    rendering = _rendering(desk, dialect)
    compaction, betas = compacting.options(desk, dialect)
    fields = _fields(desk, dialect, output, {**compaction, **settings})
    if desk.policy.reasoning == "drop_block" and binding.is_bound(model):
        fields = rendering.dialect.dropping_stale(fields)
    betas = (*betas, *rendering.dialect.betas(fields))
    marks = _marks(desk, rendering, view) if cache else UNMARKED
    body = rendering.body(view, desk.thread.lens, fields, marks)
    _check(desk, dialect, view, body)
    layers, tools = noting.uses(desk, attached.made), gating.used(desk, used)
    report = report_of(outcome, rendering.losses(view, fields), layers, tools)
    raw = view.tokens() + desk.frame.tokens
    told = attached.made, attached.left_out, rendering.prefix(view), betas
    return Request(body, model.name, dialect, report, view.head, raw, *told)


def _whole(desk: Desk, dialect: str, settings: Mapping[str, object], view: View, cache: bool) -> bytes:
    """The request as it would be without folding, for a summary by the same model: its provider has most of it."""
    rendering, fields = _rendering(desk, dialect), _fields(desk, dialect, LEAST_TURN, settings)
    marks = _marks(desk, rendering, view) if cache else UNMARKED
    return rendering.body(view, desk.thread.lens, fields, marks)


def _rendering(desk: Desk, dialect: str) -> Rendering:
    return desk.thread.rendering(dialect, binds=binding.is_bound(desk.model))


def _marks(desk: Desk, rendering: Rendering, view: View) -> dialects.Marks:
    return rendering.dialect.marks(view, desk.model, desk.frame.tokens, rendering.unchanged(view))


def _fields(desk: Desk, dialect: str, output: int, settings: Mapping[str, object]) -> Mapping[str, object]:
    """Everything of a request but its messages. An answer's length is said where it must be, or was asked for."""
    wire = dialects.find(dialect)
    fields: dict[str, object] = {"model": desk.model.name}
    fields |= wire.length(output, desk.model, is_asked=desk.frame.output is not None)
    if desk.frame.system:
        fields["system"] = desk.frame.system
    if desk.frame.tools:
        fields["tools"] = desk.frame.tools
        fields |= gating.option(desk, dialect)
    return wire.merged(fields, settings)


def _check(desk: Desk, dialect: str, view: View, body: bytes) -> None:
    """The whole request once for each array of a view, then only what was appended to it: flat per turn."""
    if desk.checked[0] is not view.array or desk.checked[1] != dialect:
        problems = dialects.find(dialect).check(decode(body))
        desk.checked, desk.checked_length = (view.array, dialect), view.length
    else:
        start = view.cut_at_or_before(max(0, desk.checked_length - 1))
        problems = check_view(view.array.items[start : view.length])
        desk.checked_length = view.length
    if problems:
        desk.checked = (None, "")
        listing = "; ".join(f"{problem.path}: {problem.rule}. {problem.advice}" for problem in problems[:3])
        raise InvalidRequest(f"The request would be rejected: {listing}")


def hand_over(desk: Desk, dialect: str) -> Steps[None]:
    """Make it the model's turn. What is added is recorded, so that it stays where the model saw it.

    Asking while calls are open means going on without them: a result that comes later stays late.
    """
    view = desk.view()
    if not view.length:
        raise InvalidRequest("Nothing was said yet. Append a message before preparing a request.")
    if view.open_calls:
        yield from attach(desk, "interrupted", INTERRUPTED_TURN)
    elif not dialects.find(dialect).takes_prefill and _last_speaker(desk, dialect, view) == "assistant":
        yield from attach(desk, "continue", CONTINUE)


def _last_speaker(desk: Desk, dialect: str, view: View) -> str:
    return _rendering(desk, dialect).last_speaker(view, desk.thread.lens)


def attach(desk: Desk, kind: str, text: str) -> Steps[None]:
    """Add something for the model at the end of the view."""
    event = Attached(kind, desk.counter.shape(Message("user", (Text(text),))))
    yield from record(lambda now: [Draft(event, now.head, desk.now(), encode(text))])


def fold_now(desk: Desk, instructions: str, to: int | None) -> Steps[Report]:
    """Fold because somebody asked: down to a size, or as far as is usual."""
    desk.signals, desk.instructions = Signals(asked=True, to=to), instructions
    before = desk.view()
    decision = desk.decide(before)
    try:
        made = yield from fold(desk, decision)
    finally:
        desk.signals, desk.instructions = Signals(), ""
    after = desk.view()
    return report_of(Outcome(decision, desk.decide(after), before, after, made))
