"""A thread to fold: messages in short words, the situation a strategy is asked in, and its plan carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

import contextfold as cf
from contextfold.dialects import find
from contextfold.domain import (
    Attached,
    Message,
    NewEvent,
    Problem,
    Text,
    ViewItem,
    check_view,
    decode,
    encode,
    subject_of,
)
from contextfold.folding import Budget, Plan, PlannedFold, Situation, Strategy
from contextfold.models import Model
from contextfold.testing.wire import WireMessage
from contextfold.tokens import counter_for

COUNTER = counter_for(None)
WORD = "word "  # counts about one token


def user(text: str) -> WireMessage:
    return {"role": "user", "content": text}


def assistant(text: str) -> WireMessage:
    return {"role": "assistant", "content": text}


def system(text: str) -> WireMessage:
    return {"role": "system", "content": text}


def calls(*ids: str, tool: str = "read_file", thought: str = "", path: str = "") -> WireMessage:
    thinking = [{"type": "thinking", "thinking": thought, "signature": "c2lnbmVk"}] if thought else []
    uses = [{"type": "tool_use", "id": each, "name": tool, "input": {"path": path or f"{each}.py"}} for each in ids]
    return {"role": "assistant", "content": [*thinking, *uses]}


def results(outputs: Mapping[str, object], *, error: bool = False) -> WireMessage:
    flag = {"is_error": True} if error else {}
    return {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": each, "content": output, **flag} for each, output in outputs.items()
        ],
    }


def step(
    name: str, output: object, *, tool: str = "read_file", error: bool = False, path: str = ""
) -> list[WireMessage]:
    """A call and its result."""
    return [calls(name, tool=tool, path=path), results({name: output}, error=error)]


def chat(turns: int, words: int = 20) -> list[WireMessage]:
    """A plain conversation that ends with a question."""
    said = [
        message for n in range(turns) for message in (user(f"q{n} " + WORD * words), assistant(f"a{n} " + WORD * words))
    ]
    return [*said, user("the live question")]


def lines(count: int, mark: str = "line") -> str:
    """An output of about five tokens a line, no two lines alike."""
    return "\n".join(f"{mark} {number} of the output" for number in range(count))


class Scene:
    """A thread in memory, and what a pipeline would do around a strategy."""

    def __init__(self, messages: Sequence[WireMessage], model: str | None = None) -> None:
        self.thread = cf.open().thread("scene", model=model)
        self.seqs = [self.thread.append(message) for message in messages]

    @property
    def view(self) -> cf.View:
        return self.thread.view

    @property
    def tokens(self) -> int:
        return self.view.tokens()

    @property
    def texts(self) -> list[str]:
        """What the view shows, words only."""
        return [message.text for message in self.view.messages]

    def situation(self, goal: float = 0.5, *, window: int = 100_000, **changes: Any) -> Situation:
        """As if folding was asked for down to a share of what is used."""
        used = changes.pop("used", self.tokens)
        summaries = {
            fold.id: fold.stand_in.text for fold in self.thread.folds if fold.is_showing and fold.kind == "summary"
        }
        asked = Situation(
            Budget(window, 0),
            changes.pop("model", Model("test", window=window)),
            used,
            int(used * goal),
            "percent",
            count=count,
            weigh=weigh,
            subject=self.subject,
            previous=summaries,
        )
        return replace(asked, **changes)

    def plan(self, strategy: Strategy, goal: float = 0.5, **changes: Any) -> Plan:
        return strategy.plan(self.view, self.situation(goal, **changes))

    def fold(self, strategy: Strategy, goal: float = 0.5, *, summary: str = "S", **changes: Any) -> Plan:
        """Plan, and do it: every fold is checked by the thread as any other is."""
        plan = self.plan(strategy, goal, **changes)
        self.carry_out(plan, summary)
        return plan

    def carry_out(self, plan: Plan, summary: str = "S") -> list[int]:
        made = [self._make(planned, summary) for planned in plan.folds]
        assert check_view(self.view.items) == []
        return made

    def _make(self, planned: PlannedFold, summary: str) -> int:
        expected = len(self.thread.events) + 1
        words = planned.words(expected, summary if planned.summary else "")
        cover: list[int | tuple[int, int]] = [*planned.seqs, *planned.folds, *planned.blocks]
        fold = self.thread.fold(cover, words, kind=planned.kind, details=planned.details)
        assert fold == expected
        return fold

    def attach(self, text: str, key: str = "") -> int:
        """Add something for the model, as a session does; a thread by itself has no verb for it."""
        event = Attached("file", COUNTER.shape(Message("user", (Text(text),))), {"key": key} if key else {})
        (logged,) = self.thread.write(lambda now: [NewEvent(event, now.head, 0.0, encode(text))])
        return logged.seq

    def subject(self, item: ViewItem) -> object:
        event = self.thread.events[item.seq - 1].event
        return subject_of(event) if isinstance(event, Attached) else None

    def hidden(self) -> list[int]:
        """Numbers of the given messages that no longer show."""
        showing = {item.seq for item in self.view.items if item.kind == "message"}
        return [number for number, seq in enumerate(self.seqs) if seq not in showing]

    def problems(self, dialect: str = "anthropic") -> list[Problem]:
        """What the provider would reject in a request made from the view."""
        settings = {"model": "m", "max_tokens": 10} if dialect == "anthropic" else {"model": "m"}
        return find(dialect).check(decode(self.thread.body(dialect=dialect, **settings)))

    def roles(self, dialect: str = "anthropic") -> str:
        """The roles of the rendered messages, as letters."""
        return "".join(message["role"][0] for message in decode(self.thread.body(dialect=dialect))["messages"])


def count(text: str) -> int:
    return COUNTER.block_tokens(COUNTER.shape(Message("user", (Text(text),))).blocks[0].measure)


def weigh(item: ViewItem, block: int) -> int:
    return COUNTER.block_tokens(item.shape.blocks[block].measure)
