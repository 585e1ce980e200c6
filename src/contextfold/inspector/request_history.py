"""Every request that was ever sent, by its numbers: how large, what was billed, what it would have been unfolded.

Follows the log event by event, so that a request more costs that request.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from contextfold.domain import Folded, LiveBranch, Logged, Measured, Rewound, Sent
from contextfold.errors import NotFound
from contextfold.models import find, paid_for
from contextfold.thread import Thread

_MOST_POINTS = 600  # requests in an overview; of more, the outline is kept


class SentRequest(Struct, frozen=True, omit_defaults=True):
    """A request by its numbers. `number` counts from 1; `billed` and what follows are the provider's, where it told."""

    number: int
    seq: int
    at: float
    head: int
    model: str
    tokens: int  # as counted before it was sent
    reason: str = ""
    is_answered: bool = True
    billed: int | None = None
    read: int | None = None  # of it, from the provider's cache
    written: int = 0  # of it, to the cache
    output: int = 0
    cost: float | None = None  # USD, the answer included
    whole: int | None = None  # tokens of the same request without any fold
    folds: int = 0  # made since the request before
    rewinds: int = 0


class RequestHistory(Struct, frozen=True):
    """The requests of a thread, or so many that their outline shows."""

    total: int
    requests: tuple[SentRequest, ...]
    spent: float  # USD over all requests, as billed
    is_priced: bool


class _Counts(Struct):
    """What happened since the last request."""

    folds: int = 0
    rewinds: int = 0


class Requests:
    """The requests of one thread, followed as it grows."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._branch: LiveBranch | None = None
        self._upto = 0
        self._found: list[SentRequest] = []
        self._places: dict[int, int] = {}  # seq of a request, its place in the list
        self._since = _Counts()
        self._spent, self._is_priced = 0.0, False
        self._seqs: list[int] = []  # of the items on the path, and tokens up to each
        self._sums: list[int] = [0]

    def history(self, fixed: int) -> RequestHistory:
        """All requests, with what each would have weighed without folds; `fixed` is what stands beside messages."""
        self._follow()
        self._weigh()
        chosen = []
        for each in _outlined(self._found):
            whole = None
            if self._thread.branch.is_on_path(each.head):
                said = self._sums[bisect_right(self._seqs, each.head)]
                whole = self._thread.lens.calibration.scaled(said) + fixed
            chosen.append(replace(each, whole=whole))
        return RequestHistory(len(self._found), tuple(chosen), round(self._spent, 6), self._is_priced)

    def at(self, seq: int) -> SentRequest:
        """The request of this seq, or the one that this answer answered."""
        self._follow()
        place = self._places.get(seq, self._places.get(seq - 1))
        if place is None:
            raise NotFound(f"{seq} is no request of this thread, nor the answer to one.")
        return self._found[place]

    def numbered(self, number: int) -> SentRequest:
        """The request of this number, from 1."""
        self._follow()
        if not 1 <= number <= len(self._found):
            raise NotFound(f"There is no request {number}. This thread has {len(self._found)}.")
        return self._found[number - 1]

    @property
    def newest(self) -> SentRequest | None:
        self._follow()
        return self._found[-1] if self._found else None

    @property
    def total(self) -> int:
        return len(self._found)

    # -- following the log ------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        self._thread.catch_up()
        branch = self._thread.branch
        if branch is not self._branch:
            self._branch, self._upto, self._found, self._places = branch, 0, [], {}
            self._since, self._spent = _Counts(), 0.0
        for logged in branch.events[self._upto :]:
            self._take(logged)
        self._upto = branch.last

    def _take(self, logged: Logged) -> None:
        match logged.event:
            case Sent() as sent:
                self._places[logged.seq] = len(self._found)
                self._found.append(
                    SentRequest(
                        len(self._found) + 1,
                        logged.seq,
                        logged.at,
                        sent.head,
                        sent.model,
                        sent.tokens,
                        str(sent.details.get("reason") or ""),
                        sent.is_answered,
                        folds=self._since.folds,
                        rewinds=self._since.rewinds,
                    )
                )
                self._since = _Counts()
            case Measured() as bill if bill.sent in self._places:
                place, prices, paid = self._places[bill.sent], find(bill.model).prices, bill.bill
                cost = None if prices is None or paid is None else paid_for(paid, prices).total
                self._spent += cost or 0.0
                self._is_priced = self._is_priced or cost is not None
                told = {} if paid is None else {"read": paid.read, "written": paid.written, "output": paid.output}
                self._found[place] = replace(self._found[place], billed=bill.billed, cost=cost, **told)
            case Folded():
                self._since.folds += 1
            case Rewound():
                self._since.rewinds += 1
            case _:
                return

    def _weigh(self) -> None:
        """Tokens along the path, item by item; anew where the head moved back."""
        items = self._thread.branch.items.items
        known = len(self._seqs)
        if known > len(items) or (known and items[known - 1].seq != self._seqs[-1]):
            self._seqs, self._sums, known = [], [0], 0
        weigh = self._thread.lens.weigh
        for item in items[known:]:
            self._seqs.append(item.seq)
            self._sums.append(self._sums[-1] + weigh(item))


def _outlined(requests: Sequence[SentRequest]) -> Sequence[SentRequest]:
    """All of them, or of each stretch the smallest, the largest and whichever folded; the newest always."""
    if len(requests) <= _MOST_POINTS:
        return requests
    step = -(-3 * len(requests) // _MOST_POINTS)
    kept: set[int] = {len(requests) - 1}
    for start in range(0, len(requests), step):
        stretch = range(start, min(start + step, len(requests)))
        kept.add(min(stretch, key=lambda at: requests[at].tokens))
        kept.add(max(stretch, key=lambda at: requests[at].tokens))
        folded = next((at for at in stretch if requests[at].folds), None)
        kept |= set() if folded is None else {folded}
    return [requests[at] for at in sorted(kept)]
