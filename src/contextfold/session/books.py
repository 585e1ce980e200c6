"""A session's books: what its requests cost so far, and where the next one stands.

Joins the pure accounts of `folding` with a thread: reads what the last `Sent` event carries, follows the view as it
grows, and knows which part of a request the provider still has in its cache. It decides nothing and writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from contextfold.domain import Appended, Bill, Measured, Sent, View, ViewItem
from contextfold.folding import (
    Account,
    Budget,
    Clear,
    Condense,
    Economy,
    Policy,
    PricedRequest,
    Rates,
    Rents,
    Standing,
    Staying,
    billed_cost,
    rates_of,
)
from contextfold.models import Model, Paid, Prices, find, paid_for
from contextfold.thread import Thread
from contextfold.thread.lens import ModelLens
from contextfold.tokens import Calibration, Drift, Watch

from .request import Reach, Request
from .turn import Memo


class _SentRequest(Struct, frozen=True):
    """A request by its view: the shared array, how much of it was sent, and what surrounded it."""

    view: View
    fixed: int
    account: Account
    at: float
    call: PricedRequest | None = None


class _NextRequest(Struct):
    """The request that would be made now: its price, full history's account with it, where it stands once asked."""

    call: PricedRequest
    rates: Rates
    full: Account
    standing: Standing | None = None


class ThreadCounts:
    """What the events of a thread come to, and the tokens of its branch, counted on from where the last look ended."""

    def __init__(self) -> None:
        self._start_over()
        self.said = 0  # raw tokens of everything on the branch, as if nothing were folded
        self._weighed: tuple[object, int, ViewItem | None] = (None, 0, None)

    def _start_over(self) -> None:
        self.messages = self.requests = self.bills = self.billed = self._read = 0
        self.paid = Paid()  # by kind, and by the prices of the model that each bill was for

    def look(self, thread: Thread) -> None:
        events = thread.branch.events
        if len(events) < self._read:
            self._start_over()
        for entry in events[self._read :]:
            event = entry.event
            if isinstance(event, Appended):
                self.messages += 1
            elif isinstance(event, Sent):
                self.requests += event.is_answered
            elif isinstance(event, Measured):
                self.bills, self.billed = self.bills + 1, self.billed + event.billed
                if prices := find(event.model).prices:
                    self.paid = sum((self.paid, paid_for(event.bill or Bill(event.billed), prices)), Paid())
        self._read = len(events)
        self._weigh(thread)

    def _weigh(self, thread: Thread) -> None:
        """A branch grows, or is cut and grows another way: then its last item is another one, and all is weighed."""
        items, (counter, place, last) = thread.branch.items.items, self._weighed
        is_same = counter is thread.lens.counter and place <= len(items) and (not place or items[place - 1] is last)
        if not is_same:
            self.said, place = 0, 0
        self.said += sum(thread.lens.weigh(item) for item in items[place:])
        self._weighed = thread.lens.counter, len(items), items[-1] if items else None


class Books:
    """The running accounts of one thread under one policy. Flat per turn; a new array is read once."""

    def __init__(self, policy: Policy) -> None:
        clear = next((stage for stage in policy.stages if isinstance(stage, Clear)), Clear())
        self.summary = next((stage for stage in policy.stages if isinstance(stage, Condense)), Condense())
        self.economy, self.rents, self.staying = policy.economy, Rents(clear), Staying()
        self.account = Account()
        self._sent: _SentRequest | None = None
        self._prepared: _SentRequest | None = None
        self._made: tuple[Thread, View, Budget, int, float] | None = None  # prepared, and not worked out yet
        self._then: int | None = None  # raw tokens that were said by then, where nobody priced it yet
        self._reach: Reach | None = None
        self._behind: View | None = None  # decided by the reach, and not followed since
        self._next: Memo[_NextRequest] = Memo()  # whoever asks again before anything happened is told the same
        self._limits: Memo[tuple[int, int]] = Memo()
        self._watch = Watch()
        self._said = _SaidSoFar()
        self._counts = ThreadCounts()
        self._shared: Memo[int] = Memo()  # items at the front that two arrays share
        self._newest: Memo[int] = Memo()  # the newest summary of an array

    def resume(self, thread: Thread, fixed: int) -> None:
        """Go on from the newest request in the log."""
        requests = (entry for entry in reversed(thread.events) if isinstance(entry.event, Sent))
        entry = next((entry for entry in requests if isinstance(entry.event, Sent) and entry.event.is_answered), None)
        if self.economy is None or entry is None or not isinstance(entry.event, Sent):
            return
        later = (each.event for each in reversed(thread.events) if each.seq > entry.seq)
        bills = (each.account for each in later if isinstance(each, Measured) and each.sent == entry.seq)
        self.account = Account.of(next(bills, {}) or entry.event.details)
        head = entry.event.head
        if head and thread.branch.is_on_path(head):
            self._sent = _SentRequest(thread.view_at(head), fixed, self.account, entry.at)

    def standing(
        self, thread: Thread, view: View, budget: Budget, fixed: int, now: float, *, even_if_quiet: bool = True
    ) -> Standing | None:
        """Where the next request stands; None where the policy does not ask, or where nothing can pay anyway."""
        economy = self.economy
        if economy is None:
            return None
        request = self._request(thread, view, budget, fixed, now)
        if request.standing is None:
            lens, call = thread.lens, request.call
            calibration, block_tokens = lens.calibration, lens.counter.block_tokens
            factor = calibration.factor
            keep, instructed = self._limits.of((budget, factor), lambda: self._limits_of(budget, factor))

            def weigh(item: ViewItem, block: int) -> int:
                return block_tokens(item.shape.blocks[block].measure)

            if self._behind is not None and self._reach is not None and self._reach.keep != keep:
                self.rents.follow(self._behind, weigh, self._reach.keep)  # as was kept then
            self._behind = None
            self.rents.follow(view, weigh, keep)
            removable, full = (
                calibration.scaled(self.rents.removable),
                call.fixed + int(request.full.full * call.factor),
            )
            if even_if_quiet or not economy.is_quiet(call.size, full, removable, budget.usable):
                request.standing = self._stand(request, calibration, view, instructed, economy)
        return request.standing

    def held(self, asked: Sequence[object], view: View, lens: ModelLens) -> tuple[int, int] | None:
        """Tokens of the request and those it may use, where the newest decision to send holds for it, too."""
        reach = self._reach
        used = None if reach is None else reach.used(asked, view, lens)
        if reach is None or used is None:
            return None
        self._behind = view
        if self._made is not None and self._made[1].length != view.length:
            self._forget_price()
        return used, reach.usable

    def _forget_price(self) -> None:
        """Somebody asked about another request meanwhile: the one that was made is priced by what was said by now."""
        self._then, self._next = None, Memo()

    def hold(self, asked: Sequence[object], view: View, budget: Budget, below: int) -> None:
        """The request is sent as it is, as all are below this size that nothing can pay for: remember how far."""
        economy, request, limits = self.economy, self._next.newest, self._limits.newest
        self._reach, more, said, keep = None, budget.window, 0, 0
        if view.item(-1).shape.role == "system":  # whoever speaks first may have words put in front
            return
        if economy is not None:
            if request is None or limits is None or request.standing is not None:
                return
            said, keep = request.call.said, limits[0]
            if self.rents.may_change(keep):
                return
            if economy.summaries:
                below = min(below, economy.least_summarized(budget.usable))
                more = self.account.goes_on_for(request.full, request.call, view.tokens())
        self._reach = Reach(asked, view, budget, below, more, said, keep)

    def _stand(
        self, request: _NextRequest, calibration: Calibration, view: View, instructed: int, economy: Economy
    ) -> Standing:
        call, full, account = request.call, request.full, self.account
        scaled, rents, staying = calibration.scaled, self.rents, self.staying
        staying.follow(view)
        return Standing(
            call.size,
            call.fixed,
            call.cached,
            int(full.full * call.factor),
            account.bill,
            full.full_bill,
            scaled(rents.removable),
            call.size - scaled(view.tokens(max(0, rents.first))),
            scaled(rents.rent),
            rents.recalls if rents.removable >= economy.least else 0.0,
            account.rent_before(call),
            scaled(staying.first),
            scaled(staying.newest),
            scaled(staying.pinned + staying.live + min(staying.said, instructed)),
            account.cache,
            call.least,
        )

    def _limits_of(self, budget: Budget, factor: float) -> tuple[int, int]:
        """Raw tokens of results that clearing keeps, and of people's words that a summary does."""
        keep = min(self.rents.clear.keep_tokens, budget.limit // 4)
        return int(keep / factor), int(self.summary.instructed(budget.limit) / factor)

    def prepared(self, thread: Thread, view: View, budget: Budget, fixed: int, now: float) -> None:
        """A request was made; it counts, and is worked out, once it is answered."""
        self._prepared, self._made = None, None if self.economy is None else (thread, view, budget, fixed, now)
        if self._behind is view and self._reach is not None:
            self._then = self._reach.said(view.tokens())

    def _worked_out(self) -> _SentRequest | None:
        if self._made is not None and self.economy is not None:
            thread, view, budget, fixed, now = self._made
            request = self._request(thread, view, budget, fixed, now)
            account = request.full.with_ours(request.call, self.economy, request.rates)
            self._prepared, self._made = _SentRequest(view, fixed, account, now, request.call), None
        return self._prepared

    @property
    def next_account(self) -> Account | None:
        """The account with the prepared request, for the event that records it."""
        prepared = self._worked_out()
        return None if prepared is None else prepared.account

    def settled(self, model: Model, bill: Bill) -> Account | None:
        """The account once the prepared request is paid; a bill tells what it really cost, and what the cache does."""
        prepared = self._worked_out()
        if prepared is None or prepared.call is None or self.economy is None or not bill.input:
            return None if prepared is None else prepared.account
        call = prepared.call.as_billed(bill)
        shares = self.account.cache
        rates = rates_of(model, call.size, shares.shown(call.cached, bill))
        account = replace(self.account.after(call, self.economy, rates), cache=shares.after(call.cached, bill))
        billed = billed_cost(bill, rates) if model.prices is None else _priced(model.prices, bill)
        if billed is None:
            return account
        is_alike = self._sent is None or self._sent.view.array is prepared.view.array
        return account.corrected(self.account, billed, is_alike)

    def answered(self, model: Model, bill: Bill) -> None:
        """The prepared request was sent, and so much was billed."""
        account, prepared = self.settled(model, bill), self._worked_out()
        if account is not None:
            self.account, self._sent, self._prepared = account, prepared, None

    def told(self, thread: Thread) -> ThreadCounts:
        """What everything that happened comes to; another look costs what happened since."""
        self._counts.look(thread)
        return self._counts

    def seen(self, request: Request, billed: int) -> Drift | None:
        """A bill came: how far the counts were off, told once when that is far."""
        self._watch, drift = self._watch.seen(request.model, request.report.after, billed)
        return drift

    # -- one request ----------------------------------------------------------------------------------------------

    def _request(self, thread: Thread, view: View, budget: Budget, fixed: int, now: float) -> _NextRequest:
        lens, sent = thread.lens, self._sent
        kept = lens.model.cache.lifetimes if lens.model.cache is not None else ()
        is_cold = sent is None or (bool(kept) and now - sent.at > kept[0])  # a pause longer than a prompt is kept
        asked = view.array, view.length, budget, fixed, lens.calibration, lens.model, sent, is_cold, self.account
        return self._next.of(asked, lambda: self._priced(thread, view, budget, fixed, is_cold))

    def _priced(self, thread: Thread, view: View, budget: Budget, fixed: int, is_cold: bool) -> _NextRequest:
        sent, account, lens = self._sent, self.account, thread.lens
        said = self._then if self._made is not None and self._made[1] is view else None
        self._then = None
        calibration, model = lens.calibration, lens.model
        raw = view.tokens()
        size = calibration.scaled(raw) + budget.fixed
        cached = 0
        if sent is not None and not is_cold and sent.fixed == fixed:
            cached = max(0, size - calibration.scaled(view.tokens(self._common(sent.view, view))))
        least = model.cache.least or 0 if model.cache is not None else 0
        factor = min(calibration.factor, size / max(1, raw))  # nothing less than nothing is around them
        call = PricedRequest(
            size,
            size - int(raw * factor),  # what calibration found beside the messages, too
            cached if cached >= least else 0,
            self._said.tokens(thread.branch.items.items, lens, view) if said is None else said,
            factor,
            budget.usable,
            self._newest.of(view.array, lambda: _newest_summary(view)),
            is_cold,
            least,
        )
        rates = rates_of(model, size, account.cache)
        return _NextRequest(call, rates, account.with_full_history(call, rates))

    def _common(self, before: View, view: View) -> int:
        """How many items at the front are those of the request before; read once for each pair of arrays."""
        if before.array is view.array:
            return min(before.length, view.length)

        def same() -> int:
            pairs = zip(before.items, view.items, strict=False)
            return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))

        return min(self._shared.of((before.array, view.array), same), view.length)


class _SaidSoFar:
    """Raw tokens of everything on the branch; only what is new is weighed, all of it after a rewind."""

    def __init__(self) -> None:
        self._tokens, self._counted = 0, 0
        self._last: ViewItem | None = None

    def tokens(self, items: Sequence[ViewItem], lens: ModelLens, view: View) -> int:
        many, known = len(items), self._counted
        if known > many or (known and items[known - 1] is not self._last):
            self._tokens = self._counted = known = 0
        if known < many:
            start, shown = view.length - (many - known), view.array.items
            if start >= 0 and shown[start] is items[known] and shown[view.length - 1] is items[-1]:
                self._tokens += view.tokens(start)  # the view ends with all that is new, and has weighed it
            else:
                self._tokens += sum([lens.weigh(items[place]) for place in range(known, many)])
            self._counted, self._last = many, items[-1]
        return self._tokens


def _priced(prices: Prices, bill: Bill) -> float | None:
    """What a bill's input comes to; None where it does not say what came from the cache."""
    return None if bill.read is None else paid_for(bill, prices).input


def _newest_summary(view: View) -> int:
    """The fold id of a summary near the front; it is where the rent of the next one began."""
    for place in range(min(view.length, 16)):
        item = view.item(place)
        if item.kind == "stand_in":
            return item.seq
    return 0
