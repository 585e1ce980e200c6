"""What one format has and another has not: converted, or left out and told; never refused, never silent."""

from typing import Any

import pytest

import contextfold as cf
from contextfold.dialects import tools
from contextfold.errors import BadConfiguration, BadMessage

MODELS = ("claude-sonnet-5-5", "gpt-4.1", "gpt-5.5", "gemini-3.8-flash")
USER: dict[str, Any] = {"role": "user", "content": "hi"}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}}}
READ = {"name": "read", "input_schema": SCHEMA}
GRAMMAR = {"syntax": "lark", "definition": "start: WORD"}
PATCH = {
    "type": "custom",
    "name": "patch",
    "description": "Apply it.",
    "format": {"type": "grammar", **GRAMMAR},
}


def prepared(*messages: dict[str, Any], model: str = "claude-sonnet-5-5", **settings: Any) -> cf.Request:
    with cf.Session.open(model=model) as session:
        for message in messages:
            session.append(message)
        return session.prepare(cache=False, **settings)


# -- tools --------------------------------------------------------------------------------------------------------


@pytest.mark.finding("W7")
@pytest.mark.parametrize("given", [READ, {"type": "function", "function": {"name": "read", "parameters": SCHEMA}}])
def test_a_tool_written_elsewhere_keeps_its_optional_parameters_in_responses(given: dict[str, Any]) -> None:
    (written,) = prepared(USER, model="gpt-5.5", tools=[given]).body["tools"]
    assert written == {"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}


@pytest.mark.finding("W9")
def test_a_strict_tool_stays_strict_where_there_is_such_a_thing_and_is_told_elsewhere() -> None:
    strict = [{**READ, "strict": True}]
    assert prepared(USER, model="gpt-5.5", tools=strict).body["tools"][0]["strict"] is True
    assert prepared(USER, model="gpt-4.1", tools=strict).body["tools"][0]["function"]["strict"] is True
    assert tools.losses(strict, "openai-chat") == ()
    (loss,) = tools.losses(strict, "gemini")
    assert loss.startswith("the tool 'read' is offered without 'strict'")


@pytest.mark.finding("W8")
def test_a_tool_that_takes_free_text_is_one_in_both_formats_of_openai() -> None:
    custom = {"name": "patch", "description": "Apply it.", "format": {"type": "grammar", "grammar": GRAMMAR}}
    chat = {"type": "custom", "custom": custom}
    assert tools.written([PATCH], "openai-chat") == [chat]
    assert tools.written([chat], "openai-responses") == [PATCH]
    assert tools.losses([PATCH], "openai-chat") == tools.losses([chat], "openai-responses") == ()


@pytest.mark.finding("W8")
def test_a_tool_that_takes_free_text_is_offered_elsewhere_with_one_field_and_that_is_told() -> None:
    request = prepared(USER, tools=[PATCH])
    (written,) = request.body["tools"]
    assert (written["name"], written["description"]) == ("patch", "Apply it.")
    assert written["input_schema"]["properties"] == {"input": {"type": "string"}}
    assert any("'patch' takes free text" in loss for loss in request.report.losses)
    declared = prepared(USER, tools=[PATCH], dialect="gemini").body["tools"][0]["functionDeclarations"]
    assert [each["name"] for each in declared] == ["patch"]


@pytest.mark.finding("W8")
@pytest.mark.parametrize(
    ("tool", "home"),
    [
        ({"type": "mcp_toolset", "mcp_server_name": "crm"}, "anthropic"),
        ({"type": "tool_search_tool_bm25", "name": "tool_search_tool_bm25"}, "anthropic"),
        ({"type": "programmatic_tool_calling"}, "openai-responses"),
        ({"type": "web_search_2025_08_26"}, "openai-responses"),
    ],
)
def test_a_providers_own_tool_goes_to_no_other_and_that_is_told(tool: dict[str, Any], home: str) -> None:
    assert tools.written([tool], home) == [tool]
    assert tools.losses([tool], home) == ()
    for dialect in {"anthropic", "openai-chat", "openai-responses", "gemini"} - {home}:
        assert tools.written([tool], dialect) == []
        assert len(tools.losses([tool], dialect)) == 1


@pytest.mark.finding("W8")
def test_the_tools_of_a_namespace_are_offered_without_it_and_that_is_told() -> None:
    function = {"type": "function", "name": "read", "parameters": SCHEMA}
    space = {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [function, PATCH]}
    request = prepared(USER, tools=[space])
    assert [tool["name"] for tool in request.body["tools"]] == ["read", "patch"]
    assert "the tools of 'crm' are offered without their namespace" in request.report.losses


# -- settings -----------------------------------------------------------------------------------------------------


@pytest.mark.finding("W11")
@pytest.mark.parametrize("given", [{"temperature": 1.0}, {"temperature": 0.2}, {"top_p": 0.9}, {"top_k": 5}])
def test_sampling_that_a_model_does_not_take_is_left_out_and_told(given: dict[str, Any]) -> None:
    request = prepared(USER, **given)
    (name,) = given
    assert name not in request.body
    assert request.report.losses == (f"{name!r} is left out: this model takes no sampling parameters",)
    kept = prepared(USER, model="claude-sonnet-4-5", **given)
    assert kept.body[name] == given[name]
    assert kept.report.losses == ()


@pytest.mark.finding("W11")
def test_the_default_temperature_is_no_problem_in_anybodys_request() -> None:
    body = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": [USER]}
    assert cf.validate({**body, "temperature": 1.0}) == []
    assert [each.rule for each in cf.validate({**body, "temperature": 0.5})] == ["sampling"]


@pytest.mark.finding("W15")
@pytest.mark.parametrize("model", MODELS)
def test_a_system_prompt_of_another_kind_is_refused_in_words(model: str) -> None:
    with pytest.raises(BadConfiguration, match="'system' is a string or a list of text blocks; this is a dict"):
        prepared(USER, model=model, system={"parts": [{"text": "Be brief."}]})


# -- messages that only Anthropic has -----------------------------------------------------------------------------

ADDITION = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "read"}}
REMOVAL = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "read"}}
EFFORT: dict[str, Any] = {"role": "system", "output_config": {"effort": "low"}}


@pytest.mark.finding("W5")
@pytest.mark.parametrize("block", [ADDITION, REMOVAL])
def test_tools_that_come_and_go_in_a_system_message_are_taken_by_every_door(block: dict[str, Any]) -> None:
    system: dict[str, Any] = {"role": "system", "content": [{"type": "text", "text": "From now on:"}, block]}
    request = prepared(USER, system)
    assert request.body["messages"] == [USER, system]
    assert cf.validate(request.body, dialect="anthropic") == []
    broken = {**request.body, "messages": [USER, {"role": "user", "content": ""}, system]}
    assert cf.repair(broken, dialect="anthropic").body["messages"] == [USER, system]


@pytest.mark.finding("W5")
@pytest.mark.parametrize("block", [ADDITION, REMOVAL])
@pytest.mark.parametrize("words", [[], [{"type": "text", "text": "From now on:"}]])
def test_tools_that_come_and_go_in_a_first_system_message_stand_behind_the_user(block: Any, words: list[Any]) -> None:
    system: dict[str, Any] = {"role": "system", "content": [*words, block]}
    request = prepared(system, USER)
    assert request.body["messages"] == [USER, {"role": "system", "content": [block]}]
    assert request.body.get("system") == (words or None)
    assert cf.validate(request.body, dialect="anthropic") == []
    broken = {**request.body, "messages": [system, USER], "system": []}
    repaired = cf.repair(broken, dialect="anthropic").body
    assert repaired["messages"] == request.body["messages"]
    assert repaired.get("system", []) == words


@pytest.mark.finding("W5")
def test_tools_that_come_and_go_behind_the_assistant_are_not_dropped() -> None:
    system: dict[str, Any] = {"role": "system", "content": [ADDITION]}
    sent = prepared(USER, {"role": "assistant", "content": "ok"}, system, USER).body
    assert {"role": "system", "content": [ADDITION]} in sent["messages"]
    assert cf.validate(sent, dialect="anthropic") == []


@pytest.mark.finding("W15")
def test_a_system_message_that_only_sets_something_stays() -> None:
    request = prepared(USER, EFFORT)
    assert request.body["messages"] == [USER, EFFORT]
    assert cf.validate(request.body, dialect="anthropic") == []
    broken = {**request.body, "messages": [USER, {"role": "user", "content": ""}, EFFORT]}
    assert cf.repair(broken, dialect="anthropic").body["messages"] == [USER, EFFORT]


@pytest.mark.finding("W6")
def test_what_the_api_made_of_everything_before_stands_first_with_nothing_in_front() -> None:
    made = {"role": "assistant", "content": [{"type": "compaction", "content": "They met.", "signature": "s"}]}
    body = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": [made, USER]}
    assert cf.validate(body) == []
    broken = {**body, "messages": [made, {"role": "user", "content": ""}, USER]}
    assert cf.repair(broken).body["messages"] == [made, USER]


# -- signatures of Gemini -----------------------------------------------------------------------------------------

CALL: dict[str, Any] = {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]}
ANSWERED = {"functionResponse": {"name": "read", "response": {"output": "x"}}}
ANSWER: dict[str, Any] = {"role": "user", "parts": [ANSWERED]}
ASKED: dict[str, Any] = {"role": "user", "parts": [{"text": "hi"}]}


@pytest.mark.finding("W12")
def test_only_the_current_loop_wants_its_calls_signed() -> None:
    over = {"contents": [ASKED, CALL, ANSWER, {"role": "model", "parts": [{"text": "so"}]}, ASKED]}
    assert cf.validate(over, dialect="gemini:signed") == []
    running = {"contents": [*over["contents"], CALL, ANSWER]}
    (problem,) = cf.validate(running, dialect="gemini:signed")
    assert (problem.rule, problem.path) == ("missing-signature", "contents[5].parts[0]")
    repaired = cf.repair(running, dialect="gemini:signed")
    assert repaired.is_sound
    assert repaired.body["contents"][:5] == over["contents"]


@pytest.mark.finding("W12")
def test_another_providers_session_is_written_for_gemini_with_what_it_needs() -> None:
    call = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}
    request = prepared(USER, {"role": "assistant", "content": [call]}, answer, dialect="gemini")
    assert cf.validate(request.body, dialect="gemini:signed") == []
    assert request.body["contents"][1]["parts"][0]["thoughtSignature"]


# -- pictures, files, sound, names --------------------------------------------------------------------------------

PNG, PDF, WAV = "iVBORw0KGgo" + "A" * 9, "JVBERi0x" + "A" * 8, "UklGRg" + "A" * 10


def content(*parts: dict[str, Any], role: str = "user") -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def blob(media_type: str, data: str) -> dict[str, Any]:
    return {"inlineData": {"mimeType": media_type, "data": data}}


def file(uri: str, media_type: str) -> dict[str, Any]:
    return {"fileData": {"mimeType": media_type, "fileUri": uri}}


def rendered(message: dict[str, Any], target: str) -> tuple[str, str]:
    """What a message of a Gemini session is in another format, and the losses that are told."""
    messages = [ASKED, message, ASKED] if message["role"] == "model" else [message]
    request = prepared(*messages, model="gemini-3.8-flash", dialect=target)
    assert cf.validate(request.body, dialect=target) == []
    return request.json.decode(), " | ".join(request.report.losses)


@pytest.mark.finding("W9")
def test_a_picture_that_a_model_made_is_named_where_a_model_may_show_none() -> None:
    body, losses = rendered(content({"text": "Here."}, blob("image/png", PNG), role="model"), "anthropic")
    assert PNG not in body
    assert "[Image not carried over: image/png]" in body
    assert "an image (image/png) is named, not shown" in losses


@pytest.mark.finding("W9")
@pytest.mark.parametrize("target", ["anthropic", "openai-chat", "openai-responses"])
@pytest.mark.parametrize(
    "part",
    [
        blob("video/mp4", "AAAAIGZ0eXA" + "A" * 9),
        file("https://www.youtube.com/watch?v=abc", "video/mp4"),
        file("https://youtu.be/abc", ""),
        file("https://generativelanguage.googleapis.com/v1beta/files/abc", "application/pdf"),
        file("gs://bucket/a.pdf", "application/pdf"),
    ],
)
def test_what_another_provider_would_not_take_is_named_and_told(part: dict[str, Any], target: str) -> None:
    body, losses = rendered(content({"text": "See."}, part), target)
    assert "not carried over" in body
    assert "is named, not shown" in losses


@pytest.mark.finding("W9")
def test_sound_goes_as_sound_or_is_named() -> None:
    body, losses = rendered(content(blob("audio/wav", WAV)), "openai-chat")
    assert f'"data":"{WAV}","format":"wav"' in body
    assert losses == ""
    for target, media_type in (
        ("openai-chat", "audio/flac"),
        ("anthropic", "audio/wav"),
        ("openai-responses", "audio/wav"),
    ):
        body, losses = rendered(content({"text": "Hear."}, blob(media_type, WAV)), target)
        assert WAV not in body
        assert f"a document ({media_type}) is named, not shown" in losses


@pytest.mark.finding("W9")
def test_names_and_details_that_have_no_place_are_told() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "high"}}
    paper = {"type": "file", "file": {"filename": "plan.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}}
    said = {"role": "user", "name": "bob", "content": [{"type": "text", "text": "See."}, picture, paper]}
    for target in ("anthropic", "gemini"):
        losses = prepared(said, model="gpt-4.1", dialect=target).report.losses
        assert "the name 'bob' of a speaker is left out" in losses
        assert "the detail 'high' of an image is left out" in losses
        assert ("the name 'plan.pdf' of a file is left out" in losses) is (target == "gemini")
    assert prepared(said, model="gpt-4.1").report.losses == ()


@pytest.mark.finding("W9")
@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "gemini"])
def test_what_a_search_found_is_said_in_words_elsewhere(target: str) -> None:
    hit = {
        "type": "search_result",
        "source": "https://a/b",
        "title": "Docs",
        "content": [{"type": "text", "text": "42"}],
    }
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "find", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [hit]}]}
    assert "Docs | https://a/b\\n42" in prepared(USER, call, result, dialect=target).json.decode()
    assert prepared(USER, call, result).body["messages"][2] == result


@pytest.mark.finding("W10")
@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "claude-sonnet-5-5",
            {
                "type": "web_fetch_tool_result",
                "tool_use_id": "s",
                "content": {"type": "web_fetch_result", "content": {}},
            },
        ),
        ("gpt-5.5", [{"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo"}]),
        ("gemini-3.8-flash", content({"functionResponse": {"name": "f", "response": {}, "parts": []}})),
    ],
)
def test_media_are_weighed_by_their_kind_wherever_they_stand(model: str, message: Any) -> None:
    many = "A" * 1_000_000
    if isinstance(message, list):
        given: Any = [{**message[0], "result": message[0]["result"] + many}]
    elif "parts" in message:
        part = {**message["parts"][0]["functionResponse"], "parts": [blob("application/pdf", PDF + many)]}
        given = content({"functionResponse": part})
    else:
        source = {"type": "base64", "media_type": "application/pdf", "data": PDF + many}
        fetched = {"type": "web_fetch_result", "content": {"type": "document", "source": source}}
        call = {"type": "server_tool_use", "id": "s", "name": "web_fetch", "input": {}}
        given = {"role": "assistant", "content": [call, {**message, "content": fetched}]}
    with cf.Session.open(model=model) as session:
        session.append(given)
        assert session.view.count.tokens < 50_000
        assert not session.view.count.exact


# -- roles that nobody listed, and fields of another format -------------------------------------------------------


@pytest.mark.finding("W1")
@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("gpt-4.1", {"role": "critic", "content": "Too long."}),
        ("claude-sonnet-5-5", {"role": "critic", "content": [{"type": "text", "text": "Too long."}]}),
        ("gpt-5.5", {"type": "message", "role": "critic", "content": [{"type": "input_text", "text": "Too long."}]}),
        ("gemini-3.8-flash", {"role": "critic", "parts": [{"text": "Too long."}]}),
    ],
)
def test_a_role_that_nobody_listed_goes_back_as_it_came_and_is_told_elsewhere(
    model: str, message: dict[str, Any]
) -> None:
    with cf.Session.open(model=model) as session:
        session.append(USER)
        session.append(message)
        body = session.prepare(cache=False).body
        assert message in next(body[name] for name in ("messages", "input", "contents") if name in body)
        other = "openai-chat" if model != "gpt-4.1" else "anthropic"
        request = session.prepare(dialect=other, cache=False)
        assert "the role 'critic' is not known elsewhere: it speaks as the user" in request.report.losses
        assert b"Too long." in request.json


def test_a_message_without_a_place_for_words_is_refused_and_an_empty_one_is_not() -> None:
    with cf.Session.open(model="gpt-4.1") as session:
        with pytest.raises(BadMessage, match="has no content"):
            session.append({"role": "user", "text": "misspelled"})
        assert session.append({"role": "user", "content": ""}) > 0


@pytest.mark.finding("W1")
def test_calls_of_another_format_in_an_anthropic_body_are_refused_and_repaired() -> None:
    function = {"name": "read", "arguments": '{"path": "a.py"}'}
    mixed: dict[str, Any] = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Looking."}],
        "tool_calls": [{"id": "a", "type": "function", "function": function}],
    }
    answer = {"role": "tool", "tool_call_id": "a", "content": "x = 1"}
    body = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": [USER, mixed, answer]}
    assert {each.rule for each in cf.validate(body, dialect="anthropic")} >= {"foreign-field"}
    repaired = cf.repair(body, dialect="anthropic")
    assert repaired.is_sound
    assert repaired.body["messages"][1]["content"][1] == {
        "type": "tool_use",
        "id": "a",
        "name": "read",
        "input": {"path": "a.py"},
    }
    (result,) = repaired.body["messages"][2]["content"]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", "a")
    assert "x = 1" in str(result["content"])
