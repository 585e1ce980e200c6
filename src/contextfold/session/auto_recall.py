"""Auto-recall: folded passages that the newest words ask about, attached at the end of the view within a budget.

Attached like anything else for the model: earlier bytes stay as they were, and a fold takes it later. It adds nothing
unless a passage holds several of the words, and nothing that the view shows already. Where a policy counts money, it
adds no more than the model's own recall would cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from contextfold import recall
from contextfold.domain import Attached, Attachment, Turn, ViewItem
from contextfold.folding import worth_attaching
from contextfold.store import Store, past_of

from .desk import Desk, live_request
from .request import RECALLED

_LEAST = 150  # tokens: with fewer left nothing is looked for
_WORDS = 2  # of the question that a passage must hold, or all of a shorter one


class AutoRecall:
    """Asked once per turn; between two messages of a person it attaches at most the policy's budget."""

    def __init__(self, store: Store, desk: Desk) -> None:
        self._store, self._desk = store, desk

    def __call__(self, turn: Turn) -> Iterable[Attachment]:
        return self._desk.alone(lambda: tuple(self._attachments(turn)))

    def _attachments(self, turn: Turn) -> Iterator[Attachment]:
        if not any(fold.is_live for fold in self._desk.thread.branch.folds):
            return
        shown = list(self._shown())
        place = live_request(turn.view)
        since = turn.view.item(place).seq if turn.view.length else 0
        used = sum(self._desk.counter.tokens(item.shape) for item in shown if item.seq > since)
        budget = min(self._allowed(turn) - used, turn.room)
        question = self._question(turn, place)
        if budget < _LEAST or not question:
            return
        known = "\n".join(self._desk.lens.read(item).text for item in shown)
        past = past_of(self._store, self._desk.thread.name)
        found = past.about(
            question,
            budget=budget - recall.FRAMED,
            only_folded=True,
            is_known=lambda text: text in known,
            fill=False,
            header=recall.FRAMED,
        )
        least = min(_WORDS, len(recall.asked_terms(question)))
        strong = [passage for passage in found if len(passage.matched) >= least]
        if strong:
            text = recall.framed(strong)
            yield Attachment(RECALLED, text, details={"hits": len(strong), "tokens": turn.count(text)})

    def _allowed(self, turn: Turn) -> int:
        """Tokens that this turn may attach: the policy's, and no more than they are worth."""
        most = self._desk.policy.auto_recall
        if self._desk.policy.economy is None:
            return most
        size = turn.view.tokens() + self._desk.turn.frame.tokens
        return min(most, worth_attaching(size, self._desk.rates(size)))

    def _question(self, turn: Turn, place: int) -> str:
        """What a person said last, and what the model has asked its tools since."""
        if not turn.view.length:
            return ""
        asked = [self._desk.lens.read(turn.view.item(place)).text]
        for at in range(turn.view.length - 1, place, -1):
            item = turn.view.item(at)
            if item.kind == "message" and item.shape.calls:
                asked += [call.arguments for call in self._desk.lens.read(item).calls]
                break
        return "\n".join(asked)

    def _shown(self) -> Iterator[ViewItem]:
        """What was attached before and still shows."""
        events = self._desk.thread.branch.events
        for item in self._desk.view().items:
            event = events[item.seq - 1].event if item.kind == "attachment" else None
            if isinstance(event, Attached) and event.kind == RECALLED:
                yield item
