import pytest

import contextfold as cf
from contextfold.dialects import find
from contextfold.dialects.anthropic import AnthropicDialect
from contextfold.dialects.anthropic.render import limited
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
    ViewItem,
    decode,
    encode,
)
from contextfold.tokens import counter_for

from .outline import bytes_of, item, wire

ANTHROPIC = AnthropicDialect()
CHAT = find("openai-chat")
THINKING = b'{"type":"thinking", "thinking":"hm\\u0020", "signature":"s==", "extra":1.0}'
CALL = b'{"type":"tool_use","id":"t1","name":"Bash","input":{"n":1.50},"caller":{"type":"direct"}}'
PICTURE = b'{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}'


def assistant(*blocks: bytes) -> Message:
    return ANTHROPIC.parse(b'{"role":"assistant","content":[' + b",".join(blocks) + b'],"future":{"a":1.0}}')


def user(*blocks: object) -> Message:
    return ANTHROPIC.parse(bytes_of(role="user", content=list(blocks)))


def result(call: str, content: object, **more: object) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": call, "content": content, **more}


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


def content(chunk: bytes) -> list[dict[str, object]]:
    (message,) = wire(chunk)
    blocks = message["content"]
    assert isinstance(blocks, list)
    return blocks


def test_an_untouched_message_is_its_own_bytes() -> None:
    message = assistant(THINKING, CALL)
    assert ANTHROPIC.chunk(item(message), message) is message.raw


def test_an_id_in_foreign_letters_is_written_in_ours_on_both_sides() -> None:
    call, answer = assistant(THINKING, CALL.replace(b"t1", b"read_file:1")), user(result("read_file:1", "found"))
    thinking, renamed = content(ANTHROPIC.chunk(item(call), call))
    (given,) = content(ANTHROPIC.chunk(item(answer), answer))
    assert given["tool_use_id"] == renamed["id"]
    assert str(renamed["id"]).startswith("read_file_1-")
    assert (thinking["signature"], renamed["caller"]) == ("s==", {"type": "direct"})


@pytest.mark.parametrize("content", [None, "", [], " \n", [{"type": "text", "text": ""}]])
def test_a_message_that_says_nothing_gives_nothing(content: object) -> None:
    message = ANTHROPIC.parse(bytes_of(role="user", content=content))
    assert ANTHROPIC.chunk(item(message), message) == b""


def test_blank_text_is_left_out_and_the_rest_keeps_its_bytes() -> None:
    message = assistant(b'{"type":"text","text":"\\n\\n"}', THINKING, CALL)
    expected = b'{"role":"assistant","content":[' + THINKING + b"," + CALL + b'],"future":{"a":1.0}}'
    assert ANTHROPIC.chunk(item(message), message) == expected


def test_an_outline_that_errs_costs_no_byte() -> None:
    message = ANTHROPIC.parse(b'{ "role":"user", "content":[ {"type":"text","text":"said"} ] }')
    silent = item(Message("user", (Text(" "),)))
    assert ANTHROPIC.chunk(silent, message) is message.raw


def test_blank_text_inside_a_result_is_left_out() -> None:
    message = user(result("t1", [text(""), text("out")]), result("t2", [text("")]), result("t3", " "))
    first, second, third = content(ANTHROPIC.chunk(item(message), message))
    assert first["content"] == [text("out")]
    assert "content" not in second
    assert "content" not in third


def test_results_come_first() -> None:
    message = user(text("and now?"), result("t1", "out"))
    assert content(ANTHROPIC.chunk(item(message), message)) == [result("t1", "out"), text("and now?")]


@pytest.mark.seed("R7")
def test_a_folded_block_leaves_its_neighbours_bytes_alone() -> None:
    message = assistant(THINKING, b'{"type":"text","text":"long","cache_control":{"type":"ephemeral"}}', CALL)
    chunk = ANTHROPIC.chunk(item(message, Edit(1, "short")), message)
    edited = b'{"type":"text","text":"short","cache_control":{"type":"ephemeral"}}'
    assert chunk == b'{"role":"assistant","content":[' + b",".join((THINKING, edited, CALL)) + b'],"future":{"a":1.0}}'


def test_a_folded_result_keeps_its_id_and_loses_its_pictures() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    message = user(result("t1", [text("a"), picture], is_error=True, cache_control={"type": "ephemeral"}))
    chunk = ANTHROPIC.chunk(item(message, Edit(0, "[cleared]")), message)
    assert content(chunk) == [result("t1", "[cleared]", is_error=True, cache_control={"type": "ephemeral"})]


def test_a_folded_call_keeps_its_id_and_name() -> None:
    message = assistant(CALL)
    (call,) = content(ANTHROPIC.chunk(item(message, Edit(0, "a long command")), message))
    assert (call["id"], call["name"], call["input"]) == ("t1", "Bash", {"folded": "a long command"})


def test_a_folded_picture_and_a_folded_opaque_item_become_text() -> None:
    message = user({"type": "image", "source": {"type": "url", "url": "https://a/b"}}, {"type": "search_result"})
    chunk = ANTHROPIC.chunk(item(message, Edit(0, "[a picture]"), Edit(1, "[found]")), message)
    assert content(chunk) == [text("[a picture]"), text("[found]")]


@pytest.mark.parametrize("words", ["", "thoughts"])
def test_folded_thinking_is_left_out_whole(words: str) -> None:
    message = assistant(THINKING, CALL)
    chunk = ANTHROPIC.chunk(item(message, Edit(0, words)), message)
    assert chunk == b'{"role":"assistant","content":[' + CALL + b'],"future":{"a":1.0}}'


def test_an_edit_without_words_leaves_the_block_out() -> None:
    message = user(result("t1", "out"), text("a"), text("b"))
    chunk = ANTHROPIC.chunk(item(message, Edit(0, ""), Edit(1, "")), message)
    assert content(chunk) == [text("b")]


def test_a_message_folded_to_nothing_gives_nothing() -> None:
    message = user(text("a"))
    assert ANTHROPIC.chunk(item(message, Edit(0, "")), message) == b""


def test_folded_string_content_stays_a_string() -> None:
    message = ANTHROPIC.parse(bytes_of(role="user", content="long", name="x"))
    assert wire(ANTHROPIC.chunk(item(message, Edit(0, "short")), message)) == [
        {"role": "user", "content": "short", "name": "x"}
    ]


def test_a_late_result_is_labelled_text_after_the_real_ones() -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://a/b"}}
    reference = {"type": "tool_reference", "tool_name": "x"}
    message = user(result("t1", [text("late"), picture, reference]), result("t2", "in time"))
    chunk = ANTHROPIC.chunk(item(message, late=(0,)), message)
    label = text("[Late result of tool call t1]\nlate")
    assert content(chunk) == [result("t2", "in time"), label, picture]


def test_a_late_result_that_says_nothing_or_is_folded_keeps_its_label() -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://a/b"}}
    message = user(result("t1", ""), result("t2", [text("long"), picture]))
    chunk = ANTHROPIC.chunk(item(message, Edit(1, "short"), late=(0, 1)), message)
    label = "[Late result of tool call {}]"
    assert content(chunk) == [text(label.format("t1")), text(label.format("t2") + "\nshort")]


def test_a_message_with_a_lone_surrogate_can_be_edited() -> None:
    raw = b'{"role":"user","content":[{"type":"text","text":"a\\ud800"},{"type":"text","text":"b"}]}'
    message = ANTHROPIC.parse(raw)
    sent = raw.replace(b"d800", b"fffd")
    assert ANTHROPIC.chunk(item(message), message) == sent
    assert ANTHROPIC.chunk(item(message, Edit(1, "c")), message) == sent.replace(b'"b"', b'"c"')


def test_a_completion_answers_every_call_with_an_error() -> None:
    message = Message("user", tuple(ToolResult(call, (Text(INTERRUPTED),), True) for call in ("t1", "t2")))
    assert content(ANTHROPIC.chunk(item(message, kind="completion"), message)) == [
        {"type": "tool_result", "tool_use_id": call, "content": [text(INTERRUPTED)], "is_error": True}
        for call in ("t1", "t2")
    ]


@pytest.mark.seed("R9")
def test_a_stand_in_is_plain_text_of_the_user() -> None:
    message = Message("user", (Text("What happened before: ..."),))
    assert wire(ANTHROPIC.chunk(item(message, kind="stand_in"), message)) == [
        {"role": "user", "content": [text("What happened before: ...")]}
    ]


def test_a_completion_of_a_call_has_the_id_its_call_is_shown_with() -> None:
    message = Message("user", (ToolResult("functions.x:0"),), dialect="anthropic")
    call = assistant(CALL.replace(b"t1", b"functions.x:0"))
    given, shown = (content(ANTHROPIC.chunk(item(each), each))[0] for each in (message, call))
    assert given["tool_use_id"] == shown["id"]


# -- from OpenAI chat ------------------------------------------------------------------------------------------------


def chat(**fields: object) -> Message:
    return CHAT.parse(encode(fields))


def test_calls_of_openai_chat_become_tool_use() -> None:
    function = {"name": "f", "arguments": '{"a": 1}'}
    message = chat(
        role="assistant",
        content="let me see",
        reasoning_content="hm",
        tool_calls=[{"id": "call_1", "type": "function", "function": function}],
    )
    assert wire(ANTHROPIC.chunk(item(message), message)) == [
        {
            "role": "assistant",
            "content": [text("let me see"), {"type": "tool_use", "id": "call_1", "name": "f", "input": {"a": 1}}],
        }
    ]
    assert ANTHROPIC.losses(item(message), message) == (
        "reasoning is left out: it is bound to the provider that wrote it",
    )


@pytest.mark.parametrize(
    ("arguments", "expected"), [("", {}), ("[1]", {"arguments": "[1]"}), ("{oops", {"arguments": "{oops"})]
)
def test_arguments_are_always_an_object(arguments: str, expected: dict[str, object]) -> None:
    message = Message("assistant", (ToolCall("a", "f", arguments),))
    assert content(ANTHROPIC.chunk(item(message), message))[0]["input"] == expected
    assert len(ANTHROPIC.losses(item(message), message)) == (expected != {})


def test_a_tool_message_becomes_a_result() -> None:
    message = chat(role="tool", tool_call_id="call_1", content="42")
    assert wire(ANTHROPIC.chunk(item(message), message)) == [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": [text("42")]}]}
    ]


def test_a_foreign_id_becomes_one_that_anthropic_takes_on_both_sides() -> None:
    call = Message("assistant", (ToolCall("functions.f:0", "f"),), dialect="openai-chat")
    answer = Message("user", (ToolResult("functions.f:0"),), dialect="openai-chat")
    (use,) = content(ANTHROPIC.chunk(item(call), call))
    (out,) = content(ANTHROPIC.chunk(item(answer), answer))
    assert use["id"] == out["tool_use_id"]
    assert str(use["id"]).startswith("functions_f_0-")
    assert "functions.f:0" in ANTHROPIC.losses(item(call), call)[0]


def test_pictures_and_files_of_openai_chat_become_sources() -> None:
    message = chat(
        role="user",
        content=[
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "image_url", "image_url": {"url": "https://a/b.png"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,BBBB"}},
        ],
    )
    assert content(ANTHROPIC.chunk(item(message), message)) == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "BBBB"},
            "title": "a.pdf",
        },
    ]
    assert ANTHROPIC.losses(item(message), message) == ()


def test_what_cannot_be_carried_is_named_and_reported() -> None:
    blocks = (
        Image("image/bmp", "AAAA"),
        Image(url="file-1"),
        Document("application/zip", data="AA", title="a.zip"),
        Document(url="file-2"),
        Opaque("input_audio", "{}"),
        ToolResult("a", (Opaque("", "{}"), Image("image/tiff", "AA"))),
    )
    message = Message("user", blocks, dialect="openai-chat")
    shown = content(ANTHROPIC.chunk(item(message), message))
    assert [block["type"] for block in shown] == ["tool_result", "text", "text", "text", "text"]
    assert shown[0]["content"] == [text("[Image not carried over: image/tiff]")]
    assert shown[1:3] == [text("[Image not carried over: image/bmp]"), text("[Image not carried over: file-1]")]
    assert len(ANTHROPIC.losses(item(message), message)) == 7


def test_documents_from_elsewhere_are_carried_as_text_or_address() -> None:
    message = Message("user", (Document(text="words", title="T"), Document(url="https://a/b.pdf")))
    assert content(ANTHROPIC.chunk(item(message), message)) == [
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "words"},
            "title": "T",
        },
        {"type": "document", "source": {"type": "url", "url": "https://a/b.pdf"}},
    ]


def test_nothing_is_lost_in_its_own_dialect() -> None:
    message = assistant(THINKING, CALL)
    assert ANTHROPIC.losses(item(message), message) == ()


def test_blocks_that_do_not_fit_the_role_are_left_out() -> None:
    asked = Message("user", (ToolCall("a", "f"), Text("hi")))
    answered = Message("assistant", (ToolResult("a"), Text("hi")))
    ordered = Message("system", (Image(url="https://a/b"), Text("hi")))
    assert content(ANTHROPIC.chunk(item(asked), asked)) == [text("hi")]
    assert content(ANTHROPIC.chunk(item(answered), answered)) == [text("hi")]
    assert content(ANTHROPIC.chunk(item(ordered), ordered)) == [text("[System message]\nhi")]


def test_a_foreign_message_of_which_nothing_is_left_gives_nothing() -> None:
    message = Message("assistant", (Reasoning("hm"), Opaque("audio", "{}"), Text(" ")), dialect="openai-chat")
    assert ANTHROPIC.chunk(item(message), message) == b""


def test_edits_and_late_results_of_a_foreign_message_are_shown() -> None:
    blocks = (
        ToolResult("a", (Text("late"), Image(url="https://a/b"))),
        ToolResult("b", (Text("long"),), True),
        Text("old"),
        Reasoning("hm"),
        ToolResult("c", (Text("x"),)),
        Text("\n"),
    )
    message = Message("user", blocks, dialect="openai-chat")
    edits = (Edit(1, "short"), Edit(2, "new"), Edit(3, "thought"), Edit(4, ""))
    assert content(ANTHROPIC.chunk(item(message, *edits, late=(0,)), message)) == [
        {"type": "tool_result", "tool_use_id": "b", "content": [text("short")], "is_error": True},
        text("[Late result of tool call a]\nlate"),
        {"type": "image", "source": {"type": "url", "url": "https://a/b"}},
        text("new"),
    ]


def test_a_folded_call_of_a_foreign_message_keeps_its_pair() -> None:
    message = Message("assistant", (ToolCall("a", "f", '{"x":1}'),), dialect="openai-chat")
    (call,) = content(ANTHROPIC.chunk(item(message, Edit(0, "gone")), message))
    assert (call["id"], call["input"]) == ("a", {"folded": "gone"})


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


def test_a_servers_call_waits_for_its_result_until_somebody_else_speaks() -> None:
    asked, call = bytes_of(role="user", content="hi"), bytes_of(role="assistant", content=[SEARCH])
    found = bytes_of(role="assistant", content=[FOUND, {"type": "text", "text": "Seen."}])
    assert ANTHROPIC.limited([asked, call], 0) == [asked, call]
    assert ANTHROPIC.limited([asked, call, found, asked], 3) == [asked, call, found, asked]
    assert ANTHROPIC.limited([asked, call, asked], 2) == [asked, b"", asked]
    (alone,) = wire(b",".join(filter(None, ANTHROPIC.limited([found, asked], 0)[:1])))
    assert alone["content"] == [{"type": "text", "text": "Seen."}]
    assert ANTHROPIC.limited([bytes_of(role="user", content=[SEARCH])], 0) == [b""]


@pytest.mark.parametrize("said", ["", [], None, [{"type": "text", "text": " "}]])
def test_an_error_that_says_nothing_is_given_words(said: object) -> None:
    """The API takes no error without any."""
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    failed = {"type": "tool_result", "tool_use_id": "a", "content": said, "is_error": True}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [failed]},
    ]
    body = cf.fit(messages, model="claude-sonnet-5-5").body
    assert body["messages"][2]["content"] == [{**failed, "content": "[The tool failed and said nothing.]"}]


def marked_chunk(marks: int, role: str = "user") -> bytes:
    block = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    return bytes_of(role=role, content=[block] * marks)


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ([1, 1, 1, 1], [1, 1, 1, 1]),
        ([1, 1, 1, 1, 1], [0, 1, 1, 1, 1]),
        ([2, 1, 0, 1, 1], [0, 1, 0, 1, 1]),
        ([1, 2, 3], [0, 0, 3]),  # of two where there is room for one, none is left, and none before them
    ],
)
def test_of_more_than_four_marks_the_newest_stay_and_a_message_keeps_all_of_its_own_or_none(
    given: list[int], left: list[int]
) -> None:
    chunks = ANTHROPIC.limited([marked_chunk(marks) for marks in given], 0)
    assert [chunk.count(b"cache_control") for chunk in chunks] == left


def test_chunks_that_hold_no_mark_since_the_last_look_are_left_as_they_are() -> None:
    chunks = [marked_chunk(3), marked_chunk(2), bytes_of(role="user", content="hi")]
    assert ANTHROPIC.limited(list(chunks), 2) == chunks
    assert ANTHROPIC.limited(list(chunks), 1) != chunks


def as_it_came(raw: bytes) -> bool:
    """Whether a message is sent in the very bytes that it was given in."""
    message = ANTHROPIC.parse(raw)
    outlined = ViewItem(1, "message", counter_for(None).shape(message))
    return ANTHROPIC.chunk(outlined, message) == raw


@pytest.mark.parametrize(
    ("content", "stands"),
    [
        (b'[{"type":"tool_result", "tool_use_id":"a", "content":"x", "own":1}]', True),
        (b'[{"type":"tool_result", "tool_use_id":"a", "content":"x"}, {"type":"text", "text":"y", "own":1}]', True),
        (b'[{"type":"text", "text":"y"}, {"type":"tool_result", "tool_use_id":"a", "content":"x"}]', False),
        (b'[{"type":"tool_result", "tool_use_id":"a", "content":"", "is_error":true}]', False),
        (b'[{"type":"tool_result", "tool_use_id":"a", "content":"", "is_error":false}]', True),
        (b'[{"type":"tool_result", "tool_use_id":"a", "content":[{"type":"text", "text":" "}]}]', False),
        (b'[{"type":"tool_result", "tool_use_id":"a b", "content":"x"}]', False),
        (b'[{"type":"text", "text":"y"}, {"type":"text", "text":""}]', False),
        (b'[{"type":"text", "text":"y", "own":1}]', True),
    ],
)
def test_what_the_api_takes_is_sent_in_the_bytes_it_came_in(content: bytes, stands: bool) -> None:
    assert as_it_came(b'{"role":"user", "content":' + content + b"}") is stands


@pytest.mark.parametrize(
    ("proof", "stands"), [(b', "signature":"s"', True), (b', "signature":""', False), (b"", False)]
)
def test_thinking_is_sent_as_it_came_if_it_is_signed(proof: bytes, stands: bool) -> None:
    thinking = b'{"type":"thinking", "thinking":"hm"' + proof + b"}"
    raw = b'{"role":"assistant", "content":[' + thinking + b', {"type":"text", "text":"y"}]}'
    assert as_it_came(raw) is stands


MARKED = {"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("settings", "given", "left"),
    [
        ({}, [1, 1, 1, 1], [1, 1, 1, 1]),
        ({"cache_control": {"type": "ephemeral"}}, [1, 1, 1, 1], [0, 1, 1, 1]),
        ({"system": [MARKED]}, [1, 1, 1], [1, 1, 1]),
        ({"system": [MARKED], "cache_control": {"type": "ephemeral"}}, [1, 1, 1], [0, 1, 1]),
        ({"system": [MARKED], "tools": [{"name": "f", "cache_control": {}}]}, [1, 1, 1], [0, 1, 1]),
        ({"system": [MARKED] * 4}, [1, 0], [0, 0]),
        ({"system": [MARKED] * 5}, [0, 1], [0, 0]),
    ],
)
def test_marks_on_settings_leave_fewer_for_messages(
    settings: dict[str, object], given: list[int], left: list[int]
) -> None:
    roles = ("user", "assistant")
    chunks = [
        marked_chunk(marks, roles[place % 2]) if marks else bytes_of(role=roles[place % 2], content="hi")
        for place, marks in enumerate(given)
    ]
    messages = decode(ANTHROPIC.body(chunks, {"model": "m", "max_tokens": 9, **settings}, None))["messages"]
    assert [str(message).count("cache_control") for message in messages] == left


def test_a_message_with_more_marks_than_are_allowed_leaves_those_before_it_theirs() -> None:
    marked = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
    before = bytes_of(role="user", content=[marked])
    crowded = bytes_of(role="user", content=[marked] * 5)

    kept, bare = limited([before, crowded])

    assert kept == before
    assert b"cache_control" not in bare
    assert [each["text"] for each in decode(bare)["content"]] == ["a"] * 5
