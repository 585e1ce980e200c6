"""Everything that happens between "the user spoke" and "ready to send": decide, fold if needed, check, write.

Steps: generators that yield what they need from outside. They decide nothing about size (`folding.decide` does) and
nothing about bytes (the dialects do).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from contextfold import dialects, tokens
from contextfold.domain import View, decode, encode, refuse_deep
from contextfold.errors import BadConfiguration, InvalidRequest
from contextfold.folding import (
    LEAST_TURN,
    Budget,
    FoldDecision,
    Made,
    Report,
    Signals,
    Steps,
    WholeRequest,
    after_folds,
    fold_until_it_fits,
    longest_answer,
    record,
    tell,
)
from contextfold.session import answer
from contextfold.summaries import fold_notice, go_on_text, interrupted_text
from contextfold.thread import RequestPart, RequestTerms, parts_of
from contextfold.thread.request_bytes import UNMARKED, Rendering, is_bound

from . import attachments, notes, tools
from .attachments import NOTHING, AskedAttachments, attach
from .desk import Desk
from .layer_state import surrounded, without_sections
from .request import AskedTerms, FoldOutcome, Request, RequestRecord, refuse_misspelled, report_of
from .telemetry import FoldNotice, journal, journal_folds
from .turn import RequestFrame, Surroundings

MOST_UNANSWERED = 8  # requests that are held until something else is written
_SYSTEMS = (str, list, tuple)
_MOST_ROUNDS = 8  # of others who go on speaking while a request is folded


def surround(desk: Desk, given: Surroundings) -> None:
    """Take over what the caller says about system, tools and the answer's length."""
    turn, frame = desk.turn, desk.turn.frame
    if given.system is not None and not isinstance(given.system, _SYSTEMS):
        kind = type(given.system).__name__
        raise BadConfiguration(f"'system' is a string or a list of text blocks; this is a {kind}. Pass its words.")
    own = turn.system if given.system is None else given.system
    system = surrounded(own, notes.framed(desk)) if desk.thread.branch.notes else own
    tools = desk.tools.take(given.tools, frame.tools)
    tools = frame.tools if tools is None else tools
    # Written anew at each turn: what a caller gave, such as a list of tools, may be changed where it stands.
    written = encode(system) if system else b"", encode(tools) if tools else b""
    if not frame.is_for(system, tools, given.output, *written):
        cost = tokens.fixed_cost(system, tools, desk.counter, written)
        sizes = cost.system, cost.tools, cost.request
        frame = RequestFrame(system, tools, given.output, *sizes, *written, cost.tokens, True)
    turn.surround(own, frame)


def remember(desk: Desk) -> None:
    """Go on with system and tools of the newest request, as within one process: what is left out stays as it was."""
    system, tools = desk.thread.surroundings()
    if system is not None and desk.thread.branch.notes:
        system = without_sections(system, notes.framed(desk))
    if system is not None or tools is not None:
        surround(desk, Surroundings(system, tools))


def prepare(
    desk: Desk, given: Surroundings, dialect: str | None, settings: Mapping[str, object], cache: bool | None = None
) -> Steps[Request]:
    """Decide, fold if needed, check, render: a request that fits, or `CannotFit`."""
    turn = desk.turn
    if settings:
        refuse_misspelled(settings)
        refuse_deep(settings, "setting")
    if len(desk.requests.unanswered) >= MOST_UNANSWERED:
        yield from record(lambda _now: ())
    if cache is None:  # wanted where the provider keeps a prompt only if it is marked, and bills what it keeps for less
        kept = desk.lens.model.cache
        cache = kept is not None and kept.kind == "explicit"
    surround(desk, given)
    dialect = dialects.suited(dialect, desk.lens.model) if dialect else desk.lens.dialect
    turn.speak(dialect)
    if desk.natives.live():
        yield from answer.let_go(desk)
    before = desk.view()
    if (words := words_before_an_answer(desk, before, dialect)) is not None:
        yield from attach(desk, *words)
        before = desk.view()
    attached = NOTHING
    if desk.thread.branch.notes or desk.tools.tools is not None or desk.attachers.all:
        attached = yield from _attached(desk)
        before = desk.view()
    budget = desk.budget(before)
    decision = desk.decide(before, budget)
    turn.propose(WholeRequest(dialect, decision.used, lambda: _whole(desk, dialect, settings, before, cache)))
    made, view, now = Made(), before, decision
    if decision.will_fold:
        made = yield from fold(desk, decision)
        again = yield from _attached_again(desk, decision, made, given)
        attached = attached + again if again.made or again.left_out else attached
    elif decision.action == "warn" and turn.warn():
        facts = {"thread": desk.thread.name, "policy": desk.policy.name, "used": decision.used}
        journal(logging.INFO, "nearly full", **facts)
        yield from tell(desk.hooks.on_warning, decision)
    elif decision.action == "ahead":
        desk.background.want(decision)
    if decision.action == "send":
        turn.calm()
    else:  # something may have been folded, and others may have spoken meanwhile
        made += yield from _caught_up(desk, dialect, before)
        view = desk.view()
        budget = desk.budget(view)
        now = desk.decide(view, budget)
    if not now.fits:
        now = yield from _fitting(desk, now)
    outcome = FoldOutcome(decision, now, before, view, made)
    request = _request(desk, settings, outcome, budget=budget, cache=cache, attached=attached)
    desk.requests.ask(request)
    desk.books.prepared(desk.thread, view, budget, turn.frame.tokens, desk.now())
    return request


def _caught_up(desk: Desk, dialect: str, before: View) -> Steps[Made]:
    """Others who write to the thread may have spoken while this request was folded: make it the model's turn anew."""
    made = Made()
    for _ in range(_MOST_ROUNDS):
        now = desk.view()
        if (now.array is before.array and now.length == before.length) or _last_message(now) == _last_message(before):
            break
        before = now
        if (words := words_before_an_answer(desk, now, dialect)) is not None:
            yield from attach(desk, *words)
        decision = desk.decide()
        if not decision.fits:
            made += yield from fold(desk, decision)
    return made


def _last_message(view: View) -> int:
    return next((item.seq for item in reversed(view.items) if item.kind == "message"), 0)


def fitted(
    desk: Desk,
    given: Surroundings,
    dialect: str,
    *,
    may_fold: bool = True,
    whole: Callable[[View], bytes] | None = None,
    is_shown: bool = True,
    seen: str = "",
) -> Steps[FoldOutcome]:
    """Decide and fold as `prepare` does, for a request that is written elsewhere: nothing is added to the view.

    The request is taken for sent, so that its answer is written with what it cost. Without `may_fold` it is only
    weighed, whatever its size. `whole` writes the request as it would be without another fold; a summary's
    writer may read it where it `is_shown`, and `seen` is kept with what it writes.
    """
    turn = desk.turn
    surround(desk, given)
    turn.speak(dialects.suited(dialect, desk.model))
    before = desk.view()
    decision = desk.decide(before)
    made, now = Made(), decision
    if may_fold:
        write = whole or (lambda view: _whole(desk, turn.dialect, {}, view, False))
        turn.propose(WholeRequest(turn.dialect, decision.used, lambda: write(before), is_shown, seen))
        if decision.will_fold:
            made = yield from fold(desk, decision)
        elif decision.action == "ahead":
            desk.background.want(decision)
        now = yield from _fitting(desk, desk.decide())
    view = desk.view()
    outcome = FoldOutcome(decision, now, before, view, made)
    prefix = ""
    if is_bound(desk.model):
        rendering = _rendering(desk, turn.dialect)
        rendering.agreed(view, desk.lens, rendering.settings(_fields(desk, turn.dialect, LEAST_TURN, {})))
        prefix = rendering.prefix(view)
    raw = view.tokens() + turn.frame.tokens
    report = report_of(outcome)
    forgotten = desk.lens.times_forgotten
    kept = RequestRecord(system=turn.frame.system_json, tools=turn.frame.tools_json, times_forgotten=forgotten)
    request = Request(b"", desk.model.name, turn.dialect, report, view.head, raw_tokens=raw, prefix=prefix, record=kept)
    desk.requests.ask(request)
    desk.books.prepared(desk.thread, view, desk.budget(), turn.frame.tokens, desk.now())
    return outcome


def _attached(desk: Desk) -> Steps[AskedAttachments]:
    """What whoever knows something for the model adds now."""
    notes.refresh(desk)
    if not desk.attachers.all:
        return NOTHING
    return (yield from attachments.ask(desk, may_fold=True))


def _attached_again(desk: Desk, decision: FoldDecision, made: Made, given: Surroundings) -> Steps[AskedAttachments]:
    """What a fold took from the view and is to stand there; and a list of tools that waited for a fold."""
    asked = NOTHING
    if desk.attachers.all:
        asked = yield from attachments.ask(desk, may_fold=False)
    if made.folds and desk.tools.waits and (released := tools.released(desk)) is not None:
        surround(desk, Surroundings(tools=released, output=given.output))
    if asked.made:  # what was attached again is not folded at once
        desk.turn.signal(after_folds(desk.decide(), decision.goal, len(made.folds)))
    return asked


def fold(desk: Desk, decision: FoldDecision) -> Steps[Made]:
    """Run the policy's stages, and tell whoever listens of each fold."""
    made = Made()
    if decision.trigger == "ahead":
        made = yield from desk.background.settle(desk, desk.thread.branch.is_on_path)
    if decision.trigger != "ahead" or not desk.decide().fits:
        made += yield from fold_until_it_fits(desk, decision)
    instructions = desk.turn.instructions
    desk.turn.signal(Signals(), instructions)
    desk.turn.signal(after_folds(desk.decide(), decision.goal, len(made.folds)), instructions)
    journal_folds(made, desk.thread, decision.trigger)
    for each in made.folds:
        line = fold_notice(each.kind, each.messages or each.blocks, each.before, each.after, desk.language())
        yield from tell(desk.hooks.on_fold, FoldNotice(each, decision.trigger, desk.model, instructions, line))
    return made


def _fitting(desk: Desk, now: FoldDecision) -> Steps[FoldDecision]:
    """The decision on the request as it will be sent, which fits."""
    now = desk.borrowing(now)
    if not now.fits:
        error = desk.cannot_fit(now)
        journal(logging.WARNING, "cannot fit", thread=desk.thread.name, limit=error.limit, parts=error.parts)
        yield from tell(desk.hooks.on_cannot_fit, error)
        raise error
    return now


def _request(
    desk: Desk,
    settings: Mapping[str, object],
    outcome: FoldOutcome,
    *,
    budget: Budget,
    cache: bool,
    attached: AskedAttachments,
) -> Request:
    dialect = desk.turn.dialect
    view, used, frame, lens = outcome.view, outcome.now.used, desk.turn.frame, desk.lens
    model, rendering = lens.model, _rendering(desk, dialect)
    output = longest_answer(model, budget, used, frame.output, streams=settings.get("stream") is True)
    marks = _marks(desk, rendering, view) if cache else UNMARKED
    terms = _terms(desk, rendering, output, settings, marks)
    bare = b"" if terms.kept is terms.sent else rendering.body(view, lens, terms.kept, marks)
    body = rendering.body(view, lens, terms.sent, marks)
    desk.guard.check(rendering.dialect, view, body)
    layers = notes.uses(desk, attached.made) if desk.display.showing.sections else ()
    told_tools = None if desk.tools.tools is None else tools.used(desk, desk.tools.tools, used)
    report = report_of(outcome, rendering.losses(view, terms.sent), layers, told_tools, attached.made)

    def origins() -> tuple[RequestPart, ...]:
        writer = rendering if rendering.is_at(view) else rendering.twin()
        return desk.alone(lambda: parts_of(writer, view, lens, writer.body(view, lens, terms.sent, marks), marks))

    return Request(
        body,
        model.name,
        dialect,
        report,
        view.head,
        raw_tokens=view.tokens() + frame.tokens,
        attached=attached.made,
        left_out=attached.left_out,
        prefix=rendering.prefix(view),
        betas=terms.betas,
        series=rendering.series,
        record=RequestRecord(
            bare or body, terms.blob, frame.system_json, terms.tools, marks.items, lens.times_forgotten
        ),
        origins=origins,
    )


def _terms(
    desk: Desk, rendering: Rendering, output: int, settings: Mapping[str, object], marks: dialects.Marks
) -> AskedTerms:
    """What this request says beside its messages; mostly what the one before it said."""
    turn, given, betas = desk.turn, settings, tuple[str, ...]()
    if desk.policy.native != "off" or desk.natives.live():
        native, betas = answer.compaction_options(desk, turn.dialect)
        given = {**native, **settings}
    written = encode(given) if given else b""
    asked = turn.frame, turn.dialect, desk.lens.model, desk.tools.tools, output, written, betas, marks.frame, marks.end
    return desk.terms.of(asked, lambda: _terms_anew(desk, rendering, output, given, betas, marks))


def _terms_anew(
    desk: Desk,
    rendering: Rendering,
    output: int,
    settings: Mapping[str, object],
    betas: tuple[str, ...],
    marks: dialects.Marks,
) -> AskedTerms:
    """As it is sent; and as the log keeps it, without keys of servers and headers of calls."""
    fields = _fields(desk, desk.turn.dialect, output, settings)
    if desk.policy.reasoning == "drop_block" and is_bound(desk.model):
        fields = rendering.dialect.dropping_stale(fields)
    betas = (*betas, *rendering.dialect.betas(fields))
    sent = kept = rendering.settings(fields)
    others = {name: value for name, value in fields.items() if name not in ("system", "tools")}
    bare, tools = dialects.without_secrets(others), desk.turn.frame.tools_json
    bare_tools = dialects.tools_without_secrets(tools)
    if bare is not others or bare_tools is not tools:
        fields = {name: bare.get(name, fields[name]) for name in fields if name in bare or name not in others}
        fields |= {} if bare_tools is tools else {"tools": decode(bare_tools)}
        kept = rendering.settings(fields)
    return AskedTerms(sent, kept, betas, encode(RequestTerms.of(fields, betas, marks)), bare_tools)


def _whole(desk: Desk, dialect: str, settings: Mapping[str, object], view: View, cache: bool) -> bytes:
    """The request as it would be without folding, for a summary by the same model: its provider has most of it."""
    rendering, fields = _rendering(desk, dialect), _fields(desk, dialect, LEAST_TURN, settings)
    return rendering.body(view, desk.lens, fields, _marks(desk, rendering, view) if cache else UNMARKED)


def _rendering(desk: Desk, dialect: str) -> Rendering:
    return desk.thread.rendering(dialect, binds=is_bound(desk.lens.model))


def _marks(desk: Desk, rendering: Rendering, view: View) -> dialects.Marks:
    return rendering.dialect.marks(view, desk.lens.model, desk.turn.frame.tokens, rendering.marks.unchanged(view))


def _fields(desk: Desk, dialect: str, output: int, settings: Mapping[str, object]) -> Mapping[str, object]:
    """Everything of a request but its messages. An answer's length is said where it must be, or was asked for."""
    wire, frame = dialects.find(dialect), desk.turn.frame
    fields: dict[str, object] = {"model": desk.model.name}
    fields |= wire.length(output, desk.model, is_asked=frame.output is not None)
    if frame.system:
        fields["system"] = frame.system
    if frame.tools:
        fields["tools"] = frame.tools
        if desk.tools.tools is not None:
            fields |= tools.option(desk, desk.tools.tools, dialect)
    return wire.merged(fields, settings)


def words_before_an_answer(desk: Desk, view: View, dialect: str) -> tuple[str, str] | None:
    """The kind and the words of what must be added before it is the model's turn; mostly nothing.

    What is added is recorded, so that it stays where the model saw it. Asking while calls are open means going on
    without them: a result that comes later stays late. Models without prefill reject a request that ends with their
    own words.
    """
    if not view.length:
        raise InvalidRequest("Nothing was said yet. Append a message before preparing a request.")
    if view.open_calls:
        return "interrupted", interrupted_text(desk.language())
    rendering = _rendering(desk, dialect)
    if not rendering.dialect.takes_prefill and rendering.last_speaker(view, desk.lens) == "assistant":
        return "continue", go_on_text(desk.language())
    return None


def fold_now(desk: Desk, instructions: str, to: int | None, *, silently: bool = False) -> Steps[Report]:
    """Fold because somebody asked: down to a size, or as far as is usual. `silently`: whoever listens is not told."""
    desk.turn.signal(Signals(asked=True, to=to), instructions)
    before = desk.view()
    decision = desk.decide(before)
    try:
        if silently:
            made = yield from fold_until_it_fits(desk, decision)
        else:
            made = yield from fold(desk, decision)
    finally:
        desk.turn.signal(Signals())
    after = desk.view()
    return report_of(FoldOutcome(decision, desk.decide(after), before, after, made))
