"""What the official SDKs hand out is appended as it comes, and goes back as the API takes it."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest

import contextfold as cf
from contextfold import dialects
from contextfold.dialects import gemini
from contextfold.domain import Measured, Reasoning, Text, ToolCall, decode

PIXELS = b"\xff\xfe\xfb"


def session(model: str) -> cf.Session:
    opened = cf.Session.open(model=model)
    opened.append({"role": "user", "content": "Look at both files."})
    return opened


def billed(opened: cf.Session) -> list[int]:
    return [entry.event.billed for entry in opened.thread.events if isinstance(entry.event, Measured)]


def response(**more: Any) -> Any:
    types = pytest.importorskip("openai.types.responses")
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed", "status": None},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [words("Gladly.")]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": '{"path":"a"}'},
        {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "read", "arguments": '{"path":"b"}'},
    ]
    usage = {
        "input_tokens": 30,
        "output_tokens": 5,
        "total_tokens": 35,
        "input_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 1},
    }
    fixed = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-6-sol", "status": "completed"}
    rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": usage}
    return types.Response.model_validate({**fixed, "output": items, **rest, **more})


def words(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def output(call: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call, "output": f"the file of {call}"}


@pytest.mark.seed("R8")
def test_a_response_of_several_items_is_one_message_and_its_parallel_calls_are_answered_in_any_order() -> None:
    with session("gpt-6-sol") as opened:
        opened.prepare()
        seq = opened.append(response())
        opened.append(output("c2"))
        opened.append(output("c1"))
        assert [type(block) for block in opened.thread.message(seq).blocks] == [Reasoning, Text, ToolCall, ToolCall]
        sent = opened.prepare().body["input"]
        assert [item.get("id") for item in sent] == [None, "rs_1", "msg_1", "fc_1", "fc_2", None, None]
        assert "status" not in sent[1]  # what is null in a dump is not taken back
        assert not any(item.kind == "completion" for item in opened.view.items)
        assert billed(opened) == [30]


def test_the_items_of_a_response_may_be_appended_as_a_list() -> None:
    with session("gpt-6-sol") as whole, session("gpt-6-sol") as listed:
        whole.append(response())
        listed.append(response().output)
        assert [block for item in (whole, listed) for block in item.thread.message(2).calls] == 2 * [
            ToolCall("c1", "read", '{"path":"a"}'),
            ToolCall("c2", "read", '{"path":"b"}'),
        ]


def test_the_items_of_an_input_may_be_fitted_and_counted_one_by_one() -> None:
    items = [{"role": "user", "content": "hi"}, *response().output, output("c2"), output("c1")]
    request = cf.fit(items, model="gpt-6-sol")
    assert [item.get("call_id") for item in request.body["input"]] == [None, None, None, "c1", "c2", "c2", "c1"]
    assert cf.count(items, model="gpt-6-sol").tokens > 10


def test_several_messages_at_once_are_refused_with_a_reason() -> None:
    with session("gpt-6-sol") as opened, pytest.raises(cf.ContextFoldError, match="several sides"):
        opened.append([*response().output, output("c1")])


def test_what_an_sdk_added_to_an_answer_is_not_sent_back() -> None:
    with session("gpt-6-sol") as opened:
        body = response().to_dict()
        body["output"][2]["parsed_arguments"] = {"path": "a"}
        body["output"][1]["content"][0]["parsed"] = {"said": "Gladly."}
        opened.append(body)
        assert b"parsed" not in opened.thread.message(2).raw


def test_gemini_objects_keep_signatures_on_their_part_and_pair_without_ids() -> None:
    types = pytest.importorskip("google.genai.types")
    seal = base64.b64encode(b"seal").decode()
    answer = types.GenerateContentResponse.model_validate(
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [
                            {"text": "Let me see.", "thought": True},
                            {
                                "functionCall": {"id": "x1", "name": "read", "args": {"path": "a"}},
                                "thoughtSignature": seal,
                            },
                        ],
                    },
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 40},
            "modelVersion": "gemini-3.8-flash",
        }
    )
    picture = types.Part(inline_data=types.Blob(mime_type="image/png", data=PIXELS))
    with cf.Session.open(model="gemini-3.8-flash") as opened:
        opened.append(types.Content(role="user", parts=[types.Part(text="What is this?"), picture]))
        opened.prepare()
        opened.append(answer)
        opened.append(
            types.Content(role="user", parts=[types.Part.from_function_response(name="read", response={"output": "a"})])
        )
        request = opened.prepare(system="Be brief.", max_tokens=50)
        assert request.body["contents"][1]["parts"][1]["thoughtSignature"] == seal
        assert request.body["contents"][2]["parts"] == [
            {"functionResponse": {"name": "read", "response": {"output": "a"}}}
        ]
        assert request.report.losses == ()
        assert billed(opened) == [100]
        arguments = gemini.arguments(request.body)
        config = types.GenerateContentConfig.model_validate(arguments["config"])
        assert (config.max_output_tokens, config.system_instruction.parts[0].text) == (50, "Be brief.")
        assert [types.Content.model_validate(each) for each in arguments["contents"]]
        # Elsewhere the picture is base64 as everybody writes it.
        claude = opened.prepare(dialect="anthropic").body["messages"][0]["content"][1]["source"]
        assert base64.b64decode(claude["data"]) == PIXELS


def answers() -> Iterator[tuple[Any, str]]:
    anthropic = pytest.importorskip("anthropic.types")
    chat = pytest.importorskip("openai.types.chat")
    usage = {"input_tokens": 3, "output_tokens": 1}
    yield (
        anthropic.Message.model_validate(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "claude-sonnet-5-5",
                "content": [{"type": "text", "text": "Hello."}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": usage,
            }
        ),
        "anthropic",
    )
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello."}}
    yield (
        chat.ChatCompletion.model_validate(
            {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4.1", "choices": [choice]}
        ),
        "openai-chat",
    )
    yield (
        response(
            output=[
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "status": "completed",
                    "content": [words("Hello.")],
                }
            ]
        ),
        "openai-responses",
    )


@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "gpt-4.1", "gpt-6-sol", "gemini-3.8-flash"])
def test_answers_of_every_sdk_go_on_in_every_model(model: str) -> None:
    for answer, dialect in answers():
        with session(model) as opened:
            seq = opened.append(answer)
            assert opened.thread.message(seq).dialect == dialect
            opened.append({"role": "user", "content": "Thanks."})
            request = opened.prepare()
            assert dialects.find(request.dialect).check(decode(request.json)) == []
            assert b"Hello." in request.json
