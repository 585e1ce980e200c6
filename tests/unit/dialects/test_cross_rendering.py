"""One thread for every provider: what is carried, what is not and said so, and what a change of models leaves out."""

from random import Random
from typing import Any

import pytest

import contextfold as cf
from contextfold import dialects
from contextfold.dialects.neutral import are_strangers, family
from contextfold.dialects.tools import losses, written
from contextfold.testing import histories, nasty
from contextfold.testing.wire import DialectName

MODELS: dict[DialectName, str] = {
    "anthropic": "claude-sonnet-5-5",
    "openai-chat": "gpt-4.1",
    "openai-responses": "gpt-6-sol",
    "gemini": "gemini-3.8-flash",
}
LEFT_OUT = "reasoning is left out: it is bound to the provider that wrote it"
PIXEL = "iVBORw0KGgo="


def prepared(session: cf.Session, target: DialectName, **settings: Any) -> cf.Request:
    """The thread for the usual model of a dialect."""
    return session.prepare(dialect=dialects.suited(target, cf.model(MODELS[target])), **settings)


@pytest.mark.seed("R7")
@pytest.mark.seed("R8")
@pytest.mark.seed("R10")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("origin", MODELS)
def test_nasty_histories_are_valid_for_every_provider(origin: DialectName, seed: int) -> None:
    history = nasty.history(Random(f"cross {seed}"), length=40, dialect=origin)
    with cf.Session.open(model=MODELS[origin]) as session:
        for message in history:
            session.append(message)
        for target in MODELS:
            request = prepared(session, target, system="Be brief.")
            assert dialects.find(request.dialect).check(request.body) == []


@pytest.mark.parametrize("origin", MODELS)
def test_a_session_of_work_is_valid_for_every_provider_whole_and_folded(origin: DialectName) -> None:
    with cf.Session.open(model=MODELS[origin]) as session:
        for message in histories.session(3, tokens=6_000, dialect=origin):
            session.append(message)
        session.append({"role": "user", "content": "Go on."})
        for _ in range(2):
            for target in MODELS:
                request = prepared(session, target, tools=histories.tools(origin))
                assert dialects.find(request.dialect).check(request.body) == []
                carried = {name for each in written(request.body["tools"], "openai-chat") for name in _names(each)}  # type: ignore[attr-defined]
                assert carried == {"read_file", "edit_file", "search", "list_files", "run"}
            session.fold(to=3_000)


def _names(tool: Any) -> list[str]:
    return [tool["function"]["name"]]


@pytest.mark.parametrize("target", MODELS)
def test_a_native_session_loses_nothing_and_keeps_every_byte(target: DialectName) -> None:
    messages: list[Any] = histories.session(4, tokens=4_000, dialect=target)  # answers of Responses are lists
    with cf.Session.open(model=MODELS[target]) as session:
        for message in messages:
            session.append(message)
        session.append({"role": "user", "content": "Go on."})
        request = prepared(session, target)
        sent = next(request.body[field] for field in ("messages", "input", "contents") if field in request.body)
        flat = [item for message in messages for item in (message if isinstance(message, list) else [message])]
        assert sent[: len(flat)] == flat
        assert request.report.losses == ()


CLAUDE: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
            {
                "type": "document",
                "title": "t",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "AA"},
            },
            {"type": "text", "text": "Look."},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "I do."},
            {"type": "tool_use", "id": "t1", "name": "shoot", "input": {"n": 1}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "is_error": True,
                "content": [
                    {"type": "text", "text": "blurred"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
                ],
            }
        ],
    },
]


def test_pictures_documents_calls_and_pictures_in_results_go_to_responses() -> None:
    asked, words, call, output = _sent("openai-responses")["input"]
    assert [part["type"] for part in asked["content"]] == ["input_image", "input_file", "input_text"]
    assert words["content"] == [{"type": "output_text", "text": "I do."}]
    assert call == {"type": "function_call", "call_id": "t1", "name": "shoot", "arguments": '{"n":1}'}
    assert output["output"][1] == {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}


def test_pictures_documents_calls_and_pictures_in_results_go_to_gemini() -> None:
    asked, answered, output = _sent("gemini")["contents"]
    assert [next(iter(part)) for part in asked["parts"]] == ["inlineData", "inlineData", "text"]
    assert answered["parts"][1] == {
        "functionCall": {"id": "t1", "name": "shoot", "args": {"n": 1}},
        "thoughtSignature": "skip_thought_signature_validator",
    }
    (response,) = output["parts"]
    assert response["functionResponse"]["name"] == "shoot"
    assert response["functionResponse"]["response"] == {"error": "blurred"}
    assert response["functionResponse"]["parts"] == [{"inlineData": {"mimeType": "image/png", "data": PIXEL}}]


def _claude() -> cf.Session:
    session = cf.Session.open(model=MODELS["anthropic"])
    for message in CLAUDE:
        session.append(message)
    return session


def _sent(target: DialectName) -> dict[str, Any]:
    with _claude() as session:
        return prepared(session, target).body


@pytest.mark.parametrize(
    ("target", "lost"),
    [
        ("anthropic", ()),
        (
            "openai-chat",
            (LEFT_OUT, "the result of 't1' is not marked as an error", "an image (image/png) is named, not shown"),
        ),
        ("openai-responses", (LEFT_OUT, "the result of 't1' is not marked as an error")),
        ("gemini", ("the name 't' of a file is left out", LEFT_OUT)),
    ],
)
def test_the_report_says_what_could_not_be_carried(target: DialectName, lost: tuple[str, ...]) -> None:
    with _claude() as session:
        assert prepared(session, target).report.losses == lost
        assert session.thread.message(2).raw.count(b"thinking") == 2  # what is not carried is not lost


def test_the_same_loss_is_told_once_and_many_are_counted() -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        session.append({"role": "user", "content": "hi"})
        for number in range(60):
            thinking = {"type": "thinking", "thinking": "hm", "signature": f"s{number}"}
            unknown = {"type": f"kind_{number}"}
            session.append({"role": "assistant", "content": [thinking, unknown, {"type": "text", "text": "a"}]})
        told = prepared(session, "openai-responses").report.losses
        assert told[0] == f"{LEFT_OUT} (60 times)"
        assert (len(told), told[-1]) == (51, "and 11 more")
        session.fold(to=50)
        assert len(prepared(session, "openai-responses").report.losses) < 51


@pytest.mark.seed("R9")
def test_what_another_family_of_models_wrote_for_itself_is_left_out_and_stays_in_the_thread() -> None:
    """Both speak Anthropic's format, and neither could read the other's reasoning."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    answer = {"role": "assistant", "content": [thinking, search, found, {"type": "text", "text": "Hello."}]}
    with cf.open(":memory:") as store:
        with cf.Session.on(store, "t", "claude-3-7-sonnet") as session:
            session.append({"role": "user", "content": "hi"})
            session.prepare()
            seq = session.append(answer)
            session.append({"role": "user", "content": "and now?"})
            assert session.prepare(dialect="anthropic").body["messages"][1] == answer
        with cf.Session.on(store, "t", "kimi-k3") as session:
            request = session.prepare(dialect="anthropic")
            assert request.body["messages"][1]["content"] == [{"type": "text", "text": "Hello."}]
            assert [loss.partition(" is left out")[0] for loss in request.report.losses] == [
                "reasoning",
                "server_tool_use",
                "web_search_tool_result",
            ]
            assert session.thread.message(seq).blocks[0].signature == "s"  # type: ignore[union-attr]
        with cf.Session.on(store, "t", "claude-3-5-haiku") as session:  # of the family that wrote it
            assert session.prepare().body["messages"][1] == answer


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-sonnet-5-5", "claude"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude"),
        ("openrouter/anthropic/claude-opus-5", "claude"),
        ("o3-mini", "gpt"),
        ("gpt-6-sol", "gpt"),
        ("models/gemini-3.8-flash", "gemini"),
        ("4711", ""),
    ],
)
def test_a_family_is_told_by_the_name(model: str, expected: str) -> None:
    assert family(model) == expected


def test_nobody_is_a_stranger_to_a_model_without_a_name() -> None:
    assert are_strangers("claude-opus-5", "gpt-6-sol")
    assert not are_strangers("claude-opus-5", "claude-sonnet-5")
    assert not are_strangers("claude-opus-5", "")


# -- tools -------------------------------------------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
SPELLED: dict[str, dict[str, Any]] = {
    "anthropic": {"name": "f", "description": "d", "input_schema": SCHEMA},
    "openai-chat": {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}},
    "openai-responses": {"type": "function", "name": "f", "description": "d", "parameters": SCHEMA, "strict": False},
    "gemini": {"functionDeclarations": [{"name": "f", "description": "d", "parametersJsonSchema": SCHEMA}]},
}
OWN: dict[str, dict[str, Any]] = {
    "anthropic": {"type": "web_search_20260209", "name": "web_search"},
    "openai-responses": {"type": "web_search"},
    "gemini": {"googleSearch": {}},
}


@pytest.mark.parametrize("target", SPELLED)
@pytest.mark.parametrize("origin", SPELLED)
def test_a_definition_is_spelled_for_its_reader(origin: str, target: str) -> None:
    assert written([SPELLED[origin]], target) == [SPELLED[target]]
    assert losses([SPELLED[origin]], target) == ()


@pytest.mark.parametrize("target", SPELLED)
@pytest.mark.parametrize("origin", OWN)
def test_a_providers_own_tool_stays_at_home(origin: str, target: str) -> None:
    assert written([SPELLED[target], OWN[origin]], target) == [SPELLED[target], *([OWN[origin]] * (origin == target))]
    assert len(losses([OWN[origin]], target)) == (origin != target)


def test_geminis_own_schemas_become_json_schema() -> None:
    declared = {"name": "f", "parameters": {"type": "OBJECT", "properties": {"type": {"type": "STRING"}}}}
    spelled = {"name": "f", "input_schema": {"type": "object", "properties": {"type": {"type": "string"}}}}
    assert written([{"function_declarations": [declared]}], "anthropic") == [spelled]
