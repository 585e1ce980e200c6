"""Answers whose ids are not unique, or are known to their client by another: no chain goes on from a wrong one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.gateway.house import House, gateway, web
from tests.acceptance.gateway.plain_upstream import EVENTS, Answer, PlainUpstream, plain_upstream

pytestmark = pytest.mark.finding("K9")

LONG = "alpha beta gamma delta epsilon " * 600
Json = dict[str, Any]


@pytest.fixture
def upstream() -> Iterator[PlainUpstream]:
    with plain_upstream() as upstream:
        yield upstream


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def said(text: str) -> Json:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}


def whole(id: str, *items: Json) -> Json:
    return {"object": "response", "id": id, "status": "completed", "output": items or (said("Noted."),)}


def ask(
    house: House, upstream: PlainUpstream, session: str, items: list[Json], *answers: Answer | Json, **fields: Any
) -> Json:
    """What was forwarded in the last round."""
    for answer in answers:
        upstream.answer(answer if isinstance(answer, Answer) else Answer([json.dumps(answer).encode()]))
    tool = {"type": "function", "name": "read", "parameters": {"type": "object"}}
    body = {"model": "gpt-6-sol", "input": items, "tools": [tool], **fields}
    headers = {"authorization": "Bearer sk-one", "x-session-id": session}
    reply = web().post(f"{house.url}/v1/responses", json=body, headers=headers)
    assert reply.status_code == 200, reply.text
    house.settle()
    upstream.script.clear()
    forwarded: Json = json.loads(upstream.arrived[-1].body)
    return forwarded


def open_house(tmp_path: Path, upstream: PlainUpstream, **settings: Any) -> Any:
    return gateway(tmp_path / "store.db", upstream.url, window=16_000, limit=6_000, **settings)


def goes_on(house: House, upstream: PlainUpstream, session: str) -> str:
    again = ask(house, upstream, session, [user(f"Tell me. {LONG}")], whole("next"), previous_response_id="resp_1")
    assert again["previous_response_id"] == "resp_1", "the provider knows which is meant"
    return json.dumps(again)


@pytest.mark.parametrize("sessions", ["xy", "xxy", "xyy"])
def test_of_answers_with_one_id_none_is_gone_on_from(tmp_path: Path, upstream: PlainUpstream, sessions: str) -> None:
    with open_house(tmp_path, upstream) as house:
        for number, session in enumerate(sessions):
            ask(house, upstream, session, [user(f"BIRD{number}{session} {LONG}")], whole("resp_1"))
        for session in "xy":
            assert "BIRD" not in goes_on(house, upstream, session)


def test_an_id_that_two_conversations_have_stays_so_after_a_restart(tmp_path: Path, upstream: PlainUpstream) -> None:
    with open_house(tmp_path, upstream) as house:
        for session in "xy":
            ask(house, upstream, session, [user(f"BIRD{session} {LONG}")], whole("resp_1"))
    with open_house(tmp_path, upstream) as house:
        ask(house, upstream, "y", [user(f"BIRDy {LONG}"), said("Noted."), user("more")], whole("resp_2"))
        assert "BIRD" not in goes_on(house, upstream, "x")


def test_an_id_that_two_gateways_gave_out_is_known_to_both(tmp_path: Path, upstream: PlainUpstream) -> None:
    with open_house(tmp_path, upstream) as one, open_house(tmp_path, upstream) as other:
        for house, session in ((one, "x"), (other, "y")):
            ask(house, upstream, session, [user(f"BIRD{session} {LONG}")], whole("resp_1"))
        assert "BIRD" not in goes_on(one, upstream, "y")
        assert "BIRD" not in goes_on(other, upstream, "x")


def streamed(id: str, item: Json) -> Answer:
    begun = {"type": "response.created", "response": {**whole(id), "status": "in_progress", "output": []}}
    added = {"type": "response.output_item.added", "output_index": 0, "item": item}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    ended = {"type": "response.completed", "response": whole(id, item)}
    events = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in (begun, added, done, ended)]
    return Answer(["".join(events).encode()], headers={"content-type": EVENTS})


def recall_in_two_rounds(house: House, upstream: PlainUpstream) -> None:
    """An answer that its client knows by the id of its first round, and its provider by that of its last."""
    history = [user("Hello."), said("Yes.")]
    for at in range(12):
        history += [user(f"Part {at}. {LONG[:4000]}"), said(f"Noted {at}.")]
    call = {"type": "function_call", "id": "fc", "call_id": "r1", "name": "recall", "status": "completed"}
    call["arguments"] = json.dumps({"question": "alpha"})
    rounds = streamed("resp_shown", call), streamed("resp_own", said("Done."))
    ask(house, upstream, "x", [*history, user("Which?")], *rounds, stream=True)


def go_on_from_shown(house: House, upstream: PlainUpstream) -> Json:
    answer = streamed("resp_next", said("z"))
    fields = {"previous_response_id": "resp_shown", "stream": True}
    return ask(house, upstream, "x", [user("What is resp_shown?"), user("resp_shown")], answer, **fields)


def test_the_users_own_words_are_never_taken_for_an_answers_id(tmp_path: Path, upstream: PlainUpstream) -> None:
    with open_house(tmp_path, upstream, recall=True) as house:
        recall_in_two_rounds(house, upstream)
        forwarded = go_on_from_shown(house, upstream)
    assert forwarded["previous_response_id"] == "resp_own"
    assert forwarded["input"] == [user("What is resp_shown?"), user("resp_shown")]


def test_the_providers_name_of_an_answer_is_known_after_a_restart(tmp_path: Path, upstream: PlainUpstream) -> None:
    with open_house(tmp_path, upstream, recall=True) as house:
        recall_in_two_rounds(house, upstream)
    with open_house(tmp_path, upstream, recall=True) as house:
        assert go_on_from_shown(house, upstream)["previous_response_id"] == "resp_own"


def test_the_providers_name_of_an_answer_is_known_to_another_gateway(tmp_path: Path, upstream: PlainUpstream) -> None:
    with open_house(tmp_path, upstream, recall=True) as one, open_house(tmp_path, upstream, recall=True) as other:
        recall_in_two_rounds(one, upstream)
        assert go_on_from_shown(other, upstream)["previous_response_id"] == "resp_own"
