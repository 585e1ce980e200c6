"""A request with very many new messages is kept in parts, so that others have their turn; one with too many passes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.dialects import find
from contextfold.dialects.endpoint import MOST_MESSAGES
from contextfold.domain import Appended
from contextfold.gateway import GatewaySettings, spaces_in
from contextfold.gateway.door import Visit
from contextfold.gateway.families import Asking
from contextfold.gateway.ledger import Ledger
from contextfold.gateway.turns import KeptTurn, PartKept
from tests.acceptance.gateway.house import gateway, web
from tests.acceptance.gateway.plain_upstream import Answer, plain_upstream

pytestmark = pytest.mark.finding("K13")

ANSWER = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5",
    "content": [{"type": "text", "text": "ok"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 10, "output_tokens": 1},
}
PATHS = {"anthropic": b"/v1/messages", "openai-responses": b"/v1/responses"}


def talk(messages: int) -> list[dict[str, Any]]:
    return [{"role": "assistant" if at % 2 else "user", "content": f"Line {at}."} for at in range(messages)]


def items(calls: int) -> list[dict[str, Any]]:
    """As the Responses format writes it: the items of one answer are one message."""
    said: list[dict[str, Any]] = [{"type": "message", "role": "user", "content": "Go."}]
    for at in range(calls):
        said += [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"Look {at}."}]},
            {"type": "function_call", "call_id": f"c{at}", "name": "run", "arguments": "{}"},
            {"type": "function_call_output", "call_id": f"c{at}", "output": f"done {at}"},
        ]
    return said


HISTORIES = {"anthropic": talk(1_301), "openai-responses": items(400)}


def asking(dialect: str) -> Asking:
    spoken = find(dialect)
    assert spoken.endpoint is not None
    asked = spoken.endpoint.asks("POST", PATHS[dialect])
    assert asked is not None
    listed = "messages" if dialect == "anthropic" else "input"
    body = json.dumps({"model": "claude-sonnet-5", "max_tokens": 100, listed: HISTORIES[dialect]}).encode()
    visit = Visit("POST", PATHS[dialect], b"", ((b"x-api-key", b"k"),))
    return Asking(visit, spoken, spoken.endpoint, spoken.endpoint.open(body, asked))


def opened(path: Path) -> Ledger:
    settings = GatewaySettings()
    open_space = spaces_in(path, settings)
    return Ledger(lambda: open_space("default"), settings)


def kept_in(path: Path) -> list[bytes]:
    with cf.open(path, space="default") as store:
        (found,) = store.threads()
        thread = store.thread(found.title)
        return [thread.message(each.seq).raw for each in thread.events if isinstance(each.event, Appended)]


def whole(kept: Sequence[bytes]) -> list[Any]:
    """The messages as the client lists them."""
    read = [json.loads(raw) for raw in kept]
    return [item for each in read for item in (each if isinstance(each, list) else [each])]


@pytest.mark.parametrize("dialect", HISTORIES)
@pytest.mark.parametrize("is_restarted", [False, True], ids=["in one run", "begun again after each part"])
def test_what_is_kept_in_parts_is_all_there_once(dialect: str, is_restarted: bool, tmp_path: Path) -> None:
    path, parts = tmp_path / "store.db", 0
    ledger, asked = opened(path), asking(dialect)
    try:
        while isinstance(taken := ledger.take(asked), PartKept):
            parts += 1
            if is_restarted:
                ledger.close()
                ledger, asked = opened(path), asking(dialect)
        assert isinstance(taken, KeptTurn)
    finally:
        ledger.close()
    assert parts >= 2
    assert whole(kept_in(path)) == HISTORIES[dialect]


@pytest.mark.parametrize("mode", ["fold", "strict"])
def test_more_new_messages_than_are_kept_pass_as_they_came_or_are_refused(mode: str, tmp_path: Path) -> None:
    few, many = talk(3), talk(1_203)
    with (
        plain_upstream() as upstream,
        gateway(tmp_path / "store.db", upstream.url, mode=mode, most_new_messages=1_000) as house,
    ):
        upstream.always = Answer([json.dumps(ANSWER).encode()])
        headers = {"x-api-key": "k", "content-type": "application/json"}

        def post(messages: Sequence[dict[str, Any]]) -> Any:
            body = json.dumps({"model": "claude-sonnet-5", "max_tokens": 100, "messages": messages}).encode()
            return body, web().post(f"{house.url}/v1/messages", content=body, headers=headers)

        assert post(few)[1].status_code == 200
        body, answer = post(many)
        if mode == "strict":
            assert answer.status_code == 413
            assert "1,200 messages that were not seen before" in answer.json()["error"]["message"]
            assert "gateway.most_new_messages" in answer.json()["error"]["message"]
            assert len(upstream.arrived) == 1
        else:
            assert answer.status_code == 200
            assert upstream.arrived[-1].body == body
        assert post(few)[1].status_code == 200
        assert post(talk(1_001))[1].status_code == 200  # 998 of them are new
        house.settle()
        assert house.gateway.metrics.total("unread_total") == (mode == "fold")
        with house.store("k") as store:
            thread = store.thread(store.threads()[0].title)
            said = [thread.message(each.seq).text for each in thread.events if isinstance(each.event, Appended)]
    assert [text for text in said if text != "ok"] == [each["content"] for each in talk(1_001)]


def test_more_messages_than_are_read_are_told(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "a"}] * (MOST_MESSAGES + 1)
    body = json.dumps({"model": "claude-sonnet-5", "max_tokens": 100, "messages": messages}).encode()
    with plain_upstream() as upstream, gateway(tmp_path / "store.db", upstream.url, mode="strict") as house:
        headers = {"x-api-key": "k", "content-type": "application/json"}
        answer = web().post(f"{house.url}/v1/messages", content=body, headers=headers)
        assert answer.status_code == 413
        assert "100,001 messages" in answer.json()["error"]["message"]
        assert upstream.arrived == []
