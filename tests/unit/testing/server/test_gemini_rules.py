"""What Gemini would reject, rejected in its own words."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from contextfold.testing.server import Call, Say, StrictServer

from .conftest import Post

Change = Callable[[dict[str, Any]], Any]

USER = {"role": "user", "parts": [{"text": "Read it."}]}
CALL = {"functionCall": {"name": "read", "args": {"path": "a"}}, "thoughtSignature": "skip_thought_signature_validator"}
RESPONSE = {"functionResponse": {"name": "read", "response": {"output": "x = 1"}}}
BODY: dict[str, Any] = {
    "contents": [USER, {"role": "model", "parts": [{"text": "I will."}, CALL]}, {"role": "user", "parts": [RESPONSE]}]
}


def parts(number: int, *said: dict[str, Any]) -> Change:
    return lambda body: body["contents"][number].update(parts=list(said))


def pop(number: int) -> Change:
    return lambda body: body["contents"].pop(number)


UNSIGNED = {"functionCall": CALL["functionCall"]}
BROKEN: list[tuple[str, str, Change]] = [
    ("call-without-result", "must be followed by its function response", pop(2)),
    ("result-without-call", "immediately after a function call turn", pop(1)),
    ("call-place", "after a user turn or after a function response turn", pop(0)),
    ("call-without-result", "followed", lambda body: body["contents"].insert(2, USER)),
    ("result-count", "number of function response parts", parts(2, RESPONSE, RESPONSE)),
    ("result-count", "number of function response parts", parts(1, CALL, UNSIGNED)),
    ("result-name", "names", parts(2, {"functionResponse": {"name": "write", "response": {}}})),
    ("signature-missing", "missing a thought_signature", parts(1, UNSIGNED)),
    ("signature", "Corrupted thought signature", parts(1, {**CALL, "thoughtSignature": "YWJj"})),
    ("role", "valid role: user, model", lambda body: body["contents"][0].update(role="system")),
    ("empty-message", "contents.parts must not be empty", parts(0)),
    ("part-data", "required oneof field 'data'", parts(0, {"thought": True})),
    ("empty-text", "empty text parameter", parts(0, {"text": ""})),
    ("field-unknown", "Cannot find field", parts(0, {"text": "x", "mood": "good"})),
    ("field-unknown", 'Unknown name "mood"', lambda body: body.update(mood="good")),
    ("response", "response", parts(2, {"functionResponse": {"name": "read", "response": "x"}})),
    ("call", "turn of the model", parts(0, CALL)),
    ("no-messages", "contents is not specified", lambda body: body.update(contents=[])),
]


@pytest.mark.parametrize(("rule", "words", "change"), BROKEN, ids=lambda each: each if isinstance(each, str) else "")
def test_a_request_that_breaks_a_rule_is_refused_in_googles_shape(
    post: Post, server: StrictServer, rule: str, words: str, change: Change
) -> None:
    body = deepcopy(BODY)
    change(body)
    answer = post("gemini", body)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
    assert words in error["message"]
    assert server.last.refused is not None
    assert server.last.refused.rule == rule


def test_both_spellings_of_a_field_are_known(post: Post) -> None:
    snake = deepcopy(BODY)
    part = snake["contents"][1]["parts"][1]
    snake["contents"][1]["parts"][1] = {
        "function_call": part["functionCall"],
        "thought_signature": part["thoughtSignature"],
    }
    assert post("gemini", BODY).status_code == 200
    assert post("gemini", {**snake, "system_instruction": {"parts": [{"text": "Be brief."}]}}).status_code == 200


def test_a_signature_stays_on_its_exact_part(post: Post, server: StrictServer) -> None:
    server.answer(Say("", (Call("read", {"path": "a"}), Call("read", {"path": "b"})), thinking="Both."))
    turn = post("gemini", {"contents": [USER]}).json()["candidates"][0]["content"]
    calls = [part for part in turn["parts"] if "functionCall" in part]
    assert ["thoughtSignature" in part for part in calls] == [True, False]
    results = [
        {"functionResponse": {"id": part["functionCall"]["id"], "name": "read", "response": {}}} for part in calls
    ]
    body: dict[str, Any] = {"contents": [USER, turn, {"role": "user", "parts": results}]}
    assert post("gemini", body).status_code == 200
    calls[0]["functionCall"]["args"] = {"path": "c"}
    assert "Corrupted" in post("gemini", body).json()["error"]["message"]


def test_the_window_is_a_limit_told_in_googles_words(post: Post) -> None:
    long = {"contents": [{"role": "user", "parts": [{"text": "word " * 1_100_000}]}]}
    told = post("gemini", long).json()["error"]["message"]
    assert told.endswith("exceeds the maximum number of tokens allowed (1048576).")
