"""Conversations that the provider keeps: a request names the answer it goes on from, and sends only what is new."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.gateway.house import House, gateway, web
from tests.acceptance.gateway.plain_upstream import Answer, PlainUpstream, plain_upstream

KEY = "sk-chain"


@pytest.fixture
def upstream() -> Iterator[PlainUpstream]:
    with plain_upstream() as upstream:
        yield upstream


@pytest.fixture
def house(tmp_path: Path, upstream: PlainUpstream) -> Iterator[House]:
    with gateway(tmp_path / "store.db", upstream.url, window=16_000) as house:
        yield house


def ask(house: House, upstream: PlainUpstream, number: int, text: str) -> dict[str, Any]:
    """One request of a chain; what was forwarded."""
    content = [{"type": "output_text", "text": f"Answer {number}.", "annotations": []}]
    message = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content}
    said = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": [message]}
    upstream.answer(Answer([json.dumps(said).encode()]))
    body: dict[str, Any] = {"model": "gpt-6-sol", "input": [{"role": "user", "content": text}]}
    if number:
        body["previous_response_id"] = f"resp_{number - 1}"
    reply = web().post(f"{house.url}/v1/responses", json=body, headers={"authorization": f"Bearer {KEY}"})
    assert reply.status_code == 200, reply.text
    house.settle()
    sent: dict[str, Any] = json.loads(upstream.arrived[-1].body)
    return sent


def test_a_chain_is_one_thread_and_nothing_is_inlined_while_it_fits(house: House, upstream: PlainUpstream) -> None:
    for number in range(4):
        sent = ask(house, upstream, number, f"Question {number}.")
        assert len(sent["input"]) == 1
        assert sent.get("previous_response_id") == (f"resp_{number - 1}" if number else None)
    (messages,) = house.threads(KEY).values()
    assert len(messages) == 8


def test_a_chain_that_must_be_folded_is_sent_whole_and_goes_on_as_a_chain(
    house: House, upstream: PlainUpstream
) -> None:
    whole = []
    for number in range(16):
        sent = ask(house, upstream, number, f"Question {number}. " + "alpha beta gamma delta " * 300)
        if number and "previous_response_id" not in sent:
            whole.append(number)
            assert len(sent["input"]) > 1
    assert 1 <= len(whole) < 15
    (messages,) = house.threads(KEY).values()
    assert len(messages) == 32


def test_a_chain_goes_on_in_its_thread_after_a_restart(tmp_path: Path, upstream: PlainUpstream) -> None:
    for number in range(3):
        with gateway(tmp_path / "store.db", upstream.url, window=16_000) as house:
            sent = ask(house, upstream, number, f"Question {number}.")
            assert len(sent["input"]) == 1
    with gateway(tmp_path / "store.db", upstream.url, window=16_000) as house:
        (messages,) = house.threads(KEY).values()
        assert len(messages) == 6
