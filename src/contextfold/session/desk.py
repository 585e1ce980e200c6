"""A session's desk: its thread and its policy, laid out for the steps that work on them.

Answers what steps ask about the thread as it is now: its view, its budget, what to do about them, where its tokens are.
What changes from turn to turn belongs to the parts in `turn`, `books` and `layer_state`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any, Literal, TypeVar

from msgspec.structs import replace

from contextfold.dialects import OPENINGS
from contextfold.domain import (
    Attached,
    Counter,
    Detail,
    Folded,
    Logged,
    Message,
    NewEvent,
    Sent,
    Text,
    View,
    ViewItem,
    digest,
    hidden_by,
    is_person,
    subject_of,
)
from contextfold.errors import CannotFit, ContextFoldError
from contextfold.folding import (
    LEAST_TURN,
    Breaker,
    Budget,
    FoldDecision,
    PlannedFold,
    Policy,
    Rates,
    Signals,
    Situation,
    Standing,
    budget_for,
    decide,
    rates_of,
    sent,
    sent_below,
    text_of_fold,
)
from contextfold.models import Model
from contextfold.summaries import Language, NotebookShelf, beginning_of, language_of
from contextfold.thread import Drafting, Thread, body_digest
from contextfold.thread.request_bytes import DETAIL as PREFIX

from .books import Books
from .layer_state import LayerDisplay, NoteState
from .request import AskedTerms, Natives, Request, compaction_request, compacts_at, compacts_on_demand
from .telemetry import Hook, Hooks
from .turn import Attachers, Background, CurrentTurn, Guard, Memo, OpenRequests, OwnedList, ToolGate

LOOSE = "what is kept before it"  # the one part of a request that folding can still make smaller
_OPENERS = [Message("user", (Text(text),)) for text in OPENINGS.values()]
MOST_BORROWED = 2  # stand-ins may take one part in so many of the room for the answer
LANGUAGE_SAMPLE = 8  # of the user's first messages decide the language of a thread's stand-ins

T = TypeVar("T")


class Desk:
    """A session's thread and policy, and the parts that change with its turns; the desk itself never changes."""

    def __init__(
        self, thread: Thread, policy: Policy, hooks: Hooks | None = None, artifacts: Path | None = None
    ) -> None:
        self.lens = thread.lens  # how its items are read and weighed for the model
        self.thread, self.policy, self.hooks, self.artifacts = thread, policy, hooks or Hooks(), artifacts
        self.alone, self.write_first, self.now = thread.alone, thread.write_first, thread.now
        self.turn, self.requests, self.owned = CurrentTurn(), OpenRequests(), OwnedList()
        self.books = Books(policy)  # the money
        self.background = Background()  # the summary that is being written meanwhile
        self.breaker = Breaker()  # whether summarizers are asked at all
        self.guard = Guard()
        self.shelf = NotebookShelf()  # what the newest digest was made of
        self.attachers = Attachers()
        self.tools = ToolGate()
        self.notes, self.display = NoteState(), LayerDisplay()
        self.natives = Natives(thread)
        # A progress indicator and `prepare` ask the same, one after another, and most of it is as it was a turn before.
        self._budgets: Memo[Budget] = Memo()
        self._decisions: Memo[FoldDecision] = Memo()
        self._openings: Memo[int] = Memo()
        self._digests: Memo[list[str]] = Memo()
        self.terms: Memo[AskedTerms] = Memo()

    def trial(self) -> Desk:
        """A twin to try folds on: nothing reaches the log, nobody is told, and no model is asked for a summary."""
        policy = self.policy.with_(summarizer=None, fallback=("extractive",), economy=None)
        twin = Desk(self.thread.trial(), policy)
        twin.turn, twin.requests, twin.shelf = copy(self.turn), self.requests.copy(), NotebookShelf(self.shelf)
        return twin

    @property
    def model(self) -> Model:
        return self.lens.model

    @property
    def dialect(self) -> str:
        return self.lens.dialect

    @property
    def counter(self) -> Counter:
        return self.lens.counter

    @property
    def on_progress(self) -> Hook:
        return self.hooks.on_progress

    def resume(self) -> None:
        """Learn again what earlier bills taught, and refuse a configuration in which nothing could fit."""
        self.thread.catch_up()
        self.lens.learn_again()
        self.check()

    def check(self) -> None:
        """Refuse system and tools that leave no room for the shortest turn."""
        budget = self.budget()
        if budget.limit < LEAST_TURN:
            raise CannotFit({"the shortest turn": LEAST_TURN, **self.fixed_parts()}, budget.whole)

    def overflowed(self, limit: int | None) -> None:
        """Fold next time, and believe a provider that says how much it takes."""
        self.turn.signal(Signals(overflow=limit or 0))
        self.lens.assume(self.model.after_overflow(self.decide().used, limit))

    def compacts_at(self, dialect: str) -> int:
        """From which size on the provider compacts by itself; 0 where it does not."""
        return compacts_at(self.policy, self.model, self.budget(), dialect)

    def compaction(self, planned: PlannedFold) -> tuple[Mapping[str, Any], str]:
        """The request that has the provider compact what a fold is to hide, and its dialect."""
        dialect, frame = self.turn.dialect or self.dialect, self.turn.frame
        return compaction_request(self.thread, planned, dialect, frame.system, frame.tools), dialect

    def view(self) -> View:
        """What the model sees next, as far as the log was looked at."""
        return self.thread.branch.view(self.lens)

    def look(self) -> None:
        """Take what others wrote: once, when a verb begins."""
        self.thread.catch_up()

    @property
    def looks_before_writing(self) -> bool:
        """Whether to look before a message is written. A trip is saved where the log is far away: it knows what it
        writes on, and answers that somebody else wrote. Results are checked against what is known of their calls."""
        return self.tools.tools is not None or not self.lens.is_far

    def budget(self, view: View | None = None) -> Budget:
        """How much a request may hold beside what surrounds the messages of a view, the present one unless given."""
        lens, frame = self.lens, self.turn.frame
        model, output, most = lens.model, frame.output, self.policy.limit
        fixed = lens.calibration.around(frame.tokens + self.opening_tokens(view))
        asked = model, fixed, output, most
        return self._budgets.of(asked, lambda: budget_for(model, fixed=fixed, output=output, most=most))

    def opening_tokens(self, view: View | None = None) -> int:
        """Raw tokens of the words that dialects put in front of a view that begins with the model's own."""
        shown = self.view() if view is None else view
        items, counter, first = shown.array.items, self.lens.counter, ""
        for place in range(shown.length):
            first = items[place].shape.role
            if first != "system":
                break
        if first != "assistant":
            return 0
        return self._openings.of(counter, lambda: max(counter.tokens(counter.shape(each)) for each in _OPENERS))

    def decide(self, view: View | None = None, budget: Budget | None = None) -> FoldDecision:
        """What to do about a view and its budget, the present ones where none are given."""
        shown, turn, lens, books = self.view() if view is None else view, self.turn, self.lens, self.books
        model, calibration, ahead = lens.model, lens.calibration, self.background.ahead
        stays = shown.array, turn.frame, model, calibration, turn.signals
        if ahead is None and (held := books.held(stays, shown, lens)) is not None:
            return sent(*held)
        budget = self.budget(shown) if budget is None else budget
        at, fixed = self.now(), turn.frame.tokens
        state: Literal["", "working", "ready"] = "" if ahead is None else "ready" if ahead.is_ready else "working"
        compacts_at = 0 if self.policy.native == "off" else self.compacts_at(turn.dialect or self.dialect)

        def decided(standing: Standing | None) -> FoldDecision:
            signals = turn.signals
            if standing is not None or compacts_at or state:
                signals = replace(signals, standing=standing, compacts_at=compacts_at, ahead=state)
            return decide(shown, budget, self.policy, model, signals)

        standing = books.standing(self.thread, shown, budget, fixed, at, even_if_quiet=False)
        asked = *stays, shown.length, budget, compacts_at, state
        decision = self._decisions.of((*asked, standing), lambda: decided(standing))
        if standing is None and decision.trigger and books.economy is not None:  # what it costs counts after all
            standing = books.standing(self.thread, shown, budget, fixed, at)
            decision = self._decisions.of((*asked, standing), lambda: decided(standing))
        elif standing is None and decision.action == "send" and ahead is None and shown.length:
            books.hold(stays, shown, budget, sent_below(budget, self.policy, model, turn.signals))
        return decision

    def rates(self, tokens: int) -> Rates:
        """What a request of this size pays for each token, by the model's prices and by what bills show."""
        return rates_of(self.model, tokens, self.books.account.cache)

    def situation(self, decision: FoldDecision) -> Situation:
        view = self.view()
        return Situation(
            self.budget(),
            self.model,
            decision.used,
            decision.goal,
            decision.trigger,
            factor=self.lens.calibration.factor,
            language=self.language(),
            instructions=self.turn.instructions,
            count=self.count_text,
            weigh=self.weigh_block,
            subject=self.subject,
            previous=self._summaries(view),
            behind=lambda fold: hidden_by(self.thread.branch, fold),
            notebook=lambda folds: self.shelf.find(folds, self.erasures()),
            read=self.lens.read,
            is_forced=decision.is_forced,
            conversation=self.turn.conversation,
            compacts=lambda dialect: compacts_on_demand(self.model, dialect),
        )

    def keep(self, planned: PlannedFold, fold: int) -> None:
        """A fold was written: the next digest goes on with the notebook of this one."""
        if planned.summary is not None and planned.notebook is not None:
            self.shelf.keep(planned.notebook, planned.summary, fold, self.erasures())

    def _summaries(self, view: View) -> dict[int, str]:
        """Texts of folds whose stand-ins show and tell what they hide; markers and notices tell only that they do."""
        events = self.thread.branch.events
        shown = [item.seq for item in view.items if item.kind == "stand_in"]
        folds = [(seq, event) for seq in shown if isinstance(event := events[seq - 1].event, Folded)]
        return {
            seq: text_of_fold(event, self.lens.stand_in(seq).text)
            for seq, event in folds
            if event.kind == "summary" or (event.kind == "prune" and event.details.get("account") != "notice")
        }

    def count_text(self, text: str) -> int:
        return self.counter.block_tokens(self.counter.shape(Message("user", (Text(text),))).blocks[0].measure)

    def weigh_block(self, item: ViewItem, block: int) -> int:
        return self.counter.block_tokens(item.shape.blocks[block].measure)

    def subject(self, item: ViewItem) -> object:
        """What an attachment is about."""
        event = self.thread.branch.events[item.seq - 1].event
        return subject_of(event) if isinstance(event, Attached) else None

    def language(self) -> Language:
        """Chosen once: stand-ins of one thread speak one language."""
        if self.turn.language is not None:
            return self.turn.language
        users = [m for m in self.view().messages if m.kind == "message" and m.role == "user"]
        if not users:
            return "en"
        return self.turn.speak_of(language_of(beginning_of(each.message) for each in users[:LANGUAGE_SAMPLE]))

    def is_on_branch(self, seq: int) -> bool:
        return self.thread.branch.is_on_path(seq)

    def last_seq(self) -> int:
        return self.thread.branch.last

    def erasures(self) -> int:
        return self.lens.erasures

    def write(self, drafting: Drafting, blobs: Sequence[bytes] = ()) -> tuple[Logged, ...]:
        """Write what is drafted, and before it the requests that got no answer; mostly there are none."""
        if self.requests.unanswered:
            self.write_unanswered()
        return self.thread.write(drafting, blobs=blobs)

    def write_unanswered(self) -> None:
        """Keep the requests of which it is known by now that no answer came."""
        waiting = self.requests.write_down()
        blobs = [blob for each in waiting for blob in each.record.blobs]
        told = {"unanswered": True}
        self.thread.write(lambda now: [self.sent(each, told, now.head) for each in waiting], blobs=blobs)

    def leave(self) -> None:
        """Nobody will answer here any more; what cannot be written now was nobody's words."""
        self.requests.drop()
        if self.requests.unanswered:
            with suppress(ContextFoldError):
                self.write_unanswered()

    def sent(self, request: Request, facts: Mapping[str, Detail], head: int) -> NewEvent:
        """What the log keeps of a request: enough to write it again, and why it is as it is."""
        report, record = request.report, request.record
        details: dict[str, Detail] = {"reason": report.reason, "raw": request.raw_tokens}
        if request.prefix:
            details[PREFIX] = request.prefix
        details.update(facts)
        is_as_sent = record.times_forgotten == self.lens.times_forgotten
        frame = record.system, record.tools, record.terms  # mostly those of the request before
        system, tools, terms = self._digests.of(frame, lambda: [digest(each) if each else "" for each in frame])
        event = Sent(
            request.head,
            request.model,
            request.dialect,
            report.after,
            self.lens.calibration.factor,
            system,
            tools,
            details,
            terms if is_as_sent or not record.pieces else "",
            (record.digest or _digest(request)) if is_as_sent else "",
            record.marks,
        )
        return NewEvent(event, head, self.now(), record.pieces if is_as_sent else b"")

    def parts(self) -> Mapping[str, int]:
        """Where the tokens of a request that does not fit are."""
        view, calibration = self.view(), self.lens.calibration
        live = live_request(view)
        stay = (
            place
            for place, item in enumerate(view.array.items[:live])
            if item.shape.role == "system" or item.seq in view.pinned
        )
        must = sum(view.tokens(place, place + 1) for place in stay)
        sizes = {
            "the live request": calibration.scaled(view.tokens(live)),
            "pins and system messages": calibration.scaled(must),
            LOOSE: calibration.scaled(view.tokens(0, live) - must),
            **self.fixed_parts(),
        }
        return {name: size for name, size in sizes.items() if size}

    def borrowing(self, now: FoldDecision) -> FoldDecision:
        """The decision where stand-ins that are all that is too much take their room from the answer.

        It then may be a little shorter: a request is refused only where what nobody may fold exceeds the window by
        itself.
        """
        if now.fits or now.second is not None:
            return now
        budget = self.budget()
        if budget.most is not None and now.used > budget.most:
            return now
        stand_ins = self.parts().get(LOOSE, 0)
        may_borrow = now.used - now.usable <= stand_ins <= budget.reserve // MOST_BORROWED
        return replace(now, usable=now.used) if may_borrow else now

    def cannot_fit(self, now: FoldDecision) -> CannotFit:
        """Why a request that was folded as far as possible is refused."""
        if now.second is None or now.used > now.usable:
            return CannotFit(self.parts(), self.budget().whole)
        return CannotFit(self.second_parts(now.second.trigger), now.second.threshold - 1, now.second.trigger)

    def second_parts(self, unit: str) -> Mapping[str, int]:
        """Where the bytes or the images of a request are."""
        view = self.view()
        live = live_request(view)
        sizes = [item.shape.size if unit == "bytes" else item.shape.images for item in view.items]
        return {"the live request": sum(sizes[live:]), LOOSE: sum(sizes[:live])}

    def fixed_parts(self) -> Mapping[str, int]:
        """What every request of this session holds, whatever was said."""
        calibration = self.lens.calibration
        sizes = {
            "system": calibration.scaled(self.turn.frame.system_tokens),
            "tools": calibration.scaled(self.turn.frame.tool_tokens),
            "the request by itself": calibration.scaled(self.turn.frame.request_tokens + self.opening_tokens()),
            "what its provider adds": max(0, calibration.around(0)),
            "room for the answer": self.budget().reserve,
        }
        return {name: size for name, size in sizes.items() if size}


def _digest(request: Request) -> str:
    """Of the bytes that went out, as far as they are kept; where nothing there is secret, only what is new is read."""
    body, series = request.record.body, request.series
    if series is not None and body is request.json:
        return series.digest(body)
    return body_digest(body) if body else ""


def live_request(view: View) -> int:
    """Where the newest turn of a person begins: what is asked now, and everything after it."""
    for index in range(view.length - 1, -1, -1):
        if is_person(view.item(index)):
            return index
    return 0
