"""Realistic agent sessions, made from a seed: the same seed gives the same session on every machine.

For tests, benchmarks and the demo. A session is one that a provider accepts as it is: every call has its result, roles
take turns. For histories that nobody would accept, see `contextfold.testing.nasty`.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from .agent import Agent, Languages
from .steps import Answered, Step, StepQuestion, words
from .wire import WRITERS, DialectName, WireMessage

# Measured with o200k on these very sessions; close for English and Japanese alike, because what is two bytes to the one
# is three to the other.
BYTES_PER_TOKEN = 3.4

SYSTEM = (
    "You are a careful engineer working in the repository of a web shop. Use the tools to read before you change, "
    "run the tests after every change, and report what you did in the user's language. Rules the user states hold "
    "until they are taken back."
)

_PARAMETERS: dict[str, tuple[str, dict[str, str]]] = {
    "read_file": ("Read a text file, with line numbers.", {"path": "string", "offset": "integer", "limit": "integer"}),
    "edit_file": ("Replace text in a file.", {"path": "string", "old_text": "string", "new_text": "string"}),
    "search": ("Find lines that contain a pattern.", {"pattern": "string"}),
    "list_files": ("List the files of a folder.", {"folder": "string"}),
    "run": ("Run a shell command in the repository.", {"command": "string"}),
}


def session(
    seed: int | str = 0, *, tokens: int = 120_000, language: Languages = "mixed", dialect: DialectName = "anthropic"
) -> list[WireMessage]:
    """A coding agent's session of about this many tokens, as messages of the dialect, ending with its report."""
    return [
        message for step in session_steps(seed, tokens=tokens, language=language) for message in WRITERS[dialect](step)
    ]


def session_steps(seed: int | str = 0, *, tokens: int = 120_000, language: Languages = "mixed") -> list[Step]:
    """The same session before it is written in any format."""
    agent = Agent(Random(f"session {seed}"), language)
    steps = list(_as_many_as_fit(agent.steps(), tokens * BYTES_PER_TOKEN))
    if not isinstance(steps[-1], Answered):
        steps.append(agent.report())
    return steps


def tools(dialect: DialectName = "anthropic") -> list[WireMessage]:
    """Definitions of the tools that sessions use."""
    defined = []
    for name, (description, fields) in _PARAMETERS.items():
        schema = {"type": "object", "properties": {field: {"type": kind} for field, kind in fields.items()}}
        defined.append(_tool(dialect, {"name": name, "description": description}, schema))
    return [{"functionDeclarations": defined}] if dialect == "gemini" else defined


def _tool(dialect: DialectName, named: WireMessage, schema: WireMessage) -> WireMessage:
    match dialect:
        case "anthropic":
            return {**named, "input_schema": schema}
        case "openai-chat":
            return {"type": "function", "function": {**named, "parameters": schema}}
        case "openai-responses":
            return {"type": "function", **named, "parameters": schema}
        case "gemini":
            return {**named, "parametersJsonSchema": schema}


def _as_many_as_fit(steps: Iterator[Step], size: float) -> Iterator[Step]:
    """Steps until one more would be further from the size than one fewer; a question and the work on it at least."""
    total = 0
    for number, step in enumerate(steps):
        grown = total + len(words(step).encode())
        if number > 1 and grown - size > size - total:
            return
        if number > 1 and isinstance(step, StepQuestion) and grown >= size:
            return
        yield step
        total = grown
