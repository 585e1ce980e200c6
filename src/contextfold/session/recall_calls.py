"""What a session finds of its own past: for a person by `recall`, for the model by its tools, or unasked.

A call of the tools `recall` and `unfold` is answered with an ordinary tool result, framed as data. Whether it was asked
before, and how much this turn has recalled already, stands in the thread itself, so nothing is kept beside it.

Unasked, passages that the newest words ask about are attached at the end of the view, within a budget. Attached like
anything else for the model: earlier bytes stay as they were, and a fold takes it later. Nothing is added unless a
passage holds several of the words, nor what the view shows already. Where a policy counts money, no more is added than
the call of a model would cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from contextfold import dialects, recall
from contextfold.domain import (
    Appended,
    Attached,
    Attachment,
    Environment,
    Message,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    ViewItem,
    decode,
)
from contextfold.errors import BadMessage, CannotUnfold, NotFound
from contextfold.folding import Steps, worth_attaching
from contextfold.recall import Passage
from contextfold.store import Recollection, Store, past_of
from contextfold.toolbox import definition, parsed, problems, read_call

from . import handles, hidden
from .desk import Desk, live_request
from .request import RECALLED

ANSWER = 2_000  # tokens of one answer
PER_TURN = 8_000  # tokens of all answers between two messages of a person
_LEAST = 200  # a turn with fewer left recalls nothing more
CHEAP = 2_000  # tokens up to which unfolding is not asked about
_NAMES = {tool.name: tool for tool in recall.TOOLS}


class RecallWish(Struct, frozen=True):
    """What to find: by words, by a file, or by the handle of a stand-in; one of them."""

    question: str | None = None
    fold: int | None = None
    seq: int | None = None
    around: int = 0
    path: str | None = None
    budget: int = ANSWER

    def __post_init__(self) -> None:
        if sum(each is not None for each in (self.question, self.fold, self.seq, self.path)) != 1:
            raise TypeError("recall() takes one of: a question, fold=, seq= and path=")


def found(store: Store, desk: Desk, wish: RecallWish) -> Sequence[Passage] | Sequence[Message]:
    """Passages by words or by file; messages, as they were said, by a handle."""
    thread = desk.thread
    if wish.fold is not None:
        return hidden.behind(thread, wish.fold)
    past = _past(store, desk)
    if wish.seq is not None:
        seqs = past.around(wish.seq, wish.around) if wish.around else (wish.seq,)
        return tuple(thread.message(each) for each in seqs)
    if wish.path is not None:
        return past.of_file(wish.path, budget=wish.budget)
    return past.about(wish.question or "", budget=wish.budget)


def _past(store: Store, desk: Desk) -> Recollection:
    past = past_of(store, desk.thread.name)
    if not desk.turn.recalls_reasoning:
        past.places.hide_reasoning()
    return past


# -- tools ----------------------------------------------------------------------------------------------------------


def definitions(desk: Desk, dialect: str | None) -> Sequence[Mapping[str, Any]]:
    """Our tools as a request of this dialect defines them."""
    neutral = [definition(tool, Environment.UNKNOWN) for tool in recall.TOOLS]
    return dialects.defined(neutral, dialect or desk.turn.dialect or desk.dialect)


def answer(store: Store, desk: Desk, given: object) -> Steps[dict[str, Any] | None]:
    """Carry out a call of ours; the message that answers it, or None where the call is somebody else's."""
    try:
        call = read_call(given)
    except BadMessage:
        return None
    if call.name not in _NAMES:
        return None
    told = _misunderstood(call) or _guarded(desk, call)
    if told is None:
        arguments = parsed(call.arguments)
        try:
            if call.name == recall.UNFOLD.name:
                told = yield from _unfolded(desk, arguments)
            else:
                told = _recalled(store, desk, call, arguments)
        except (NotFound, CannotUnfold) as error:
            told = f"[{error}]"
    return _result(desk, call, told)


def _misunderstood(call: ToolCall) -> str | None:
    """What is wrong with a call's arguments, in words that the model reads."""
    try:
        arguments = parsed(call.arguments)
    except ValueError as error:
        return f"[{call.name} was not run: {error}.]"
    found = list(problems(arguments, _NAMES[call.name].schema))
    if not found and call.name == recall.RECALL.name and not {"question", "fold", "seq", "path"} & arguments.keys():
        found = ["give a question, a fold, a seq or a path"]
    return f"[{call.name} was not run: {'; '.join(found[:3])}.]" if found else None


def _guarded(desk: Desk, call: ToolCall) -> str | None:
    """Words in place of an answer, where the same answer is in view already or the turn has recalled enough."""
    if call.name != recall.RECALL.name:
        return None
    twin = _same(desk, call)
    if twin is not None:
        return recall.say("same", desk.language(), tool=call.name, seq=twin)
    return recall.say("spent", desk.language(), budget=PER_TURN) if _left(desk, call) < _LEAST else None


def _same(desk: Desk, call: ToolCall) -> int | None:
    """The message with an earlier call of the same arguments whose answer the model sees, or will see."""
    view, wanted = desk.view(), parsed(call.arguments)
    found = {result.call for result in _shown_answers(desk)} | set(view.open_calls)
    for item in view.items:
        for other in _calls(desk, item):
            if call.id and other.id == call.id:
                return None  # what comes later is not earlier
            if other.id in found and _arguments(other) == wanted:
                return item.seq
    return None


def _calls(desk: Desk, item: ViewItem) -> Iterator[ToolCall]:
    """The calls of recall in one item of the view."""
    name = recall.RECALL.name
    if item.kind == "message" and any(block.kind == "call" and block.name == name for block in item.shape.blocks):
        yield from (call for call in desk.lens.read(item).calls if call.name == name)


def _shown_answers(desk: Desk) -> Iterator[ToolResult]:
    """Answers of recall that the view still shows; words in place of one are none."""
    items = [item for item in desk.view().items if item.kind == "message"]
    ours = {call.id for item in items for call in _calls(desk, item)}
    for item in items:
        if any(call in ours for call in item.shape.results):
            shown = desk.lens.shown(item).blocks
            yield from (block for block in shown if isinstance(block, ToolResult) and recall.is_answer(block))


def _arguments(call: ToolCall) -> dict[str, Any] | None:
    try:
        return parsed(call.arguments)
    except ValueError:
        return None


def _left(desk: Desk, call: ToolCall) -> int:
    """Tokens that this call may use of the turn's: what answers took is gone, what is asked beside it shares."""
    view = desk.view()
    items = [view.item(place) for place in range(live_request(view), view.length)]
    ours = {each.id for item in items for each in _calls(desk, item)}
    blocks = [block for item in items for block in item.shape.blocks if block.kind == "result" and block.call in ours]
    used = sum(desk.counter.block_tokens(block.measure) for block in blocks)
    waiting = (ours & set(view.open_calls)) | {call.id}
    return (PER_TURN - used) // len(waiting)


# -- what is answered -----------------------------------------------------------------------------------------------


def _recalled(store: Store, desk: Desk, call: ToolCall, arguments: Mapping[str, Any]) -> str:
    past, budget = _past(store, desk), min(ANSWER, _left(desk, call))
    question, path = arguments.get("question", ""), arguments.get("path")
    seqs, blocks = _named(desk, past, arguments)
    if seqs and not question:
        return _page(desk, past.pages(seqs, budget=budget, blocks=blocks, header=recall.FRAMED), arguments)
    if path and not question:
        found = past.of_file(path, budget=budget, header=recall.FRAMED)
    else:
        blocks_shown = (block for result in _shown_answers(desk) for block in result.blocks)
        known = "\n".join(block.text for block in blocks_shown if isinstance(block, Text))  # what the view still shows
        found = past.about(
            f"{question} {path}" if path else question,
            budget=budget,
            only_folded=not seqs,
            among=seqs or None,
            is_known=lambda text: text in known,
            fill=False,
            header=recall.FRAMED,
        )
    return recall.framed(found) if found else recall.say("nothing", desk.language())


def _named(
    desk: Desk, past: Recollection, arguments: Mapping[str, Any]
) -> tuple[frozenset[int] | tuple[int, ...], tuple[tuple[int, int], ...]]:
    """The messages behind a handle, and which blocks of them where it hides only parts."""
    if "fold" in arguments:
        fold = handles.fold_here(desk.thread.branch, arguments["fold"])
        return tuple(hidden.seqs_behind(desk.thread, fold)), desk.thread.branch.folds[fold].event.cover.blocks
    if "seq" in arguments:
        seq = handles.message_here(desk.thread.branch, arguments["seq"])
        if not past.places.is_on_branch(seq):  # the model may guess: other branches are not its history
            raise NotFound(f"There is no message {arguments['seq']} in this conversation.")
        return past.around(seq, min(20, max(0, arguments.get("around", 0)))), ()
    return (), ()


def _page(desk: Desk, pages: Sequence[Sequence[Passage]], arguments: Mapping[str, Any]) -> str:
    page = min(max(1, arguments.get("page", 1)), len(pages))
    note = ""
    if len(pages) > 1:
        key = "last" if page == len(pages) else "page"
        note = recall.say(key, desk.language(), page=page, pages=len(pages), next=page + 1)
    return recall.framed(pages[page - 1], note)


def _unfolded(desk: Desk, arguments: Mapping[str, Any]) -> Steps[str]:
    fold = handles.fold_here(desk.thread.branch, arguments["fold"])
    price = hidden.price(desk, fold)
    if price.grown + price.rewritten > CHEAP and not arguments.get("confirm"):
        return recall.say("cost", desk.language(), fold=fold, tokens=price.grown, rewritten=price.rewritten)
    messages = len(hidden.seqs_behind(desk.thread, fold))
    yield from hidden.unfold(desk, fold, make_room=False)
    return recall.say("unfolded", desk.language(), fold=fold, messages=messages)


def _result(desk: Desk, call: ToolCall, text: str) -> dict[str, Any]:
    """The answer as a message in the dialect that the call was written in."""
    message = Message("user", (ToolResult(call.id, (Text(text),), name=call.name),))
    wire = dialects.find(_dialect(desk, call))
    written: dict[str, Any] = decode(wire.chunk(ViewItem(0, "message", desk.counter.shape(message)), message))
    return written


def _dialect(desk: Desk, call: ToolCall) -> str:
    """The dialect of the message that the call stands in; of the newest request where it is not appended."""
    for item in reversed(desk.view().items):
        if call.id and call.id in item.shape.calls:
            event = desk.thread.branch.events[item.seq - 1].event
            return event.dialect if isinstance(event, Appended) else desk.dialect
    return desk.turn.dialect or desk.dialect


_LEAST_ROOM = 150  # tokens: with fewer left nothing is looked for
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
        if budget < _LEAST_ROOM or not question:
            return
        known = "\n".join(self._desk.lens.read(item).text for item in shown)
        past = _past(self._store, self._desk)
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
