"""How each format travels: which paths ask for a turn, what a body says, and that closing changes only what it must."""

from __future__ import annotations

from typing import Any

import pytest

from contextfold.dialects import find
from contextfold.dialects.endpoint import AskedTurn, Endpoint, Envelope
from contextfold.domain import decode, encode
from contextfold.errors import BadMessage

Json = dict[str, Any]
FORMATS = ("anthropic", "openai-chat", "openai-responses", "gemini")


def endpoint(dialect: str) -> Endpoint:
    found = find(dialect).endpoint
    assert found is not None
    return found


def opened(dialect: str, body: Json, asked: AskedTurn = AskedTurn()) -> Envelope:  # noqa: B008  # a frozen value
    return endpoint(dialect).open(encode(body), asked)


# -- paths ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "path"),
    [
        ("anthropic", b"/v1/messages"),
        ("openai-chat", b"/v1/chat/completions"),
        ("openai-chat", b"/api/v1.2/chat/completions"),
        ("openai-responses", b"/v1/responses"),
    ],
)
def test_a_turn_is_asked_for_by_posting_to_its_path(dialect: str, path: bytes) -> None:
    assert endpoint(dialect).asks("POST", path) == AskedTurn()
    assert endpoint(dialect).asks("GET", path) is None
    assert endpoint(dialect).asks("POST", path + b"/count_tokens") is None


@pytest.mark.parametrize(("verb", "streams"), [(b"generateContent", False), (b"streamGenerateContent", True)])
def test_geminis_path_names_the_model_and_whether_the_answer_streams(verb: bytes, streams: bool) -> None:
    path = b"/v1beta/models/gemini-2.5-pro:" + verb
    assert endpoint("gemini").asks("POST", path) == AskedTurn("gemini-2.5-pro", streams)
    assert endpoint("gemini").asks("POST", b"/v1beta/models/gemini-2.5-pro:countTokens") is None


# -- opening ----------------------------------------------------------------------------------------------------------


def test_a_body_is_opened_into_what_a_turn_needs_to_know() -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 700,
        "stream": True,
        "system": "Be kind.",
        "tools": [{"name": "read"}],
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}],
        "metadata": {"user_id": "a family"},
    }
    found = opened("anthropic", body)
    assert (found.model, found.output, found.streams, found.system) == ("claude-sonnet-4-5", 700, True, "Be kind.")
    assert (found.tools, found.family, found.chain) == ([{"name": "read"}], "a family", "")
    assert [decode(raw) for raw in found.messages] == body["messages"]
    assert not found.is_schema_bound


def test_a_body_that_says_nothing_leaves_everything_open() -> None:
    found = opened("openai-responses", {})
    assert (found.model, found.output, found.streams, found.messages) == ("", None, False, ())
    assert (found.system, found.tools, found.family, found.chain) == (None, None, "", "")


def test_what_the_path_says_goes_before_what_the_body_says() -> None:
    body = {"model": "other", "stream": True, "contents": []}
    found = opened("gemini", body, AskedTurn("gemini-2.5-pro", streams=False))
    assert (found.model, found.streams) == ("gemini-2.5-pro", False)


def test_words_instead_of_messages_are_those_of_a_user() -> None:
    found = endpoint("openai-responses").open(b'{"input": "hello"}', AskedTurn())
    assert [decode(raw) for raw in found.messages] == [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize("body", [b"", b"[]", b'{"messages": 3}', b'{"messages": {"role": "user"}}', b"[" * 100_000])
def test_what_is_no_request_is_refused_with_the_name_of_what_is_missing(body: bytes) -> None:
    with pytest.raises(BadMessage, match="list of messages"):
        endpoint("anthropic").open(body, AskedTurn())


@pytest.mark.parametrize(
    ("dialect", "body", "output"),
    [
        ("openai-chat", {"max_completion_tokens": 5, "max_tokens": 9}, 5),
        ("openai-chat", {"max_completion_tokens": None, "max_tokens": 9}, 9),
        ("openai-chat", {"max_tokens": True}, None),
        ("gemini", {"generationConfig": {"maxOutputTokens": 7}}, 7),
        ("gemini", {"generationConfig": None}, None),
    ],
)
def test_the_longest_answer_is_the_first_number_among_its_names(dialect: str, body: Json, output: int | None) -> None:
    assert opened(dialect, body).output == output


@pytest.mark.parametrize(
    ("named", "family"),
    [
        ("plain words", "plain words"),
        ('{"session_id": "s1", "device": "d"}', "s1"),
        ('{"session_id": 3}', ""),
        ('{"device": "d"}', ""),
        ("{no JSON", ""),
        (3, ""),
    ],
)
def test_a_conversation_goes_by_the_name_or_the_session_that_the_client_gives_it(named: object, family: str) -> None:
    assert opened("anthropic", {"metadata": {"user_id": named}}).family == family


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("anthropic", {"output_config": {"format": {"type": "json_schema"}}}),
        ("anthropic", {"output_format": {"type": "json_schema"}}),
        ("openai-chat", {"response_format": {"json_schema": {"name": "x"}}}),
        ("openai-responses", {"text": {"format": {"schema": {"type": "object"}}}}),
        ("gemini", {"generationConfig": {"responseSchema": {"type": "OBJECT"}}}),
    ],
)
def test_an_answer_in_a_given_form_is_known_as_wanted(dialect: str, body: Json) -> None:
    assert opened(dialect, body).is_schema_bound
    assert not opened(dialect, {name: {} for name in body}).is_schema_bound


def test_geminis_system_prompt_is_weighed_by_its_texts() -> None:
    system = {"parts": [{"text": "a"}, {"inlineData": {}}, "b", {"text": "c"}]}
    words = [{"type": "text", "text": "a"}, {"type": "text", "text": "c"}]
    assert opened("gemini", {"systemInstruction": system}).system == words
    assert opened("gemini", {"systemInstruction": "words"}).system is None


# -- closing ----------------------------------------------------------------------------------------------------------

NEW: list[bytes] = [b'{"role":"user","content":"new"}']


def closed(dialect: str, body: Json, messages: list[bytes] | None = None, **changes: Any) -> Json:
    found: Json = decode(endpoint(dialect).close(opened(dialect, body), messages, **changes))
    return found


@pytest.mark.parametrize("dialect", FORMATS)
def test_a_body_closed_without_a_change_is_as_it_came(dialect: str) -> None:
    raw = b'{"unknown":{"b":1.50,"a":"\\u00e9"},"model":"m","previous_response_id":"p"}'
    at = endpoint(dialect)
    assert at.close(at.open(raw, AskedTurn()), None) == raw


def test_other_messages_stand_where_the_old_ones_stood_and_follow_no_chain() -> None:
    body = {"model": "m", "input": [{"role": "user", "content": "old"}], "previous_response_id": "p", "store": False}
    found = closed("openai-responses", body, NEW)
    assert found == {"model": "m", "input": [{"role": "user", "content": "new"}], "store": False}
    assert list(found) == ["model", "input", "store"]


def test_no_messages_at_all_is_an_empty_list() -> None:
    assert closed("anthropic", {"messages": [{"role": "user", "content": "old"}]}, []) == {"messages": []}


def test_another_length_is_written_under_every_name_that_has_a_number_and_no_other() -> None:
    both = closed("openai-chat", {"max_completion_tokens": 5, "max_tokens": 9}, output=3)
    assert both == {"max_completion_tokens": 3, "max_tokens": 3}
    assert closed("openai-chat", {"max_tokens": None}, output=3) == {"max_tokens": None}
    config = {"generationConfig": {"temperature": 0, "maxOutputTokens": 9}}
    assert closed("gemini", config, output=3) == {"generationConfig": {"temperature": 0, "maxOutputTokens": 3}}


def test_further_tools_stand_behind_the_clients_own() -> None:
    more = {"name": "recall"}
    assert closed("anthropic", {"tools": [{"name": "read"}]}, tools=[more])["tools"] == [{"name": "read"}, more]
    assert closed("anthropic", {"tools": None}, tools=[more])["tools"] == [more]
    assert closed("anthropic", {}, tools=[more])["tools"] == [more]


@pytest.mark.parametrize(
    ("dialect", "field", "system", "told"),
    [
        ("anthropic", "system", "Be kind.", "Be kind.\n\nBe brief.\n\nBe true."),
        ("anthropic", "system", "", "Be brief.\n\nBe true."),
        ("anthropic", "system", None, "Be brief.\n\nBe true."),
        (
            "anthropic",
            "system",
            [{"type": "text", "text": "Be kind."}],
            [{"type": "text", "text": each} for each in ("Be kind.", "Be brief.", "Be true.")],
        ),
        ("openai-responses", "instructions", "Be kind.", "Be kind.\n\nBe brief.\n\nBe true."),
        ("gemini", "systemInstruction", None, {"parts": [{"text": "Be brief."}, {"text": "Be true."}]}),
        (
            "gemini",
            "systemInstruction",
            {"role": "system", "parts": [{"text": "Be kind."}]},
            {"role": "system", "parts": [{"text": each} for each in ("Be kind.", "Be brief.", "Be true.")]},
        ),
    ],
)
def test_more_words_of_the_system_stand_behind_its_own(dialect: str, field: str, system: object, told: object) -> None:
    assert closed(dialect, {field: system}, system=["Be brief.", "Be true."])[field] == told


def test_where_the_system_speaks_in_messages_more_of_it_follows_those_at_the_front() -> None:
    said = [
        {"role": "system", "content": "a"},
        {"role": "developer", "content": "b"},
        {"role": "user", "content": "c"},
        {"role": "system", "content": "d"},
    ]
    more = {"role": "system", "content": "more"}
    assert closed("openai-chat", {"messages": said}, system=["more"])["messages"] == [*said[:2], more, *said[2:]]
    only = [encode(each) for each in said[:2]]
    assert closed("openai-chat", {"messages": said}, only, system=["more"])["messages"] == [*said[:2], more]


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", FORMATS)
@pytest.mark.parametrize("status", [400, 413])
def test_a_refusal_of_ours_for_length_is_one_that_we_would_understand(dialect: str, status: int) -> None:
    refused = endpoint(dialect).refuse(400, "too_long", "Send less.")
    assert endpoint(dialect).overflows(status, refused)
    assert b"Send less." in refused
    assert not endpoint(dialect).overflows(500, refused)
    assert not endpoint(dialect).overflows(status, endpoint(dialect).refuse(400, "", "A field is missing."))


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (499, "invalid_request_error"),
        (500, "api_error"),
        (529, "api_error"),
    ],
)
def test_anthropics_clients_read_the_kind_of_an_error(status: int, kind: str) -> None:
    told = {"type": "error", "error": {"type": kind, "message": "No."}}
    assert decode(endpoint("anthropic").refuse(status, "", "No.")) == told


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
def test_openais_clients_read_whose_fault_it_was_and_the_code_of_a_length(dialect: str) -> None:
    def told(status: int, kind: str) -> tuple[str, str | None]:
        error = decode(endpoint(dialect).refuse(status, kind, "No."))["error"]
        return error["type"], error["code"]

    assert told(400, "too_long") == ("invalid_request_error", "context_length_exceeded")
    assert told(400, "") == told(413, "too_long") == told(499, "") == ("invalid_request_error", None)
    assert told(500, "") == ("server_error", None)


@pytest.mark.parametrize(
    ("status", "named"),
    [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (413, "INVALID_ARGUMENT"),
        (429, "RESOURCE_EXHAUSTED"),
        (502, "UNAVAILABLE"),
        (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
        (418, "FAILED_PRECONDITION"),
    ],
)
def test_geminis_clients_read_the_status_by_its_name(status: int, named: str) -> None:
    error = decode(endpoint("gemini").refuse(status, "", "No."))["error"]
    assert (error["code"], error["status"], error["message"]) == (status, named, "No.")


# -- what clients are known to send -----------------------------------------------------------------------------------


def test_anthropics_cache_marks_come_off_messages_and_blocks_and_stay_in_what_a_tool_is_given() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    inner = {"type": "text", "text": "b", **mark}
    call = {"type": "tool_use", "id": "t", "name": "n", "input": mark, **mark}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [inner, "words"], **mark}
    messages = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result], **mark}]
    joined = b",".join(encode(each) for each in messages)
    bare = decode(b"[" + endpoint("anthropic").unmarked(joined) + b"]")
    assert bare == [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": mark}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "b"}, "words"]}
            ],
        },
    ]
    plain = b'{"role":"user",  "content":"as it came"}'
    assert endpoint("anthropic").unmarked(plain) is plain


def calls(*names: str) -> Json:
    return {"role": "model", "parts": [{"functionCall": {"name": name}} for name in names]}


def gives(*names: str) -> Json:
    return {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {}}} for name in names]}


def mended(*contents: object) -> list[Json]:
    return [decode(raw) for raw in endpoint("gemini").mended([encode(each) for each in contents])]


def test_a_function_response_that_gemini_cli_sends_twice_goes_out_once() -> None:
    assert mended(calls("a", "b"), gives("a", "b"), gives("a", "b")) == [calls("a", "b"), gives("a", "b")]
    assert mended(calls("a", "b"), gives("a"), gives("a", "b")) == [calls("a", "b"), gives("a"), gives("b")]


def test_two_calls_of_one_function_keep_a_response_each() -> None:
    said = [calls("a", "a"), gives("a", "a")]
    assert mended(*said) == said
    assert mended(*said, calls("a"), gives("a")) == [*said, calls("a"), gives("a")]


def test_a_response_that_nobody_asked_for_and_what_is_no_content_stay_as_they_are() -> None:
    said = [gives("a"), gives("a"), {"role": "user"}, "words", {"role": "user", "parts": ["x", {"text": "y"}]}]
    assert mended(*said) == said


def test_calls_with_ids_are_told_apart_by_them() -> None:
    called = {"role": "model", "parts": [{"functionCall": {"id": each, "name": "a"}} for each in ("1", "2")]}
    answer = {"functionResponse": {"id": "1", "name": "a"}}
    given = {"role": "user", "parts": [answer, answer]}
    assert mended(called, given) == [called, {"role": "user", "parts": [answer]}]
