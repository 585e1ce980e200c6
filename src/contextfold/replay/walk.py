"""One recorded session through one policy, turn by turn: what would have been sent, and what came of it.

Before each answer of the recording a request is prepared as if it were about to be sent. What the agent said stays what
it said: a replay shows what a policy sends, not what an agent would have done with it.
"""

from __future__ import annotations

import os
import time
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from contextfold import dialects
from contextfold.domain import Appended, Folded, View
from contextfold.errors import CannotFit, InvalidRequest
from contextfold.folding import Policy, Report, reserve_of
from contextfold.logs import MemoryLog, open_sqlite
from contextfold.models import Model, find
from contextfold.one_turn import count
from contextfold.session import Request, Session, Surroundings
from contextfold.session.desk import MOST_BORROWED
from contextfold.session.preparation import surround
from contextfold.store import Store
from contextfold.store import open as open_store

from .measures import Tally, ViewSnapshot, recallable, retained, snapshot
from .recorded_session import RecordedSession
from .spool import Spool
from .values import FULL, Folding, Kind, Retained, Row, Settings

THREAD = "replay"
WORDS = 4 * 2**20  # bytes that are kept of what was said: a few windows full, however long the session is
UNBOUNDED = 2**31  # a window nothing reaches: for rows that fold nothing by themselves

# Their summaries are a model's: here the digest stands in for its words, and the call is priced.
WRITTEN_BY_MODELS = frozenset({"roo_code", "claude_code", "summary", "hybrid", FULL})


class RecordedClock(Struct):
    """The time a recording says, so that caches go cold where they did; the real one as long as it says none."""

    at: float | None = None

    def __call__(self) -> float:
        return time.time() if self.at is None else self.at

    def move(self, at: float | None) -> None:
        """Go on to a recorded time, never back."""
        if at is not None:
            self.at = at if self.at is None else max(self.at, at)


class WalkTerms(Struct, frozen=True):
    """What one session is replayed with."""

    sitting: RecordedSession
    settings: Settings
    policy: Policy
    kind: Kind
    window: int
    usable: int  # of the window, without the room for an answer
    unseen: int  # tokens of each request that the recording does not show

    @property
    def most(self) -> int:
        """The largest request that fits: stand-ins may borrow from the room for the answer, up to a share of it."""
        return self.usable + (self.window - self.usable) // MOST_BORROWED


class Walk:
    """The state of one session on its way through one policy."""

    def __init__(self, terms: WalkTerms, session: Session, tally: Tally, clock: RecordedClock) -> None:
        self.terms, self.sitting = terms, terms.sitting
        self.session, self.desk, self.tally, self.clock = session, session.desk, tally, clock
        self.seqs = array("q")  # of the turns, in their order
        self.context = array("q")  # tokens of each request
        self.places = array("q")  # and the turn that answered it
        self.foldings: list[Folding] = []
        self.pending: ViewSnapshot | None = None  # what the newest folding left in view, judged when its time is over
        self.invalid = self.unfit = self.refused = 0

    def say(self, place: int) -> None:
        """Append a turn of the recording, at its time."""
        turn = self.sitting.turns[place]
        self.clock.move(turn.at)
        self.seqs.append(self.session.append(turn.raw))

    def turn_of(self, seq: int) -> int | None:
        """The turn that was appended as this seq."""
        place = bisect_left(self.seqs, seq)
        return place if place < len(self.seqs) and self.seqs[place] == seq else None

    def ask(self, place: int) -> Request | None:
        """Prepare the request that this answer answered; None where nothing fits, or it was the product's own."""
        self.clock.move(self.sitting.turns[place].at)
        if self.terms.kind == "recorded":
            self._count(place)
            return None
        try:
            request = self.session.prepare(
                system=self.sitting.system or None,
                tools=self.sitting.tools or None,
                max_tokens=self.terms.settings.max_tokens,
            )
        except CannotFit:
            self.refused += 1
            return None
        except InvalidRequest:
            self.invalid += 1
            return None
        report = request.report
        if report.folds:
            self._pay(report, self.tally.held(self.sitting.turns[place].at))
        self._count(place)
        if report.folds:
            kinds: dict[str, int] = dict(Counter[str](fold.kind for fold in report.folds))
            messages, blocks = sum(fold.messages for fold in report.folds), sum(fold.blocks for fold in report.folds)
            sizes = report.before + self.terms.unseen, report.after + self.terms.unseen
            self.note(Folding(place, len(self.context), report.trigger, report.reason, kinds, messages, blocks, *sizes))
        if self.terms.kind == "policy" and (
            request.report.folds or len(self.context) % self.terms.settings.check_every == 0
        ):
            self.examine(request)
        return request

    @property
    def fixed(self) -> int:
        """Tokens of each request beside its messages, seen and unseen."""
        return self.desk.turn.frame.tokens + self.terms.unseen

    def _count(self, place: int) -> None:
        total = self.tally.request(self.session.view, self.fixed, self.sitting.turns[place].at)
        self.context.append(total)
        self.places.append(place)
        self.unfit += total > self.terms.most

    def _pay(self, report: Report, held: int) -> None:
        """Pay the calls made only to fold: as a model was asked, or as the recipe's model would have been."""
        before = report.before + self.terms.unseen
        for attempt in report.attempts:
            self.tally.summary(0, attempt.input_tokens, attempt.output_tokens)
        if self.terms.policy.summarizer is None and self.terms.policy.name in WRITTEN_BY_MODELS:
            for fold in report.folds:
                if fold.kind == "summary":
                    read = min(held, before)
                    self.tally.summary(read, before - read, self.desk.count_text(fold.text))

    def note(self, folding: Folding) -> None:
        """Write a folding down; what it kept is judged later."""
        self.judge(folding.turn)
        self.foldings.append(folding)
        if self.terms.settings.retention:
            notes, reading = self.sitting.notes, self.desk.thread.lens
            self.pending = snapshot(self.session.view, reading, notes, folding.turn, self.turn_of)

    def judge(self, end: int) -> None:
        """Say what the newest folding kept of what was needed up to here."""
        if self.pending is None:
            return
        start, seen, self.pending = self.pending.place, self.pending, None
        if self.terms.kind == "policy" and self.sitting.is_after_compaction(start):
            return  # the agent itself no longer had everything, so what it used says little
        upto = min([end, *(each for each in self.sitting.compacted if each > start)])
        self.foldings[-1] = replace(self.foldings[-1], retained=retained(self.sitting.notes, seen, upto))

    def examine(self, request: Request) -> None:
        """Check and count the very bytes that would be sent."""
        body = request.body
        if dialects.find(request.dialect).check(body):
            self.invalid += 1
        elif "messages" in body:
            parts = body.get("system"), body.get("tools")
            recounted = count(body["messages"], model=self.desk.model.name, system=parts[0], tools=parts[1]).tokens
            self.unfit += recounted + self.terms.unseen > self.terms.most >= self.context[-1]

    def answer(self, place: int) -> None:
        """Append an answer, and count it."""
        self.say(place)
        event = self.desk.thread.branch.events[self.seqs[-1] - 1].event
        if isinstance(event, Appended):
            self.tally.answer(self.desk.counter.tokens(event.shape))

    @property
    def view(self) -> View:
        return self.session.view


# What happens ahead of a turn, and who is told after it: the walk, and the turn's number from 0.
Step: TypeAlias = Callable[[Walk, int], None]


def walk(
    sitting: RecordedSession,
    policy: Policy,
    settings: Settings,
    *,
    kind: Kind = "policy",
    before: Step | None = None,
    after: Step | None = None,
    store: str | os.PathLike[str] | None = None,
    thread: str = THREAD,
) -> Row:
    """Replay one session. With `store` it is written to that file, as this thread, and stays there."""
    started = time.process_time()
    model, clock = model_of(sitting, settings), RecordedClock()
    unseen = min(sitting.unseen, model.window // 2)  # no client would fill more of so small a window by itself
    free = replace(model, window=model.window - unseen)
    with _opened(sitting, clock) if store is None else open_store(store) as opened:
        session = Session.on(opened, thread, model.name, policy)
        session.thread.lens.keep_at_most(WORDS)
        session.thread.lens.assume(replace(model, window=UNBOUNDED, media=None) if kind == "recorded" else free)
        surround(session.desk, Surroundings(sitting.system or None, sitting.tools or None, settings.max_tokens))
        usable = model.window - reserve_of(free, settings.max_tokens)
        terms = WalkTerms(sitting, settings, policy, kind, window=model.window, usable=usable, unseen=unseen)
        state = Walk(terms, session, Tally(model), clock)
        _turns(state, before, after)
        return _row(state, started)


@contextmanager
def _opened(sitting: RecordedSession, clock: RecordedClock) -> Iterator[Store]:
    """A store for one walk: in memory, or for a recording too long for that in a file that is gone afterwards."""
    if not (isinstance(sitting.turns, Spool) and sitting.turns.is_on_disk):
        with Store(MemoryLog(), clock=clock) as store:
            yield store
        return
    with TemporaryDirectory(prefix="contextfold-") as folder:
        log = open_sqlite(Path(folder, "replay.db"))
        with Store(log, clock=clock) as store, log.deferring(), log.batch():
            yield store


def model_of(sitting: RecordedSession, settings: Settings) -> Model:
    """The model a session is replayed for, with the window that was asked for."""
    model = find(settings.model or sitting.model)
    return model if settings.window is None else replace(model, window=settings.window, assumed=False)


def _turns(state: Walk, before: Step | None, after: Step | None) -> None:
    turns = len(state.sitting.turns)
    spoke = ""
    request: Request | None = None
    for place in range(turns):
        if before is not None:
            before(state, place)
        role = state.sitting.roles[place]
        if role == "assistant" and spoke not in ("", "assistant"):
            request = state.ask(place)
        if role == "assistant":
            state.answer(place)
        else:
            state.say(place)
        spoke = role
        if after is not None:
            after(state, place)
    state.judge(turns)
    if request is not None and (state.terms.kind != "policy" or not request.report.folds):
        state.examine(request)


def _row(state: Walk, started: float) -> Row:
    terms, sitting, tally = state.terms, state.sitting, state.tally
    thread = state.session.thread
    lost = sum(thread.message(seq).raw != turn.raw for seq, turn in zip(state.seqs, sitting.turns, strict=True))
    folds = [entry.event for entry in thread.events if isinstance(entry.event, Folded)]
    offloads = sum(event.details.get("trigger") == "door" for event in folds)
    kept = sum((folding.retained or Retained() for folding in state.foldings), Retained())
    return Row(
        file=sitting.file,
        session=sitting.name,
        number=sitting.number,
        format=sitting.format,
        policy=terms.policy.name,
        kind=terms.kind,
        model=tally.model.name,
        window=terms.window,
        usable=terms.usable,
        turns=len(sitting.turns),
        requests=len(state.context),
        invalid=state.invalid,
        unfit=state.unfit,
        refused=state.refused,
        lost=lost,
        folds=len(folds) - offloads,
        offloads=offloads,
        tokens=sum(state.context),
        peak=tally.peak,
        read=tally.read,
        written=tally.written,
        output=tally.output,
        breaks=tally.breaks,
        cost=tally.priced,
        unseen=terms.unseen,
        calls=tally.calls,
        bills=len(sitting.bills),
        billed=sitting.billed,
        paid=sitting.paid,
        retained=kept,
        recallable=recallable(state.session, state.seqs),
        cpu=time.process_time() - started,
        context=tuple(state.context),
        places=tuple(state.places),
        foldings=tuple(state.foldings),
        defects=sitting.defects,
    )
