"""A request that fits and is valid: its bytes, how they came about, and what its provider compacts by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

from msgspec import Struct

from contextfold import dialects
from contextfold.dialects import SETTINGS, RequestSettings
from contextfold.domain import Attachment, Folded, View, decode
from contextfold.folding import Budget, FoldDecision, Made, Native, PlannedFold, Policy, Report, cache_effect
from contextfold.layers import LayerUse
from contextfold.models import Model
from contextfold.thread import RequestPart, Thread
from contextfold.thread.lens import ModelLens
from contextfold.thread.request_bytes import BodySeries
from contextfold.toolbox import ToolUse

# What `prepare` takes itself. Other settings pass as they are, unless they look like these or like a wire format's.
OWN = ("system", "tools", "max_tokens", "dialect", "cache")
RECALLED = "recalled"  # the kind of attachments that auto-recall makes
ALIKE = 0.86  # of their letters: max_token and max_tokens, temprature and temperature


def refuse_misspelled(settings: Iterable[str]) -> None:
    """A setting that looks like a known one is a mistake that its provider would refuse, or worse, ignore."""
    for name in settings:
        meant = [] if name in SETTINGS else get_close_matches(name, (*OWN, *SETTINGS), 1, ALIKE)
        if meant:
            raise TypeError(f"prepare() knows no {name!r}; did you mean {meant[0]!r}?")


class AskedTerms(Struct, frozen=True):
    """What a request says beside its messages, worked out once for each content."""

    sent: RequestSettings
    kept: RequestSettings  # the same without secrets; the very same where there are none
    betas: tuple[str, ...]
    blob: bytes  # what the log keeps of it …
    tools: bytes  # … and of its tools


class RequestRecord(NamedTuple):
    """What the log keeps of a request, so that it can be written again."""

    body: bytes = b""  # without secrets, so nearly always what is sent
    terms: bytes = b""  # all fields but messages, system and tools, as a blob; or the frame of what others wrote
    system: bytes = b""
    tools: bytes = b""
    marks: tuple[int, ...] = ()  # items marked for the provider's cache
    times_forgotten: int = 0  # by then; the digest of words that were forgotten since is not kept
    pieces: bytes = b""  # the messages, where somebody else wrote them
    digest: str = ""  # of the body, where it is known already

    @property
    def blobs(self) -> tuple[bytes, ...]:
        return tuple(filter(None, (self.system, self.tools, self.terms)))


@dataclass(frozen=True, slots=True)
class Request:
    """What `prepare` returns. Sending it is the caller's business."""

    json: bytes  # the whole body, joined from kept bytes
    model: str
    dialect: str
    report: Report
    head: int  # the place in the thread it was made for
    raw_tokens: int = 0  # what was counted, before calibration
    attached: tuple[Attachment, ...] = ()  # what was added for the model on the way
    left_out: tuple[Attachment, ...] = ()  # what had no room
    prefix: str = ""  # the digest of what its messages are, where the model binds its reasoning to that
    betas: tuple[str, ...] = ()  # features that Anthropic wants named: `client.beta.messages.create(betas=…)`

    series: BodySeries | None = field(default=None, repr=False, compare=False)  # each goes on where another ended
    record: RequestRecord = field(default=RequestRecord(), repr=False, compare=False)
    origins: Callable[[], tuple[RequestPart, ...]] = field(default=tuple, repr=False, compare=False)

    @property
    def parts(self) -> tuple[RequestPart, ...]:
        """Where each of its messages comes from: the seq of a message, fold or attachment, and whether it is as it was.

        Worked out when asked, from what the session keeps; in the order of the messages in the body.
        """
        return self.origins()

    @property
    def body(self) -> dict[str, Any]:
        """A fresh decoded copy, ready for an SDK: `client.messages.create(**request.body)`."""
        body: dict[str, Any] = decode(self.json)
        return body


_WEIGHTLESS = ("text", "call", "reasoning")  # blocks that can be neither cleared nor too many


class Reach:
    """How far a decision to send holds: as long as a view only grows, by anything but results and pictures, and stays
    below some sizes, no rule says otherwise and nothing can pay. Then nobody else need be asked."""

    __slots__ = (
        "_asked",
        "_below",
        "_bytes",
        "_fixed",
        "_length",
        "_looked",
        "_most",
        "_raw",
        "_said",
        "keep",
        "usable",
    )

    def __init__(
        self, asked: Sequence[object], view: View, budget: Budget, below: int, more: int, said: int, keep: int
    ) -> None:
        self._asked, self._below, self._fixed = asked, below, budget.fixed
        self._length = self._looked = view.length
        self._raw, self._said = view.tokens(), said
        self._most = self._raw + more
        self._bytes, self.usable = budget.bytes, budget.usable
        self.keep = keep  # raw tokens of results that clearing keeps

    def used(self, asked: Sequence[object], view: View, lens: ModelLens) -> int | None:
        """Tokens of the request that this view makes, where it is sent as it is; None where others must be asked."""
        if asked != self._asked or view.length < self._length:
            return None
        items = view.array.items
        for place in range(self._looked, view.length):
            shape = items[place].shape
            if shape.role == "system":
                return None
            for block in shape.blocks:
                if block.kind not in _WEIGHTLESS:
                    return None
            self._looked = place + 1
        raw = view.tokens()
        used = lens.calibration.scaled(raw) + self._fixed
        if raw > self._most or used >= self._below:
            return None
        size = 0 if self._bytes is None else view.array.totals(lens, view.length)[1]
        return used if self._bytes is None or size <= self._bytes else None

    def said(self, raw: int) -> int:
        """Raw tokens of everything on the branch when the view has so many: both grew by the same."""
        return self._said + raw - self._raw


class FoldOutcome(Struct, frozen=True):
    """What deciding and folding came to: the decision and the view, before and after."""

    first: FoldDecision
    now: FoldDecision
    before: View
    view: View
    made: Made


def report_of(
    outcome: FoldOutcome,
    losses: tuple[str, ...] = (),
    layers: tuple[LayerUse, ...] = (),
    tools: ToolUse | None = None,
    attached: Sequence[Attachment] = (),
) -> Report:
    """What a caller is told of it."""
    first, now, after, made = outcome.first, outcome.now, outcome.view, outcome.made
    cache = cache_effect(outcome.before, after, made.reasoning_dropped, made.reasoning_left) if made.folds else None
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
        sum([_number(each, "hits") for each in attached]) if attached else 0,
        sum([_number(each, "tokens") for each in attached]) if attached else 0,
    )


def _number(attachment: Attachment, name: str) -> int:
    """What an attachment of auto-recall says of itself."""
    value = attachment.details.get(name) if attachment.kind == RECALLED else None
    return value if isinstance(value, int) else 0


LEAST = 50_000  # tokens; the smallest size from which a provider compacts by itself


class Natives:
    """The live folds of what a provider made. Each time only what happened since the last look is looked at."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._found: list[int] = []
        self._seen = 0

    def live(self) -> list[tuple[int, Folded]]:
        projection = self._thread.branch
        events, many = projection.events, len(projection.events)
        for place in range(self._seen, many):
            event = events[place].event
            if isinstance(event, Folded) and event.kind == "native":
                self._found.append(place + 1)
        self._seen = many
        if not self._found:
            return []
        found = [projection.folds[seq] for seq in self._found if seq in projection.folds]
        return [(fold.seq, fold.event) for fold in found if fold.is_live]


def compacts_at(policy: Policy, model: Model, budget: Budget, dialect: str) -> int:
    """From which size on the provider compacts by itself, if the policy prefers that and the model can; else 0."""
    on_demand = any(isinstance(stage, Native) for stage in policy.stages)
    if policy.native != "prefer" or on_demand or dialects.find(dialect).inline not in model.compaction:
        return 0
    firings = [trigger.fires(budget.usable, budget, model) for trigger in policy.triggers]
    at = max(LEAST, min((firing.threshold for firing in firings if firing), default=0))
    return at if at < budget.usable else 0


def compacts_on_demand(model: Model, dialect: str) -> bool:
    """Whether the model's provider compacts when it is asked to, in this dialect."""
    return bool(dialects.known(dialect)) and dialects.find(dialect).on_demand in model.compaction


def compaction_request(
    thread: Thread, planned: PlannedFold, dialect: str, system: object, tools: object
) -> Mapping[str, Any]:
    """The request that has the provider compact what a fold is to hide: the conversation up to there, unchanged."""
    view, covered = thread.view, {*planned.seqs, *planned.folds}
    stop = max(place for place, item in enumerate(view.items) if item.seq in covered) + 1
    fields: dict[str, object] = {"model": thread.model.name}
    if system:
        fields["system"] = system
    rendering = thread.rendering(dialect)
    fields |= rendering.dialect.compaction_settings(tools)
    chunks = rendering.chunks(view, thread.lens)[:stop]
    body: Mapping[str, Any] = decode(rendering.dialect.body(chunks, fields, view.item(0)))
    return body
