"""Whatever is nested too deeply is refused with a reason, wherever it is handed in, however deep the caller stands."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold import layers as L
from contextfold.domain import MOST_DEPTH, is_deep
from contextfold.errors import BadMessage
from tests.acceptance.gateway.house import gateway, web
from tests.acceptance.gateway.plain_upstream import plain_upstream
from tests.conftest import SOAK

pytestmark = pytest.mark.finding("K16")

MODELS = {
    "anthropic": "claude-sonnet-5",
    "openai-chat": "gpt-4o",
    "openai-responses": "gpt-5.2",
    "gemini": "gemini-3-pro",
}
FEW = (MOST_DEPTH - 10, MOST_DEPTH + 1, 500, 990, 20_000)
MANY = (*FEW, 50, *range(MOST_DEPTH - 5, MOST_DEPTH + 6), 240, 330, 450, 900, 3_000)
DEPTHS = sorted(set(MANY if SOAK > 1 else FEW))
KINDS: dict[str, Callable[[Any], Any]] = {
    "objects": lambda inner: {"a": inner},
    "arrays": lambda inner: [inner],
    "tuples": lambda inner: (inner,),
    "both": lambda inner: {"a": [inner]},
    "schemas": lambda inner: {"type": "object", "properties": {"a": inner}},
}


def nested(depth: int, kind: str = "objects") -> Any:
    value: Any = {}
    for _ in range(depth):
        value = KINDS[kind](value)
    return value


def written(depth: int) -> str:
    return "[" * depth + "]" * depth


def messages(dialect: str, deep: Any, text: str) -> list[list[dict[str, Any]]]:
    """Conversations of a dialect with something deep in one place: as data, or as JSON within a text."""
    ask: dict[str, Any]
    match dialect:
        case "anthropic":
            ask = {"role": "user", "content": "hi"}
            call = {"type": "tool_use", "id": "a", "name": "x", "input": {"q": deep}}
            result = {"type": "tool_result", "tool_use_id": "a", "content": text}
            return [
                [ask, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}],
                [{"role": "user", "content": [{"type": "text", "text": "x", "further": deep}]}],
                [{"role": "user", "content": [{"type": "odd", "further": deep}]}],
                [{"role": "user", "content": deep}],
                [{"role": "user", "content": "x", "metadata": deep}],
            ]
        case "openai-chat":
            ask = {"role": "user", "content": "hi"}
            called = {"id": "a", "type": "function", "function": {"name": "x", "arguments": text}}
            answer = {"role": "assistant", "content": None, "tool_calls": [called]}
            return [
                [ask, answer, {"role": "tool", "tool_call_id": "a", "content": text}],
                [ask, {"role": "assistant", "content": text, "further": deep}],
                [{"role": "user", "content": [{"type": "odd", "further": deep}]}],
            ]
        case "openai-responses":
            ask = {"type": "message", "role": "user", "content": "hi"}
            made = {"type": "function_call", "call_id": "a", "name": "x", "arguments": text}
            return [
                [ask, made, {"type": "function_call_output", "call_id": "a", "output": text}],
                [ask, {"type": "reasoning", "summary": [], "encrypted_content": "x", "further": deep}],
                [{"type": "odd", "further": deep}],
            ]
        case _:
            ask = {"role": "user", "parts": [{"text": "hi"}]}
            spoken = {"role": "model", "parts": [{"functionCall": {"name": "x", "args": {"q": deep}}}]}
            response = {"functionResponse": {"name": "x", "response": {"q": deep}}}
            return [[ask, spoken, {"role": "user", "parts": [response]}], [{"role": "user", "parts": [{"odd": deep}]}]]


def tools(deep: Any) -> list[list[dict[str, Any]]]:
    return [
        [{"name": "f", "input_schema": deep}],
        [{"type": "function", "function": {"name": "f", "parameters": deep}}],
        [{"type": "function", "name": "f", "parameters": deep}],
        [{"functionDeclarations": [{"name": "f", "parameters": deep}]}],
    ]


def verbs(dialect: str, deep: Any, text: str) -> Iterator[Callable[[], object]]:
    """Everything that takes data from a caller."""
    model = MODELS[dialect]

    def session(*said: object) -> cf.Session:
        opened = cf.Session.open(":memory:", thread="t", model=model)
        for each in said:
            opened.append(each, dialect=dialect)
        return opened

    def turn(said: list[dict[str, Any]]) -> None:
        opened = session(*said)
        opened.append({"role": "user", "content": "go"})
        opened.prepare(max_tokens=100)
        opened.fold(to=1)
        opened.recall("hi")

    for said in messages(dialect, deep, text):
        yield lambda said=said: turn(said)  # type: ignore[misc]
        yield lambda said=said: cf.fit(said, model=model, dialect=dialect)  # type: ignore[misc]
        yield lambda said=said: cf.count(said, model=model)  # type: ignore[misc]
        yield lambda said=said: cf.validate({"model": model, "messages": said})  # type: ignore[misc]
        yield lambda said=said: cf.repair({"model": model, "messages": said})  # type: ignore[misc]
    hello = {"role": "user", "content": "go"}
    for each in tools(deep):
        yield lambda each=each: session(hello).prepare(tools=each, max_tokens=100)  # type: ignore[misc]
        yield lambda each=each: cf.count([hello], model=model, tools=each)  # type: ignore[misc]
        yield lambda each=each: cf.fit([hello], model=model, tools=each)  # type: ignore[misc]
    block = [{"type": "text", "text": "x", "further": deep}]
    yield lambda: session(hello).prepare(system=block, max_tokens=100)
    yield lambda: session(hello).prepare(metadata=deep, max_tokens=100)
    yield lambda: session(hello).append(
        {"role": "assistant", "content": "x"}, usage={"input_tokens": 1, "further": deep}
    )
    yield lambda: session(hello).note(L.Variable("deep", deep))
    yield lambda: session(f'{{"role":"user","content":{text}}}'.encode())


def from_below(frames: int, work: Callable[[], object]) -> object:
    """Called by somebody who already stands so deep in the stack."""
    return work() if frames == 0 else from_below(frames - 1, work)


@pytest.mark.parametrize("frames", [0, 500])
@pytest.mark.parametrize("dialect", MODELS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_nothing_that_is_handed_in_ends_in_a_stack_that_is_full(depth: int, dialect: str, frames: int) -> None:
    for kind in KINDS if SOAK > 1 or depth == 500 else ("objects", "both"):
        for verb in verbs(dialect, nested(depth, kind), written(depth)):
            with contextlib.suppress(cf.ContextFoldError):
                from_below(frames, verb)


@pytest.mark.parametrize("dialect", MODELS)
def test_what_is_too_deep_is_refused_and_what_is_just_deep_enough_is_taken(dialect: str) -> None:
    deepest, deeper = nested(MOST_DEPTH - 6), nested(MOST_DEPTH)
    for said, refused in zip(messages(dialect, deepest, "x"), messages(dialect, deeper, "x"), strict=True):
        if is_deep(refused[-1]):
            with cf.Session.open(":memory:", thread="t", model=MODELS[dialect]) as session:
                with pytest.raises(BadMessage, match=f"{MOST_DEPTH} levels"):
                    session.append(refused[-1], dialect=dialect)
                with pytest.raises(BadMessage, match=f"{MOST_DEPTH} levels"):
                    session.append(json.dumps(refused[-1]).encode(), dialect=dialect)
                assert session.thread.branch.head == 0
        if not isinstance(said[-1].get("content"), dict):
            cf.count(said, model=MODELS[dialect])


def test_data_that_holds_itself_is_refused_too() -> None:
    endless: dict[str, Any] = {"role": "user", "content": []}
    endless["content"].append(endless)
    with cf.Session.open(":memory:", thread="t") as session, pytest.raises(BadMessage, match="nested too deeply"):
        session.append(endless)


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_recorded_session_that_is_nested_deeply_is_read_as_far_as_it_goes(depth: int, tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    file.write_text(
        f'[{{"role":"user","content":"hi"}},{{"role":"user","content":[{{"type":"x","y":{written(depth)}}}]}}]'
    )
    with cf.open(":memory:") as store, contextlib.suppress(cf.ContextFoldError):
        store.import_(file)


def test_a_deep_request_passes_the_gateway_unread_and_leaves_it_ready(tmp_path: Path) -> None:
    with plain_upstream() as upstream, gateway(tmp_path / "store.db", upstream.url) as house:
        filler = "x" * 9_000  # longer than what goes out unread
        for depth in (MOST_DEPTH + 10, 400, 700, 5_000):
            deep = written(depth)
            for body in (
                f'{{"model":"m","messages":[{{"role":"user","content":"{filler}"}}],"tools":[{{"name":"f","input_schema":{deep}}}]}}',
                f'{{"model":"m","messages":[{{"role":"user","content":"{filler}"}}],"system":{deep}}}',
                f'{{"model":"m","messages":[{{"role":"user","content":"{filler}","further":{deep}}}]}}',
                f'{{"model":"m","messages":[{{"role":"user","content":"{filler}"}}],"metadata":{deep}}}',
            ):
                assert web().post(f"{house.url}/v1/messages", content=body.encode()).status_code == 200
                assert upstream.arrived[-1].body == body.encode()
        house.settle()
        assert web().get(f"{house.url}/readyz").text == "ready"
        assert "store was out of order" not in web().get(f"{house.url}/metrics").text
