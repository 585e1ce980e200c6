"""Write docs/compared.md: contextfold beside LangChain's SummarizationMiddleware on the same recorded runs.

Runs where LangChain is: `make compare`. Both fold the same messages for the same window, both summarize with the same
extractive digest, so that no model's skill is compared; each request is judged, counted and priced the same way.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse, SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, messages_from_dict
from langchain_core.outputs import ChatGeneration, ChatResult

import contextfold as cf
from contextfold import dialects, transcripts
from contextfold.cli.plugin import digest
from contextfold.domain import encode
from contextfold.langchain import Fold

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data" / "swe-agent"
MODEL, WINDOW, MOST = "claude-sonnet-5-5", 32_000, 4
PRICE: Any = cf.model(MODEL).prices


class DigestModel(BaseChatModel):
    """Stands in for a summarizing model: answers with the digest that contextfold uses."""

    calls: int = 0

    @property
    def _llm_type(self) -> str:
        return "digest"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        text = "\n".join(message.text for message in messages)
        cut = [text[at : at + 4_000] for at in range(0, len(text), 4_000)]
        said = digest([encode({"role": "user", "content": each}) for each in cut]) or text[:8_000]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])


def recorded(path: Path) -> list[BaseMessage]:
    """A recorded run as LangChain's messages."""
    (first, *_) = transcripts.read(path)
    found = [entry.message for entry in first.entries() if isinstance(entry, transcripts.Recorded)]
    with cf.Session.open(model=MODEL, dialect="langchain") as session:
        for message in found:
            session.append(message, dialect=dialects.detect(message) or transcripts.DIALECT)
        lines = session.thread.rendering("langchain").chunks(session.view, session.thread.lens)
    values = json.loads(b"[" + b",".join(filter(None, lines)) + b"]")
    return messages_from_dict([{"type": each["type"], "data": each} for each in values])


def invalid(messages: Sequence[BaseMessage]) -> bool:
    """A result without its call, a call without its result, or a first message that is not the user's."""
    waiting: set[str] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                return True
            waiting.discard(message.tool_call_id)
        elif waiting:
            return True
        if isinstance(message, AIMessage):
            waiting = {str(call["id"]) for call in message.tool_calls}
    return bool(waiting) or messages[0].type != "human"


@cache
def tokens_of(written: bytes) -> int:
    return cf.count([{"role": "user", "content": written.decode()}], model=MODEL).tokens


class Tally:
    """Requests of one contender: how many were wrong or too long, what they cost, how long they took to make."""

    def __init__(self) -> None:
        self.requests = self.wrong = self.long = self.tokens = 0
        self.money, self.times, self.before = 0.0, list[float](), list[bytes]()

    def take(self, messages: Sequence[BaseMessage], seconds: float) -> None:
        written = [encode(_words(message)) for message in messages]
        same = next((at for at, pair in enumerate(zip(self.before, written, strict=False)) if pair[0] != pair[1]), None)
        known = min(len(self.before), len(written)) if same is None else same
        sizes = [tokens_of(each) for each in written]
        self.money += (sum(sizes[:known]) * PRICE.read + sum(sizes[known:]) * PRICE.write) / 1_000_000
        self.requests += 1
        self.tokens += sum(sizes)
        self.wrong += invalid(messages)
        self.long += sum(sizes) > WINDOW
        self.times.append(seconds)
        self.before = written

    def again(self) -> None:
        self.before = []


def _words(message: BaseMessage) -> Any:
    return [message.type, message.content, getattr(message, "tool_calls", None), getattr(message, "tool_call_id", None)]


Ask = Callable[[list[BaseMessage]], list[BaseMessage]]


def folded(store: Path) -> tuple[Ask, Callable[[AIMessage], None], Fold]:
    fold, model = Fold(store, thread="run", window=WINDOW), SimpleNamespace(model=MODEL, max_tokens=1_000)
    answers: list[AIMessage] = []

    def ask(messages: list[BaseMessage]) -> list[BaseMessage]:
        seen: list[BaseMessage] = []

        def handler(request: Any) -> Any:
            seen.extend(request.messages)
            return ModelResponse(result=[answers[-1]])

        fold.wrap_model_call(ModelRequest(model=model, messages=messages), handler)
        return seen

    return ask, answers.append, fold


def summarized() -> Ask:
    middleware = SummarizationMiddleware(DigestModel(), trigger=("tokens", int(WINDOW * 0.8)), keep=("messages", 20))
    state: dict[str, Any] = {"messages": []}
    given = 0

    def ask(messages: list[BaseMessage]) -> list[BaseMessage]:
        nonlocal given
        state["messages"] = [*state["messages"], *messages[given:]]
        given = len(messages)
        changed = middleware.before_model(state, None)
        if changed:
            state["messages"] = [each for each in changed["messages"] if each.type != "remove"]
        return list(state["messages"])

    return ask


def usable(path: Path) -> list[BaseMessage]:
    """A run as messages; nothing where one of them alone is too large for the window, which nobody can fold."""
    messages = recorded(path)
    largest = max(tokens_of(encode(_words(message))) for message in messages)
    return messages if largest < WINDOW / 4 else []


def main() -> None:
    ours, theirs, plain, size, raw = Tally(), Tally(), Tally(), 0, 0
    files = sorted(DATA.glob("*.gz"), key=lambda path: -path.stat().st_size)[: 3 * MOST]
    runs = [found for path in files if (found := usable(path))]
    for messages in runs[:MOST]:
        with tempfile.TemporaryDirectory() as directory:
            ask, answer, fold = folded(Path(directory) / "run.db")
            other = summarized()
            for at, message in enumerate(messages):
                if not isinstance(message, AIMessage) or not at:
                    continue
                answer(message)
                for tally, contender in ((ours, ask), (theirs, other), (plain, list)):
                    start = time.perf_counter()
                    shown = contender(messages[:at])
                    tally.take(shown, time.perf_counter() - start)
            for tally in (ours, theirs, plain):
                tally.again()
            fold.conversations.close()
            size += (Path(directory) / "run.db").stat().st_size
            raw += sum(len(encode(_words(message))) for message in messages)
    write(min(len(runs), MOST), ours, theirs, plain, size / raw)


PAGE = """# Compared

<!-- Made by scripts/compare.py; `make compare` writes it anew. -->

The same {runs} recorded agent runs ({requests} requests, the largest of SWE-agent's without a message of a quarter of
the window: with such messages contextfold says `CannotFit` where LangChain sends a request that is too long), asked for
again step by step for {model} in a window of {window:,} tokens. Both summarize with the same extractive digest, so no
model's skill is compared. Money is the input of all requests at the model's cache prices: what stands unchanged at the
front is read from the cache, the rest is written to it.

{table}

*Wrong*: a result without its call, a call without its result, or a history that does not begin with the user. *Too
long*: by contextfold's count, above the window, without room for an answer.

Where contextfold is behind: it takes longer a turn, because every message is kept in a file before the request is made;
LangChain's middleware alone keeps nothing. The file is larger than what was said: events, an index, room to grow.
A tie: neither wrote a wrong request here.

*Undo* and *after kill -9* are stated from how each is built, not measured here. LangChain keeps its default of 20
messages; its trigger was set to 80 %, nothing else was tuned.

Not run: OpenAI's compaction session (OpenAI's servers make it), Pydantic AI's harness, ADK's compaction, OpenHands'
condenser, LiteLLM's guardrails, Headroom.
"""
COLUMNS = (
    *("", "wrong", "too long", "tokens in view, mean", "USD", "of full history", "ms a turn, median"),
    *("undo a fold", "after kill -9", "bytes kept / said"),
)


def write(runs: int, ours: Tally, theirs: Tally, plain: Tally, share: float) -> None:
    langchain = f"LangChain {version('langchain')}, `SummarizationMiddleware` (80 %, keeps 20 messages)"
    rows = [
        COLUMNS,
        ("---",) * len(COLUMNS),
        (f"contextfold {cf.__version__}, `Fold`", *numbers(ours, plain), "yes", "all of it", f"{share:.2f}"),
        (langchain, *numbers(theirs, plain), "no: replaced in the state", "as its checkpointer", "–"),
        ("full history", *numbers(plain, plain), "–", "–", "–"),
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    page = PAGE.format(runs=runs, requests=ours.requests, model=MODEL, window=WINDOW, table=table)
    (ROOT / "docs" / "compared.md").write_text(page, encoding="utf-8")
    sys.stdout.write(f"{table}\n")


def numbers(tally: Tally, plain: Tally) -> tuple[str, ...]:
    middle, shown = statistics.median(tally.times) * 1_000, tally.tokens // tally.requests
    money = f"{tally.money:.2f}", f"{tally.money / plain.money:.2f}"
    return str(tally.wrong), str(tally.long), f"{shown:,}", *money, f"{middle:.1f}"


if __name__ == "__main__":
    main()
