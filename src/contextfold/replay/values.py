"""What a replay is told and what it finds: settings, a row for each session and policy, the report over all of them.

Plain values that become JSON as they are; `docs/replay.md` explains each field and `schema()` gives the JSON Schema.
Nothing here computes more than a share or a sum.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

VERSION = 2

# "policy": one of ours. "full": the whole history, summarized by a model when it no longer fits: what everything is
# measured against. "recorded": what the product did.
Kind: TypeAlias = Literal["policy", "full", "recorded"]

FULL, RECORDED = "full", "recorded"


class Settings(Struct, frozen=True, kw_only=True):
    """How sessions are replayed. Two replays with the same settings give the same numbers, but for processor time."""

    policies: tuple[str, ...] = ("balanced",)
    window: int | None = None  # input tokens; None: the model's own
    model: str = ""  # empty: the recorded one where it is known and priced, else DEFAULT_MODEL
    max_tokens: int | None = None  # room for each answer; None: what is usual for the model
    retention: bool = True
    check_every: int = 50  # requests between checks of whole bodies; those that folded are always checked
    strict: bool = False  # a damaged line is an error
    reference: bool = True  # rows for the whole history and for the product's own compactions as well


class Share(Struct, frozen=True):
    """So many out of so many."""

    kept: int = 0
    of: int = 0

    @property
    def value(self) -> float | None:
        """From 0 to 1; None where there was nothing to keep."""
        return self.kept / self.of if self.of else None

    def __add__(self, other: Share) -> Share:
        return Share(self.kept + other.kept, self.of + other.of)


class Retained(Struct, frozen=True):
    """What was still in view after folding, of what the agent used later and of what people had asked for."""

    strict: Share = Share()  # names used later that are in view
    grounded: Share = Share()  # … with a line around them like one where they stood before
    imperatives: Share = Share()  # the user's own orders, verbatim or nearly so

    def __add__(self, other: Retained) -> Retained:
        return Retained(
            self.strict + other.strict, self.grounded + other.grounded, self.imperatives + other.imperatives
        )


class Folding(Struct, frozen=True):
    """One time the policy folded: where, why, what it made of it."""

    turn: int  # messages of the session before it, from 0
    request: int  # its number among the requests, from 1
    trigger: str
    reason: str
    kinds: dict[str, int]  # folds made, by kind
    messages: int  # hidden by them as a whole
    blocks: int  # … and in part
    before: int  # tokens of the request
    after: int
    retained: Retained | None = None  # None where too little came after it to judge


class Cost(Struct, frozen=True):
    """US dollars at the model's prices. Made by `Cost.of`, which adds up the total."""

    read: float = 0.0  # input found in the provider's cache
    write: float = 0.0  # input that was not
    summaries: float = 0.0  # calls made only to fold
    output: float = 0.0  # the session's own answers; the same for every policy
    total: float = 0.0

    @classmethod
    def of(cls, read: float = 0.0, write: float = 0.0, summaries: float = 0.0, output: float = 0.0) -> Cost:
        return cls(read, write, summaries, output, read + write + summaries + output)

    @property
    def sending(self) -> float:
        """What a policy can change: everything but the answers."""
        return self.read + self.write + self.summaries

    def __add__(self, other: Cost) -> Cost:
        return Cost.of(
            self.read + other.read,
            self.write + other.write,
            self.summaries + other.summaries,
            self.output + other.output,
        )


class Row(Struct, frozen=True, kw_only=True):
    """One session through one policy."""

    file: str
    session: str
    number: int  # of the session in its file, from 0
    format: str
    policy: str
    kind: Kind = "policy"
    model: str
    window: int
    usable: int = 0  # of the window, without the room for an answer
    turns: int  # messages
    requests: int = 0
    invalid: int = 0  # requests a provider would reject
    unfit: int = 0  # requests that leave less than half of its room for the answer
    refused: int = 0  # times nothing was sent, because the parts that must stay are larger than the window
    lost: int = 0  # messages that cannot be read back byte for byte
    folds: int = 0
    offloads: int = 0  # large outputs put behind a preview as they came
    tokens: int = 0  # input of all requests
    peak: int = 0  # input of the largest
    read: int = 0  # input tokens from the cache
    written: int = 0  # input tokens not from the cache
    output: int = 0  # tokens of the answers
    breaks: int = 0  # requests that changed what had been sent before
    cost: Cost | None = Cost()  # None where the model has no known prices
    unseen: int = 0  # tokens of each request that no log shows: the client's system prompt and tools, by its first bill
    calls: int = 0  # calls to a model made only to fold; `cost.summaries` is what they cost
    bills: int = 0  # answers of the recording that say what was billed
    billed: int = 0  # input tokens of these bills
    paid: Cost | None = None  # what these bills come to; None where there are none, or no prices
    retained: Retained = Retained()  # over all foldings
    recallable: Share = Share()  # messages out of view that a stand-in's handle brings back
    cpu: float = 0.0  # seconds of processor time
    context: tuple[int, ...] = ()  # tokens of each request
    places: tuple[int, ...] = ()  # the turn each request stood before
    foldings: tuple[Folding, ...] = ()
    defects: int = 0  # of the recording itself


class ReplayFailure(Struct, frozen=True):
    """A file, or one policy on one session, that could not be replayed, and why."""

    file: str
    reason: str
    session: str = ""
    policy: str = ""


class Total(Struct, frozen=True, kw_only=True):
    """The sessions that every policy went through, under one of them."""

    policy: str
    kind: Kind
    sessions: int = 0
    requests: int = 0
    invalid: int = 0
    unfit: int = 0
    refused: int = 0
    lost: int = 0
    folds: int = 0
    offloads: int = 0
    tokens: int = 0
    peak: int = 0
    read: int = 0
    written: int = 0
    output: int = 0
    breaks: int = 0
    calls: int = 0
    bills: int = 0
    billed: int = 0
    cost: Cost | None = Cost()
    paid: Cost | None = None  # what the logs of these sessions were billed
    against_full: float | None = None  # `cost.total` as a share of the full history's
    retained: Retained = Retained()
    recallable: Share = Share()
    cpu: float = 0.0


class ReplayReport(Struct, frozen=True, kw_only=True):
    """Everything a replay found."""

    version: int = VERSION
    contextfold: str = ""  # the version that made it
    settings: Settings
    complete: bool = True  # False where it was cut short; what is here is whole
    files: int = 0
    sessions: int = 0  # all that were replayed
    compared: int = 0  # … those that every policy went through; only these are in the totals
    unseen: int = 0  # the median over them of the tokens that logs do not show
    totals: tuple[Total, ...] = ()
    rows: tuple[Row, ...] = ()
    failures: tuple[ReplayFailure, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether no policy of ours sent anything invalid or too large, or lost anything."""
        ours = [total for total in self.totals if total.kind == "policy"]
        return not any(total.invalid or total.unfit or total.lost for total in ours)


class ReplayProgress(Struct, frozen=True):
    """How far a replay is. A session's turns move while it runs; rows count what is finished."""

    files: int  # finished
    of_files: int
    rows: int
    file: str = ""
    session: str = ""
    policy: str = ""
    turn: int = 0
    of_turns: int = 0


def schema() -> dict[str, Any]:
    """The JSON Schema of a report."""
    return msgspec.json.schema(ReplayReport)


def encode_report(report: ReplayReport) -> bytes:
    """The report as JSON."""
    return msgspec.json.encode(report)


def decode_report(data: bytes) -> ReplayReport:
    """A report read back."""
    return msgspec.json.decode(data, type=ReplayReport)
