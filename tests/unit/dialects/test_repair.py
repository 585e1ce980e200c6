"""Repairs one by one: what each turns into what. That they are sound and lose nothing is tested by properties."""

from typing import Any

import pytest

import contextfold as cf
from contextfold.dialects import OPENINGS
from contextfold.dialects.repairs import matched
from contextfold.domain import INTERRUPTED, Language

USER: dict[str, Any] = {"role": "user", "content": "hi"}
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}


def repaired(dialect: str, **body: Any) -> tuple[dict[str, Any], list[str]]:
    found = cf.repair(body, dialect=dialect)
    assert found.problems == ()
    return found.body, [each.rule for each in found.repairs]


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def call(id_: Any = "a", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "f", "input": {}, **more}


def result(id_: Any = "a", content: Any = "x") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content}


# -- anthropic --------------------------------------------------------------------------------------------------------


def test_a_late_result_stays_where_it_arrived_with_its_picture() -> None:
    late = {"role": "user", "content": [result(content=[text("seen"), IMAGE])]}
    body, rules = repaired("anthropic", messages=[USER, {"role": "assistant", "content": [call()]}, USER, late, USER])
    assert rules == ["results-first"], "the model has not spoken since, so it is moved"
    assistant = {"role": "assistant", "content": "Going on."}
    body, rules = repaired(
        "anthropic", messages=[USER, {"role": "assistant", "content": [call()]}, USER, assistant, late, USER]
    )
    assert rules == ["unanswered-call", "orphan-result"]
    answer = {**result(content=INTERRUPTED), "is_error": True}
    assert body["messages"][2]["content"] == [answer, text("hi")]
    assert body["messages"][4]["content"] == [text("[Late result of tool call a]\nseen"), IMAGE]


def test_an_id_used_twice_is_renamed_on_both_sides() -> None:
    turn = [{"role": "assistant", "content": [call()]}, {"role": "user", "content": [result()]}]
    body, rules = repaired("anthropic", messages=[USER, *turn, *turn])
    assert rules == ["duplicate-call"]
    assert body["messages"][3]["content"][0]["id"] == body["messages"][4]["content"][0]["tool_use_id"] == "a-2"


def test_a_paused_turn_is_left_to_be_continued() -> None:
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    body, rules = repaired("anthropic", messages=[USER, USER, {"role": "assistant", "content": [text(" "), search]}])
    assert rules == ["blank-text"]
    assert body["messages"][-1] == {"role": "assistant", "content": [search]}


def test_a_system_message_of_pictures_becomes_the_users() -> None:
    body, _ = repaired("anthropic", messages=[USER, {"role": "system", "content": [IMAGE]}])
    assert body["messages"][1] == {"role": "user", "content": [text("[System message]"), IMAGE]}


def test_pictures_of_a_first_system_message_become_the_users() -> None:
    first = {"role": "system", "content": [text("Be kind."), IMAGE]}
    body, rules = repaired("anthropic", messages=[first, USER])
    assert body["system"] == [text("Be kind.")]
    assert body["messages"] == [{"role": "user", "content": [text("[System message]"), IMAGE]}, USER]
    assert rules == ["system-placement", "system-placement"]


def test_a_first_system_message_of_pictures_alone_leaves_no_system_part() -> None:
    body, rules = repaired("anthropic", messages=[{"role": "system", "content": [IMAGE]}, USER])
    assert "system" not in body
    assert body["messages"][0] == {"role": "user", "content": [text("[System message]"), IMAGE]}
    assert rules == ["system-placement"]


def test_what_stands_in_place_of_words_is_written_as_words_and_told() -> None:
    body, rules = repaired("gemini", contents=[{"role": "user", "parts": [{"text": {"a": 1}}]}])
    assert body["contents"] == [{"role": "user", "parts": [{"text": '{"a":1}'}]}]
    assert rules == ["empty-part"]


def test_system_messages_in_front_join_the_system_prompt() -> None:
    first = {"role": "system", "content": "Be kind."}
    body, _ = repaired("anthropic", system="Be brief.", messages=[first, USER])
    assert body["system"] == [text("Be brief."), text("Be kind.")]
    assert repaired("anthropic", messages=[first, USER])[0]["system"] == [text("Be kind.")]


def test_a_text_that_is_no_words_is_written_as_words() -> None:
    body, _ = repaired("anthropic", messages=[{"role": "user", "content": [text("a"), {"type": "text", "text": 7}]}])
    assert body["messages"][0]["content"][1] == text("7")


def test_a_result_with_nothing_left_stays_as_an_empty_answer() -> None:
    turn = {"role": "assistant", "content": [call(id=None)]}
    body, rules = repaired("anthropic", messages=[USER, turn, {"role": "user", "content": [result(None, [text(" ")])]}])
    assert "blank-text" in rules
    assert body["messages"][2]["content"] == [{"type": "tool_result", "tool_use_id": "call"}]


# -- openai chat ------------------------------------------------------------------------------------------------------


def function(id_: Any = "a", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": "f", "arguments": arguments}}


def test_an_answer_behind_other_words_is_moved_to_its_call() -> None:
    calling = {"role": "assistant", "content": None, "tool_calls": [function()]}
    answer = {"role": "tool", "tool_call_id": "a", "content": "x"}
    body, rules = repaired("openai-chat", messages=[USER, calling, USER, answer])
    assert rules == ["unanswered-call"]
    assert body["messages"] == [USER, calling, answer, USER]


def test_the_older_function_calls_are_paired_by_name() -> None:
    calling = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    answer = {"role": "function", "name": "f", "content": "x"}
    assert repaired("openai-chat", messages=[USER, calling, USER, answer])[0]["messages"][2] == answer
    assert repaired("openai-chat", messages=[USER, calling])[0]["messages"][2] == {**answer, "content": INTERRUPTED}
    body, rules = repaired("openai-chat", messages=[USER, {**answer, "content": None}])
    assert rules == ["null-content", "orphan-result"]
    assert body["messages"][1] == {"role": "user", "content": "[Late result of tool call f]"}


def test_odd_calls_become_functions_with_arguments_as_text() -> None:
    calls = [{"id": "a", "custom": {"name": "g", "input": ["x"]}}, {"id": "b", "what": 1}]
    body, _ = repaired("openai-chat", messages=[USER, {"role": "assistant", "tool_calls": calls}])
    first, second = body["messages"][1]["tool_calls"]
    assert first["custom"]["input"] == "x"
    assert second["function"] == {"name": "unknown_tool", "arguments": '{"id":"b","what":1}'}


def test_pictures_of_a_late_answer_stay() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    late = {"role": "tool", "tool_call_id": "a", "content": [text("seen"), picture]}
    body, _ = repaired("openai-chat", messages=[USER, late])
    assert body["messages"][1]["content"] == [text("[Late result of tool call a]\nseen"), picture]


# -- responses --------------------------------------------------------------------------------------------------------


def test_items_without_a_type_are_known_by_what_they_hold() -> None:
    items = [USER, {"call_id": "a", "name": "f", "arguments": "{}"}, {"call_id": "a", "output": "x"}, {"odd": 1}]
    body, rules = repaired("openai-responses", input=items)
    assert rules == ["malformed"] * 3
    assert [item.get("type") for item in body["input"]] == [None, "function_call", "function_call_output", "message"]


def test_an_open_call_of_a_tool_that_answers_in_pictures_is_told_in_words() -> None:
    computer = {"type": "computer_call", "call_id": "a", "id": "cu_1"}
    body, rules = repaired("openai-responses", input=[USER, computer, USER])
    assert rules == ["unanswered-call"]
    assert body["input"][1]["role"] == "assistant"


def test_what_an_assistant_cannot_say_is_shown_on_the_users_side() -> None:
    image = {"type": "input_image", "image_url": "https://example.org/a.png"}
    spoken = {"role": "assistant", "content": [text("see"), image]}
    asked = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/b.png"}}, 7]}
    body, _ = repaired("openai-responses", input=[USER, spoken, asked])
    assert body["input"][1]["content"] == [{"type": "output_text", "text": "see"}]
    assert body["input"][2]["content"] == [image]
    first, second = body["input"][3]["content"]
    assert first == {"type": "input_image", "image_url": "https://example.org/b.png"}
    assert second == {"type": "input_text", "text": "7"}


def test_outputs_for_calls_that_the_provider_keeps_are_left_alone() -> None:
    outputs = [{"type": "function_call_output", "call_id": "a", "output": said} for said in ("x", "again")]
    body, rules = repaired("openai-responses", previous_response_id="resp_1", input=outputs)
    assert rules == ["orphan-output"]
    assert body["input"][0] == outputs[0]
    assert body["input"][1]["role"] == "user"


# -- gemini -----------------------------------------------------------------------------------------------------------


def test_a_single_content_or_bare_words_become_a_list() -> None:
    assert repaired("gemini", contents="hi")[0]["contents"] == [{"role": "user", "parts": [{"text": "hi"}]}]
    content = {"role": "user", "parts": [{"text": "hi"}]}
    assert repaired("gemini", contents=content)[0]["contents"] == [content]


def test_messages_of_another_dialect_are_read_as_contents() -> None:
    messages = [{"role": "system", "content": "Be brief."}, USER, {"role": "assistant", "content": "hello"}, USER]
    later = {"role": "system", "content": "Be kind."}
    body, _ = repaired("gemini", contents=[*messages, later], systemInstruction="You help.")
    assert body["systemInstruction"] == {"parts": [{"text": "You help."}, {"text": "Be brief."}]}
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user", "user"]
    assert body["contents"][3]["parts"] == [{"text": "[System message]\nBe kind."}]


def test_a_signature_stays_with_the_call_when_its_part_is_split() -> None:
    part = {"functionCall": {"name": "f"}, "text": "so", "thoughtSignature": "c2ln"}
    contents = [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [part]}]
    body, rules = repaired("gemini:signed", contents=contents)
    assert rules == ["two-in-a-part", "unanswered-call"]
    assert body["contents"][1]["parts"] == [{"text": "so"}, {"functionCall": {"name": "f"}, "thoughtSignature": "c2ln"}]


@pytest.mark.parametrize(("given", "kept"), [('{"a": 1}', {"a": 1}), ("words", {"arguments": "words"}), ("", {})])
def test_arguments_that_are_no_object_become_one(given: str, kept: dict[str, Any]) -> None:
    parts = [{"functionCall": {"name": "f", "args": given}}]
    contents = [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": parts}]
    body, _ = repaired("gemini", contents=contents)
    assert body["contents"][1]["parts"][0]["functionCall"]["args"] == kept


@pytest.mark.finding("W15")
def test_a_second_answer_to_a_call_that_stands_apart_from_the_first_becomes_text() -> None:
    function = {"name": "read", "arguments": "{}"}
    calls = [{"id": each, "type": "function", "function": function} for each in "ab"]
    answers = [
        {"role": "tool", "tool_call_id": each, "content": f"{number}{each}"} for number, each in enumerate("aba")
    ]
    body = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": calls}, *answers]}
    (problem,) = cf.validate(body, dialect="openai-chat")
    assert (problem.path, problem.rule) == ("messages[4]", "duplicate-result")
    repaired = cf.repair(body, dialect="openai-chat")
    assert repaired.is_sound
    assert [message.get("tool_call_id") for message in repaired.body["messages"][2:]] == ["a", "b", None]
    assert repaired.body["messages"][4]["content"] == "[Late result of tool call a]\n2a"


@pytest.mark.finding("W15")
def test_reasoning_before_a_request_for_approval_stays_with_it() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
    request = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "drop", "arguments": "{}", "server_label": "db"}
    answer = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    items = [{"role": "user", "content": "hi"}, reasoning, request, answer]
    assert cf.validate({"input": items}, dialect="openai-responses") == []
    with cf.Session.open(model="gpt-5.5") as session:
        session.append(items[0])
        session.append([reasoning, request])
        session.append(answer)
        assert session.prepare().body["input"] == items


@pytest.mark.parametrize(
    ("calls", "results", "places"),
    [
        (["a", "b"], ["b", "unknown"], [1, None]),
        (["a", "b"], ["b", ""], [1, 0]),
        (["a", "a"], ["a", "a", "a"], [0, 1, None]),
        (["a"], [None, None], [0, None]),
    ],
)
def test_a_result_takes_the_call_of_its_id_and_only_one_without_an_id_takes_any(
    calls: list[object], results: list[object], places: list[int | None]
) -> None:
    assert matched(calls, results) == places


def test_a_speaker_of_another_format_is_understood_behind_known_ones() -> None:
    body, rules = repaired("anthropic", messages=[USER, {"role": "model", "content": "Hello."}, USER])
    assert [each["role"] for each in body["messages"]] == ["user", "assistant", "user"]
    assert len(rules) == 1


def test_a_result_inside_the_message_of_its_call_gets_one_of_its_own() -> None:
    both = {"role": "assistant", "content": [call(), result()]}
    body, rules = repaired("anthropic", messages=[USER, both, USER])
    assert body["messages"][1] == {"role": "assistant", "content": [call()]}
    assert body["messages"][2]["role"] == "user"
    assert body["messages"][2]["content"][0] == result()
    assert "misplaced-tool" in rules


@pytest.mark.parametrize(("first", "language"), [("Here is the plan.", "en"), ("これが計画です。", "ja")])
def test_what_is_put_in_front_of_the_models_first_words_is_in_their_language(first: str, language: Language) -> None:
    opened = {"role": "assistant", "content": first}
    other = {"role": "user", "content": "Yes, do it." if language == "ja" else "はい、お願いします。"}
    body, rules = repaired("anthropic", messages=[opened, other])
    assert rules == ["first-from-user"]
    assert body["messages"][0]["content"] == [text(OPENINGS[language])]


@pytest.mark.parametrize(
    ("empty", "rule"),
    [
        ({"role": "assistant", "content": None}, "null-content"),
        ({"role": "assistant", "content": " "}, "empty-message"),
        ({"role": "user", "content": [text("\n"), text("")]}, "empty-message"),
        ({"role": "user", "content": None, "refusal": "No."}, "null-content"),
    ],
)
def test_a_message_of_a_completion_that_says_nothing_is_left_out(empty: dict[str, Any], rule: str) -> None:
    body, rules = repaired("openai-chat", messages=[USER, empty, USER])
    assert body["messages"] == [USER, USER]
    assert rules == [rule]


@pytest.mark.parametrize("field", ["refusal", "audio"])
def test_a_message_of_the_assistants_without_words_stays_for_what_stands_in_their_place(field: str) -> None:
    stands = {"role": "assistant", "content": None, field: "No." if field == "refusal" else {"id": "audio_1"}}
    assert repaired("openai-chat", messages=[USER, stands, USER])[0]["messages"] == [USER, stands, USER]


def test_an_output_that_nobody_asked_for_becomes_words_and_keeps_its_pictures() -> None:
    image = {"type": "input_image", "image_url": "https://example.org/a.png"}
    output = [{"type": "input_text", "text": "seen"}, image]
    late = {"type": "function_call_output", "call_id": "a", "output": output}
    body, rules = repaired("openai-responses", input=[USER, late])
    assert rules == ["orphan-output"]
    told = {"type": "input_text", "text": "[Late result of tool call a]\nseen"}
    assert body["input"][1] == {"role": "user", "content": [told, image]}


def test_a_system_content_that_begins_with_a_picture_becomes_the_users_as_it_is() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    hello = {"role": "user", "parts": [{"text": "hi"}]}
    later = {"role": "system", "parts": [picture, {"text": "Look."}]}
    body, _ = repaired("gemini", contents=[hello, {"role": "model", "parts": [{"text": "yes"}]}, later])
    assert body["contents"][2] == {"role": "user", "parts": [picture, {"text": "Look."}]}


def test_an_empty_last_message_of_the_assistants_is_a_prefill_and_one_that_became_empty_is_not() -> None:
    empty = {"role": "assistant", "content": []}
    body, rules = repaired("anthropic", model="claude-sonnet-4-5", messages=[USER, empty])
    assert (body["messages"], rules) == ([USER, empty], [])
    body, rules = repaired(
        "anthropic", model="claude-sonnet-4-5", messages=[USER, {"role": "assistant", "content": [text(" ")]}]
    )
    assert body["messages"] == [USER]
    assert rules == ["blank-text", "empty-message"]
