"""The steps a generated session is made of, before they are written in a provider's format.

Plain values: somebody asked, the agent worked with tools, the agent answered. No format and no chance lives here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class StepQuestion:
    """The user spoke."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """One tool call with what came of it."""

    id: str
    tool: str
    arguments: Mapping[str, object]
    output: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Worked:
    """The agent thought, said something, and used tools, several at once if need be."""

    thought: str
    text: str
    calls: tuple[Called, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """The agent finished its turn."""

    thought: str
    text: str


Step: TypeAlias = StepQuestion | Worked | Answered


def words(step: Step) -> str:
    """Everything in a step that a model would read."""
    match step:
        case StepQuestion():
            return step.text
        case Answered():
            return step.thought + step.text
        case Worked():
            called = "".join(f"{call.tool}{dict(call.arguments)}{call.output}" for call in step.calls)
            return step.thought + step.text + called
