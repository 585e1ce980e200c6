"""What recorded runs cost through the gateway, driven by the SDKs, against what `replay` says for the same policy.

The agent says what it said, message by message; the provider behind the gateway counts what arrives and says what the
recording says. Both sides are priced by one rule for the provider's cache. Times and bills of the recording are left
out on both sides: a replay lives in the recording's time, a gateway in its own.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from benchmarks.frame import SHARED, Row, absent, at_least, at_most, reported
from contextfold.dialects import understand
from contextfold.domain import decode, encode
from contextfold.errors import ContextFoldError
from contextfold.folding import recipes
from contextfold.models import Model, find
from contextfold.replay import Settings
from contextfold.replay.measures import Tally
from contextfold.replay.recorded_session import RecordedSession, sittings
from contextfold.replay.values import Row as ReplayRow
from contextfold.replay.walk import walk
from contextfold.tokens import counter_for, fixed_cost
from contextfold.transcripts import read

DATA = SHARED / "data"
MODELS = {"anthropic": "claude-sonnet-5-5", "openai-chat": "gpt-4o"}
OUTPUT = 4_000  # tokens of room for each answer
WINDOW, RUNS = 64_000, 10
LEAST, LETTERS = 80_000, 4  # tokens of a long session, and bytes of each, about
BAR = 0.01


@dataclass(slots=True)
class Driven:
    """A run through the gateway, as its provider saw it."""

    tally: Tally
    requests: int = 0
    tokens: int = 0
    refused: int = 0


def run() -> list[Row]:
    if not DATA.is_dir():
        return [absent("runs through the gateway", "the recorded sessions are not here")]
    sessions = list(long_sessions(RUNS if os.environ.get("CONTEXTFOLD_RUNS") != "few" else 2))
    rows: list[Row] = []
    for session in sessions:
        said, driven = both(session, WINDOW)
        name = f"{Path(session.file).parent.name}/{session.name[:24]}"
        rows += [
            at_most(f"{name}: requests, apart", abs(driven.requests - said.requests), 0),
            at_most(f"{name}: tokens, apart", apart(driven.tokens, said.tokens), BAR),
            at_most(f"{name}: money, apart", apart(driven.tally.cost.total, cost_of(said)), BAR),
            reported(f"{name}: folds by replay", said.folds),
        ]
    return [at_least("runs through the gateway", len(sessions), RUNS), *rows]


def apart(one: float, two: float) -> float:
    """The difference of two amounts as a share of the second."""
    return abs(one - two) / two if two else float(one != two)


def cost_of(row: ReplayRow) -> float:
    """Dollars; of a model whose price is known."""
    assert row.cost is not None
    return row.cost.total


def long_sessions(most: int) -> Iterator[RecordedSession]:
    """Long sessions in one format each, which no product compacted; of every product's files some."""
    by_product = [_long_sessions(path) for path in sorted(DATA.iterdir()) if path.is_dir()]
    in_turn = (each for few in zip_longest(*by_product) for each in few if each is not None)
    yield from islice(in_turn, most)


def _long_sessions(product: Path) -> Iterator[RecordedSession]:
    for path in sorted(product.glob("*.gz")):
        try:
            found = next(sittings(f"{product.name}/{path.name}", read(path)), None)
        except ContextFoldError:
            continue  # no sessions of an agent
        is_long = found is not None and sum(len(turn.raw) for turn in found.turns) > LETTERS * LEAST
        if found is None or not is_long or found.compactions:
            continue
        if {message.dialect for message in found.messages} <= MODELS.keys():
            yield found


def format_of(session: RecordedSession) -> str:
    """The format that says most: plain messages are alike in both."""
    return max(message.dialect for message in session.messages)


def both(session: RecordedSession, window: int) -> tuple[ReplayRow, Driven]:
    """The same session by replay and through the gateway, in the default policy."""
    bare = replace(session, turns=tuple(replace(turn, at=None, usage=None, model="") for turn in session.turns))
    name = MODELS[format_of(session)]
    settings = Settings(window=window, model=name, max_tokens=OUTPUT, retention=False, reference=False)
    return walk(bare, recipes.balanced(), settings), driven(bare, name, window)


def driven(session: RecordedSession, name: str, window: int) -> Driven:
    """A session through the gateway, sent by its format's SDK."""
    from tests.acceptance.gateway.house import gateway  # noqa: PLC0415  # needs pytest
    from tests.acceptance.gateway.plain_upstream import Answer, plain_upstream  # noqa: PLC0415

    dialect, model = format_of(session), find(name)
    found = Driven(Tally(model))
    weigh = _Scales(model, dialect)
    spoke, history, before = "", list[Any](), list[bytes]()
    with (
        tempfile.TemporaryDirectory() as directory,
        plain_upstream() as upstream,
        gateway(Path(directory) / "store.db", upstream.url, window=window) as house,
        _client(dialect, house.url) as client,
    ):
        for turn, role in zip(session.turns, session.roles, strict=True):
            message = decode(turn.raw)
            if role == "assistant" and spoke not in ("", "assistant"):
                upstream.answer(Answer([encode(_answer(dialect, message))]))
                arrived = len(upstream.arrived)
                _send(client, dialect, name, session.system, history)
                house.settle()
                if len(upstream.arrived) == arrived:
                    upstream.script.clear()
                    found.refused += 1
                else:
                    before = _count(found, weigh, upstream.arrived[-1].body, before, session.system)
            if role == "assistant":
                found.tally.answer(weigh.message(turn.raw))
            history.append(message)
            spoke = role
    return found


class _Scales:
    """Messages weighed as replay weighs them, each once."""

    def __init__(self, model: Model, dialect: str) -> None:
        self._counter, self._dialect = counter_for(model), dialect
        self._known: dict[bytes, int] = {}

    def message(self, raw: bytes) -> int:
        if raw not in self._known:
            message = understand(raw, self._dialect, self._dialect).message
            self._known[raw] = self._counter.tokens(self._counter.shape(message))
        return self._known[raw]

    def around(self, system: str) -> int:
        cost = fixed_cost(system or None, None, self._counter, (encode(system) if system else b"", b""))
        return cost.system + cost.tools + cost.request


def _count(found: Driven, weigh: _Scales, body: bytes, before: Sequence[bytes], system: str) -> list[bytes]:
    """Count a request that arrived, with what the provider has of the one before it; its messages."""
    messages = [encode(each) for each in json.loads(body)["messages"]]
    fixed = weigh.around(system)
    if system and messages and json.loads(messages[0]).get("role") == "system":
        messages = messages[1:]
    same = next((at for at, pair in enumerate(zip(before, messages, strict=False)) if pair[0] != pair[1]), None)
    same = min(len(before), len(messages)) if same is None else same
    sizes = [weigh.message(each) for each in messages]
    total = fixed + sum(sizes)
    found.requests += 1
    found.tokens += total
    found.tally.add(total, fixed + sum(sizes[:same]) if before else 0, None)
    return messages


def _client(dialect: str, url: str) -> Any:
    if dialect == "anthropic":
        import anthropic  # noqa: PLC0415  # an extra

        return anthropic.Anthropic(base_url=url, api_key="key", max_retries=0)
    import openai  # noqa: PLC0415  # an extra

    return openai.OpenAI(base_url=f"{url}/v1", api_key="key", max_retries=0)


def _send(client: Any, dialect: str, model: str, system: str, history: Sequence[Any]) -> None:
    """One request by the SDK; what cannot fit is refused by the gateway, and the provider sees nothing of it."""
    try:
        if dialect == "anthropic":
            told = {"system": system} if system else {}
            client.messages.create(model=model, max_tokens=OUTPUT, messages=history, **told)
        else:
            said = [{"role": "system", "content": system}, *history] if system else list(history)
            client.chat.completions.create(model=model, max_tokens=OUTPUT, messages=said)
    except Exception as error:
        if getattr(error, "status_code", None) != 400:
            raise


def _answer(dialect: str, message: dict[str, Any]) -> dict[str, Any]:
    """A recorded message as the provider's answer."""
    if dialect == "anthropic":
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        shape = {"id": "msg", "type": "message", "model": "m", "stop_reason": "end_turn"}
        return {**shape, "role": "assistant", "content": blocks}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
