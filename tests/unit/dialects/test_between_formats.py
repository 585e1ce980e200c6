"""What one format has and another has not: converted, or left out and told; never refused, never silent."""

from typing import Any

import pytest

import contextfold as cf
from contextfold.dialects import tools
from contextfold.errors import BadConfiguration

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
