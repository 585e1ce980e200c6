import pytest

from contextfold.dialects import find
from contextfold.dialects.openai_chat import OpenAIChatDialect
from contextfold.domain import (
    INTERRUPTED,
    Document,
    Edit,
    Image,
    Message,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    encode,
)

from .outline import bytes_of, item, wire

CHAT = OpenAIChatDialect()
ANTHROPIC = find("anthropic")
PICTURE = {"type": "image_url", "image_url": {"url": "https://a/b.png"}}


def message(**fields: object) -> Message:
    return CHAT.parse(encode(fields))


def shown(said: Message, *edits: Edit, late: tuple[int, ...] = ()) -> list[dict[str, object]]:
    return wire(CHAT.chunk(item(said, *edits, late=late), said))


def call(id_: str = "c1", arguments: str = "{}") -> dict[str, object]:
    return {"id": id_, "type": "function", "function": {"name": "f", "arguments": arguments}}


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    "fields",
    [
        {"role": "user", "content": "hi", "name": "ann"},
        {"role": "assistant", "content": None, "tool_calls": [call()], "refusal": None},
        {"role": "assistant", "content": "\n\n", "tool_calls": [call()]},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "assistant", "content": None, "audio": {"id": "audio_1"}},
        {"role": "assistant", "content": "so", "reasoning_content": "hm"},
        {"role": "assistant", "content": "tool_calls"},
        {"role": "tool", "tool_call_id": "c1", "content": "42", "name": "f"},
        {"role": "tool", "tool_call_id": "c1", "content": ""},
        {"role": "user", "content": [PICTURE, {"type": "input_audio", "input_audio": {}}]},
        {"role": "developer", "content": "be brief"},
    ],
)
def test_an_untouched_message_is_its_own_bytes(fields: dict[str, object]) -> None:
    said = message(**fields)
    assert CHAT.chunk(item(said), said) is said.raw


@pytest.mark.parametrize(
    "fields",
    [
        {"role": "user", "content": ""},
        {"role": "user", "content": None},
        {"role": "user", "content": [text(" ")]},
        {"role": "assistant", "content": "\n"},
        {"role": "assistant", "content": None, "tool_calls": None},
        {"role": "assistant", "content": None, "reasoning_content": "only thought"},
    ],
)
def test_a_message_that_says_nothing_gives_nothing(fields: dict[str, object]) -> None:
    said = message(**fields)
    assert CHAT.chunk(item(said), said) == b""


@pytest.mark.parametrize("calls", [None, []])
def test_an_empty_list_of_calls_is_left_out_and_the_rest_keeps_its_bytes(calls: object) -> None:
    said = CHAT.parse(b'{"x":1.50,"tool_calls":' + encode(calls) + b',"role":"assistant","content":"so"}')
    assert CHAT.chunk(item(said), said) == b'{"x":1.50,"role":"assistant","content":"so"}'


def test_a_tool_that_answered_null_answers_nothing() -> None:
    assert shown(message(role="tool", tool_call_id="c1", content=None)) == [
        {"role": "tool", "tool_call_id": "c1", "content": ""}
    ]


def test_folded_content_leaves_the_other_fields_alone() -> None:
    said = CHAT.parse(b'{"role":"assistant","content":"long","x":1.50,"tool_calls":[{"id":"a","function":{}}]}')
    chunk = CHAT.chunk(item(said, Edit(0, "short")), said)
    assert chunk == b'{"role":"assistant","content":"short","x":1.50,"tool_calls":[{"id":"a","function":{}}]}'


def test_folded_parts_become_text_or_go() -> None:
    said = message(role="user", content=[text("a"), PICTURE, text("c")])
    assert shown(said, Edit(0, ""), Edit(1, "[a picture]")) == [
        {"role": "user", "content": [text("[a picture]"), text("c")]}
    ]


def test_a_message_folded_to_nothing_gives_nothing() -> None:
    assert shown(message(role="user", content=[text("a")]), Edit(0, "")) == []
    assert shown(message(role="user", content="a"), Edit(0, "")) == []
    assert shown(message(role="tool", tool_call_id="c1", content="a"), Edit(0, "")) == []


def test_folded_reasoning_is_left_out_under_each_of_its_names() -> None:
    said = message(role="assistant", content="so", reasoning_content="hm", reasoning_details=[{"x": 1}])
    assert shown(said, Edit(0, "thought")) == [{"role": "assistant", "content": "so"}]


def test_folded_calls_keep_their_pair_or_go() -> None:
    custom = {"id": "c3", "type": "custom", "custom": {"name": "g", "input": "long"}}
    said = message(role="assistant", content=None, tool_calls=[call("c1", "long"), call("c2"), custom])
    (written,) = shown(said, Edit(0, "cut"), Edit(1, ""), Edit(2, "cut"))
    assert written["tool_calls"] == [
        call("c1", '{"folded":"cut"}'),
        {"id": "c3", "type": "custom", "custom": {"name": "g", "input": "cut"}},
    ]


def test_the_last_folded_call_takes_the_list_along() -> None:
    said = message(role="assistant", content="so", tool_calls=[call()])
    assert shown(said, Edit(1, "")) == [{"role": "assistant", "content": "so"}]


def test_an_older_call_is_folded_like_any_other() -> None:
    said = message(role="assistant", content="so", function_call={"name": "f", "arguments": "long"})
    (kept,) = shown(said, Edit(1, "cut"))
    (gone,) = shown(said, Edit(1, ""))
    assert kept["function_call"] == {"name": "f", "arguments": '{"folded":"cut"}'}
    assert "function_call" not in gone


def test_a_folded_refusal_is_replaced_or_goes() -> None:
    said = message(role="assistant", content="so", refusal="no, because")
    assert shown(said, Edit(1, "no"))[0]["refusal"] == "no"
    assert "refusal" not in shown(said, Edit(1, ""))[0]


def test_folded_audio_is_told_in_the_content() -> None:
    audio = {"audio": {"id": "a"}}
    silent = message(role="assistant", content=None, **audio)
    speaking = message(role="assistant", content="so", **audio)
    listed = message(role="assistant", content=[text("so")], **audio)
    assert shown(silent, Edit(0, "[spoken]")) == [{"role": "assistant", "content": "[spoken]"}]
    assert shown(speaking, Edit(1, "[spoken]")) == [{"role": "assistant", "content": "so\n[spoken]"}]
    assert shown(listed, Edit(1, "[spoken]")) == [{"role": "assistant", "content": [text("so"), text("[spoken]")]}]
    assert shown(speaking, Edit(1, "")) == [{"role": "assistant", "content": "so"}]


def test_a_folded_result_keeps_its_id() -> None:
    said = message(role="tool", tool_call_id="c1", content=[text("long"), PICTURE], name="f")
    assert shown(said, Edit(0, "[cleared]")) == [
        {"role": "tool", "tool_call_id": "c1", "content": "[cleared]", "name": "f"}
    ]


def test_a_late_result_is_labelled_text_of_the_user() -> None:
    label = "[Late result of tool call c1]"
    plain = message(role="tool", tool_call_id="c1", content="42")
    rich = message(role="tool", tool_call_id="c1", content=[text("42"), PICTURE])
    assert shown(plain, late=(0,)) == [{"role": "user", "content": f"{label}\n42"}]
    assert shown(rich, late=(0,)) == [{"role": "user", "content": [text(f"{label}\n42"), PICTURE]}]
    assert shown(rich, Edit(0, "cut"), late=(0,)) == [{"role": "user", "content": f"{label}\ncut"}]


def test_a_message_with_a_lone_surrogate_can_be_edited() -> None:
    raw = b'{"role":"assistant","content":"a","x":"\\ud800"}'
    said = CHAT.parse(raw)
    assert CHAT.chunk(item(said, Edit(0, "b")), said) == raw.replace(b'"a"', b'"b"').replace(b"d800", b"fffd")


def test_a_completion_is_one_tool_message_per_call() -> None:
    said = Message("user", tuple(ToolResult(id_, (Text(INTERRUPTED),), True) for id_ in ("c1", "functions.f:0")))
    assert wire(CHAT.chunk(item(said, kind="completion"), said)) == [
        {"role": "tool", "tool_call_id": id_, "content": INTERRUPTED} for id_ in ("c1", "functions.f:0")
    ]


def test_a_completion_of_an_older_call_is_a_function_message() -> None:
    said = Message("user", (ToolResult("function--f", (Text(INTERRUPTED),), True),))
    assert wire(CHAT.chunk(item(said, kind="completion"), said)) == [
        {"role": "function", "name": "f", "content": INTERRUPTED}
    ]


# -- from Anthropic --------------------------------------------------------------------------------------------------


def anthropic(role: str, *content: object) -> Message:
    return ANTHROPIC.parse(bytes_of(role=role, content=list(content)))


def test_tool_use_becomes_calls_and_thinking_is_reported_lost() -> None:
    said = anthropic(
        "assistant",
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        text("let me see"),
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
        {"type": "tool_use", "id": "t2", "name": "f", "input": {}},
    )
    assert shown(said) == [
        {"role": "assistant", "content": "let me see", "tool_calls": [call("t1", '{"a":1}'), call("t2")]}
    ]
    assert CHAT.losses(item(said), said) == ("reasoning is left out: it is bound to the provider that wrote it",)


def test_calls_without_words_have_null_content() -> None:
    said = anthropic("assistant", {"type": "tool_use", "id": "t1", "name": "f", "input": {}})
    assert shown(said) == [{"role": "assistant", "content": None, "tool_calls": [call("t1")]}]


def test_results_become_tool_messages_and_the_rest_follows() -> None:
    said = anthropic(
        "user",
        text("and now?"),
        {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
        {"type": "tool_result", "tool_use_id": "t2", "content": [text("two"), text("three")], "is_error": True},
    )
    assert shown(said) == [
        {"role": "tool", "tool_call_id": "t1", "content": "one"},
        {"role": "tool", "tool_call_id": "t2", "content": "two\nthree"},
        {"role": "user", "content": "and now?"},
    ]
    assert CHAT.losses(item(said), said) == ("the result of 't2' is not marked as an error",)


def test_sources_become_addresses_and_files() -> None:
    said = anthropic(
        "user",
        text("look"),
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "BB"}, "title": "a"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}, "title": "b"},
    )
    assert shown(said)[0]["content"] == [
        text("look"),
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "file", "file": {"filename": "a", "file_data": "data:application/pdf;base64,BB"}},
        text("b\nwords"),
    ]
    assert CHAT.losses(item(said), said) == ()


def test_a_picture_keeps_its_detail_and_its_address() -> None:
    said = Message("user", (Image(url="https://a/b.png", detail="low"),))
    assert shown(said)[0]["content"] == [
        {"type": "image_url", "image_url": {"url": "https://a/b.png", "detail": "low"}}
    ]


def test_what_cannot_be_carried_is_named_and_reported() -> None:
    said = anthropic(
        "user",
        {
            "type": "tool_result",
            "tool_use_id": "t1",
            "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}],
        },
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": {"type": "url", "url": "https://a/b.pdf"}},
        {"type": "search_result", "content": []},
    )
    assert shown(said) == [
        {"role": "tool", "tool_call_id": "t1", "content": "[Image not carried over: image/png]"},
        {
            "role": "user",
            "content": "[Image not carried over: file_1]\n[Document not carried over: https://a/b.pdf]",
        },
    ]
    assert len(CHAT.losses(item(said), said)) == 4


def test_an_assistants_picture_is_named() -> None:
    said = Message("assistant", (Text("here"), Image("image/png", "AA")), dialect="anthropic")
    assert shown(said) == [{"role": "assistant", "content": "here\n[Image not carried over: image/png]"}]
    assert len(CHAT.losses(item(said), said)) == 1


def test_an_id_too_long_for_the_api_is_shortened_on_both_sides() -> None:
    long = "t" * 80
    asked = Message("assistant", (ToolCall(long, "f", ""),), dialect="anthropic")
    answered = Message("user", (ToolResult(long),), dialect="anthropic")
    (calls,) = shown(asked)
    (answer,) = shown(answered)
    id_ = str(answer["tool_call_id"])
    assert len(id_) == 64
    assert calls["tool_calls"] == [call(id_)]
    assert len(CHAT.losses(item(asked), asked)) == 1


def test_an_older_call_without_its_bytes_is_written_as_it_was() -> None:
    said = Message("assistant", (Text("so"), ToolCall("function--f", "f")))
    assert shown(said) == [{"role": "assistant", "content": "so", "function_call": {"name": "f", "arguments": "{}"}}]


def test_a_system_message_stays_one() -> None:
    assert shown(ANTHROPIC.parse(bytes_of(role="system", content="be brief"))) == [
        {"role": "system", "content": "be brief"}
    ]


def test_a_foreign_message_of_which_nothing_is_left_gives_nothing() -> None:
    said = Message("assistant", (Reasoning("hm"), Opaque("server_tool_use", "{}")), dialect="anthropic")
    assert shown(said) == []
    assert shown(Message("user", (Opaque("x", "{}"), Document()))) == [
        {"role": "user", "content": "[Document not carried over: unknown]"}
    ]


def test_nothing_is_lost_in_its_own_dialect() -> None:
    said = message(role="assistant", content="so", reasoning_content="hm")
    assert CHAT.losses(item(said), said) == ()


def test_an_answer_whose_calls_are_null_is_not_sent_as_it_came() -> None:
    dumped = encode({"role": "assistant", "content": "Done.", "tool_calls": None})
    message = CHAT.parse(dumped)
    assert CHAT.as_given(item(message), dumped) is None, "the API does not take it back"
    plain = encode({"role": "assistant", "content": "Done."})
    assert CHAT.as_given(item(CHAT.parse(plain)), plain) == plain
