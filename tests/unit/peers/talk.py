"""What the peers' cases are made of: messages in short words, sessions with a window of any size, and two judges."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import contextfold as cf
from contextfold.dialects import find
from contextfold.summaries import Prompt
from contextfold.testing import Scripted
from contextfold.testing.wire import WireMessage

SONNET = "claude-sonnet-5-5"
VALIDITY = Path(__file__).parents[4] / "shared" / "measure" / "retention" / "validity.py"
WORD = "word "  # about one token


def user(text: str) -> WireMessage:
    return {"role": "user", "content": text}


def assistant(text: str) -> WireMessage:
    return {"role": "assistant", "content": text}


def system(text: str) -> WireMessage:
    return {"role": "system", "content": text}


def calls(*ids: str, tool: str = "read_file", given: Mapping[str, object] | None = None) -> WireMessage:
    given = given or {"path": "src/shop/service.py"}
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": each, "name": tool, "input": given} for each in ids],
    }


def results(outputs: Mapping[str, str]) -> WireMessage:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": each, "content": said} for each, said in outputs.items()],
    }


def step(name: str, output: str) -> list[WireMessage]:
    """A call and its result."""
    return [calls(name), results({name: output})]


def tool_loop(steps: int, words: int = 20) -> list[WireMessage]:
    """One question, then as many steps of work on it."""
    work = [message for number in range(steps) for message in step(f"call_{number}", f"found {number} " + WORD * words)]
    return [user("find the rounding bug"), *work]


def exchanges(many: int, words: int) -> list[WireMessage]:
    """Questions and answers, ending with a question."""
    said = [
        message
        for number in range(many)
        for message in (user(f"question {number} {WORD * words}"), assistant(f"answer {number} {WORD * words}"))
    ]
    return [*said, user("the live question")]


def say(session: cf.Session, messages: Iterable[WireMessage]) -> list[int]:
    return [session.append(message) for message in messages]


def summarizer() -> Scripted:
    """A model that numbers its summaries, so that each can be found again."""

    def answer(_: object) -> str:
        return f"Summary {model.calls}: the user asked for several changes and the assistant made all of them."

    model = Scripted(answer)
    return model


def prompts(model: Scripted) -> list[str]:
    """What a scripted summarizer was asked, text only."""
    return [asked.text for asked in model.asked if isinstance(asked, Prompt)]


def shown(request: cf.Request) -> str:
    """Everything the model would read, messages only."""
    return "\n".join(text for message in request.body["messages"] for text in texts(message["content"]))


def texts(content: object) -> Iterator[str]:
    match content:
        case str():
            yield content
        case list():
            for block in content:
                yield from texts(block.get("text") or block.get("content") or str(block.get("input", "")))
        case _:
            pass


def rejections(request: cf.Request) -> list[str]:
    """Why a provider would refuse this request: by our rules, and by the measuring harness where it is present."""
    ours = [f"{problem.path}: {problem.rule}" for problem in find(request.dialect).check(request.body)]
    return [*ours, *_harness(request.body["messages"])] if request.dialect == "anthropic" else ours


def _harness(messages: list[dict[str, Any]]) -> list[str]:
    if not VALIDITY.is_file():
        return []
    spec = importlib.util.spec_from_file_location("validity", VALIDITY)
    assert spec is not None
    assert spec.loader is not None
    validity = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(validity)
    view = [{"role": message["role"], "content": _blocks(message["content"])} for message in messages]
    found = validity.check(view)
    return [f"{name}: {found[name]}" for name in (*validity.HARD, "alternation") if found[name]]


def _blocks(content: object) -> object:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def unaccounted(session: cf.Session, seqs: Iterable[int]) -> list[int]:
    """Messages that neither show nor are behind a fold that shows how to recall them."""
    visible = {item.seq for item in session.view if item.kind == "message"}
    handles = [fold.id for fold in session.folds if fold.is_showing]
    behind = {message.raw for fold in handles for message in session.recall(fold=fold)}
    return [seq for seq in seqs if seq not in visible and session.thread.message(seq).raw not in behind]
