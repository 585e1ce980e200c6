"""Two conversations whose messages differ where no block reads: each is sent its own bytes, edited or not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextfold.domain import Appended
from tests.acceptance.gateway.house import House, gateway, web
from tests.acceptance.gateway.plain_upstream import Answer, PlainUpstream, plain_upstream
from tests.property.conversation_pairs import Anthropic, Chat, Gemini, Responses

pytestmark = pytest.mark.finding("K9")

FILL = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon "
WireFormat = Anthropic | Chat | Responses | Gemini
HIDE = Callable[[dict[str, Any], str], object]  # puts a word into a message where no block reads it


def ask(house: House, upstream: PlainUpstream, wire: WireFormat, messages: list[dict[str, Any]]) -> bytes:
    upstream.script.clear()
    upstream.always = Answer([json.dumps(wire.answer("ok")).encode()])
    body = {**wire.body(messages), **({"model": "claude-opus-4-5"} if wire.name == "anthropic" else {})}
    reply = web().post(house.url + wire.path, json=body, headers={"x-api-key": "sk-one"})
    assert reply.status_code == 200, reply.text
    house.settle()
    return upstream.arrived[-1].body


def talk(wire: WireFormat, calls: int, at: int, hide: HIDE, word: str, *, thought: str = "") -> list[dict[str, Any]]:
    messages = wire.user(f"start {FILL}")
    for number in range(calls):
        pair = wire.called(f"call_{number}", f"p{number}", f"res{number} {FILL * 20}", thought)
        if wire.name == "gemini":
            pair[1]["parts"].append({"text": f"seen {number}"})
        if number == at:
            hide(pair[0] if thought else pair[1], word)
        messages += pair
    return messages


IN_ANSWERS: dict[str, HIDE] = {
    "title": lambda message, word: message["content"].insert(1, {"type": "text", "text": "seen", "title": word}),
    "summary": lambda message, word: message["content"].insert(1, {"type": "text", "text": "seen", "summary": word}),
    "data": lambda message, word: message["content"].insert(1, {"type": "text", "text": "seen", "data": {"d": word}}),
    "provider_specific_fields": lambda message, word: message["content"].insert(
        1, {"type": "text", "text": "seen", "provider_specific_fields": {"citations": [word]}}
    ),
    "a field of the message": lambda message, word: message.update(summary=word),
}
IN_RESULTS: dict[str, tuple[WireFormat, HIDE]] = {
    "chat: parts": (Chat(), lambda message, word: message.update(parts=[{"type": "text", "text": word}])),
    "chat: output": (Chat(), lambda message, word: message.update(output=[word])),
    "responses: content": (Responses(), lambda message, word: message.update(role="user", content=word)),
    "gemini: content": (Gemini(), lambda message, word: message.update(content=word)),
    "gemini: text beside a result": (Gemini(), lambda message, word: message["parts"][0].update(text=word)),
}


@pytest.mark.parametrize("field", IN_ANSWERS)
def test_an_answer_from_which_stale_reasoning_is_taken_is_sent_with_its_own_fields(field: str, tmp_path: Path) -> None:
    wire, hide = Anthropic(), IN_ANSWERS[field]
    one, two = (talk(wire, 14, 12, hide, word, thought="thinking a bit") for word in ("wren", "finch"))
    with (
        plain_upstream() as upstream,
        gateway(tmp_path / "store.db", upstream.url, limit=4_500, window=40_000) as house,
    ):
        for messages in (one[:-2], one, two[:-2]):
            ask(house, upstream, wire, messages)
        sent = ask(house, upstream, wire, two)
    assert b"seen" in sent or field == "a field of the message"
    assert b"finch" in sent
    assert b"wren" not in sent


@pytest.mark.parametrize("limit", [0.9, 0.94])
@pytest.mark.parametrize("case", IN_RESULTS)
def test_a_result_that_is_cleared_takes_no_word_of_another_conversation_along(
    case: str, limit: float, tmp_path: Path
) -> None:
    wire, hide = IN_RESULTS[case]
    one, two = (talk(wire, 12, 1, hide, word) for word in ("wren", "finch"))
    size = int(len(json.dumps(wire.body(one))) / 4.5 * limit)
    with (
        plain_upstream() as upstream,
        gateway(tmp_path / "store.db", upstream.url, limit=size, window=40_000) as house,
    ):
        for messages in (one[:-2], one, two[:-2]):
            ask(house, upstream, wire, messages)
        assert b"wren" not in ask(house, upstream, wire, two)


def test_what_stands_in_a_conversation_that_the_provider_keeps_is_no_other_ones(tmp_path: Path) -> None:
    wire = Responses()
    messages = talk(wire, 12, -1, dict.get, "")
    with plain_upstream() as upstream, gateway(tmp_path / "store.db", upstream.url, limit=2_000) as house:
        upstream.always = Answer([json.dumps(wire.answer("ok")).encode()])

        def send(conversation: object) -> bytes:
            body = json.dumps({**wire.body(messages), "conversation": conversation}).encode()
            reply = web().post(house.url + wire.path, content=body, headers={"authorization": "Bearer sk-one"})
            assert reply.status_code == 200
            house.settle()
            return body

        for conversation in ("conv_1", "conv_2", {"id": "conv_1"}):
            assert send(conversation) == upstream.arrived[-1].body, "what stands before it cannot be folded with it"
        assert send(None) != upstream.arrived[-1].body
        with house.store("sk-one") as store:
            firsts = {
                each.key
                for row in store.threads()
                for each in store.thread(row.title).events
                if isinstance(each.event, Appended) and each.parent == 0
            }
    assert len(firsts) == 4
