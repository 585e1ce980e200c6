"""What the server is to say: texts, calls, thinking, faults, one step for each request that it would answer.

A step is taken only by a request that breaks no rule, so that a script stays in step with what the model answers. At
its end the script repeats what `always` says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from .faults import Fault

Stop: TypeAlias = Literal["", "end", "calls", "length", "refusal"]


@dataclass(frozen=True, slots=True)
class Call:
    """The model asks for a tool. Without an id the server makes one in the provider's style."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True)
class Say:
    """One answer of the model. Thinking is signed by the server; `stop` is told by the content unless given."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    stop: Stop = ""

    @property
    def reason(self) -> Stop:
        return self.stop or ("calls" if self.calls else "end")


class Held:
    """An answer that is kept back until somebody releases it: for tests of what goes on meanwhile."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self._released: Future[None] = Future()

    def release(self) -> None:
        """Let the answer go. Doing it twice is doing it once."""
        if not self._released.done():
            self._released.set_result(None)

    @property
    def released(self) -> Future[None]:
        return self._released


@dataclass(frozen=True, slots=True)
class Question:
    """What a scripted function sees of a request."""

    format: str
    model: str
    body: Mapping[str, Any]


Step: TypeAlias = "str | Say | Fault | Held | Callable[[Question], str | Say | Fault | Held]"


class Script:
    """Steps in order; safe to fill from one thread while another one takes from it."""

    def __init__(self) -> None:
        self._steps: deque[Step] = deque()
        self._always: Step = "Understood."

    def add(self, *steps: Step) -> None:
        self._steps.extend(steps)

    def end_with(self, step: Step) -> None:
        """Say this whenever no step is left."""
        self._always = step

    def clear(self) -> None:
        self._steps.clear()

    def __len__(self) -> int:
        return len(self._steps)

    def next(self, asked: Question) -> Say | Fault | Held:
        """The next step; a function is asked, a text becomes an answer."""
        try:
            step = self._steps.popleft()
        except IndexError:
            step = self._always
        return as_step(step, asked)


def as_step(step: Step, asked: Question) -> Say | Fault | Held:
    made = step(asked) if callable(step) else step
    return Say(made) if isinstance(made, str) else made
