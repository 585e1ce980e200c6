"""Gemini contents: read, sent as they came, changed only where something must, joined into the turns the API wants."""

from typing import Any

import pytest

import contextfold as cf
from contextfold.dialects import detect, gemini, reply
from contextfold.dialects.gemini import GeminiDialect
from contextfold.dialects.gemini.render import touched
from contextfold.domain import (
    Block,
    Document,
    Edit,
    Image,
    Message,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    decode,
    encode,
)
from contextfold.errors import BadMessage

from .outline import item

GEMINI, SIGNED = GeminiDialect(), GeminiDialect(signed=True)
UNSIGNED = "skip_thought_signature_validator"
CALL: dict[str, Any] = {"functionCall": {"name": "f", "args": {"a": 1.50}}, "thoughtSignature": "c2VhbA=="}


def content(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def said(value: Any) -> Message:
    return GEMINI.parse(value if isinstance(value, bytes) else encode(value))


def shown(message: Message, *edits: Edit, late: tuple[int, ...] = (), dialect: GeminiDialect = GEMINI) -> Any:
    chunk = dialect.chunk(item(message, *edits, late=late), message)
    return decode(chunk)["parts"] if chunk else []


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"text": "hi"}, Text("hi")),
        ({"text": "hi", "thoughtSignature": "s"}, Text("hi")),
        ({"text": "hm", "thought": True, "thoughtSignature": "s"}, Reasoning("hm", "s")),
        ({"text": "", "thought_signature": "s"}, Reasoning("", "s")),
        ({"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}}, ToolCall("c", "f", '{"a":1}')),
        ({"function_call": {"name": "f"}}, ToolCall("gemini--f", "f")),
        (
            {"functionResponse": {"id": "c", "name": "f", "response": {"output": "42"}}},
            ToolResult("c", (Text("42"),)),
        ),
        (
            {"functionResponse": {"name": "f", "response": {"error": "no"}}},
            ToolResult("gemini--f", (Text("no"),), True, "f"),
        ),
        (
            {"functionResponse": {"id": "c", "name": "f", "response": {"a": [1, {"b": 2}]}}},
            ToolResult("c", (Text('{"a":[1,{"b":2}]}'),)),
        ),
        ({"inlineData": {"mimeType": "image/png", "data": "-_A="}}, Image("image/png", "+/A=")),
        ({"inline_data": {"mime_type": "application/pdf", "data": "AA"}}, Document("application/pdf", data="AA")),
        ({"fileData": {"mimeType": "image/png", "fileUri": "gs://a"}}, Image("image/png", url="gs://a")),
        ({"executableCode": {"code": "1"}}, Opaque("executableCode", '{"executableCode":{"code":"1"}}')),
        ({"notInventedYet": 1}, Opaque("notInventedYet", '{"notInventedYet":1}')),
        ({"text": 3}, Opaque("text", '{"text":3}')),
    ],
)
@pytest.mark.seed("E3")
def test_every_kind_of_part_has_its_block(part: dict[str, Any], expected: Block) -> None:
    assert said(content("model", part)).blocks == (expected,)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("hi", "JSON object"),
        ({"role": "assistant", "parts": []}, "role 'assistant'"),
        ({"role": "user", "parts": "hi"}, "'parts' is a str"),
        ({"role": "user", "parts": ["hi"]}, "A part is a str"),
    ],
)
def test_what_no_reader_could_make_sense_of_is_refused(value: object, why: str) -> None:
    with pytest.raises(BadMessage, match=why):
        said(value)


def test_a_content_is_recognised_and_sent_as_it_came() -> None:
    raw = (
        b'{ "parts" : [ {"text":"hi", "x":1.50}, {"inlineData":{"mimeType":"image/png","data":"AA"}} ], "role":"user" }'
    )
    assert detect(decode(raw)) == "gemini"
    assert GEMINI.chunk(item(said(raw)), said(raw)) == raw


def test_the_first_candidate_is_the_answer() -> None:
    answer = reply({"candidates": [{"content": {"parts": [{"text": "a", "x": None}]}, "finishReason": "STOP"}]})
    assert answer is not None
    assert (answer.message.raw, answer.stop) == (b'{"role":"model","parts":[{"text":"a"}]}', "STOP")
    blocked = reply({"candidates": [{"finishReason": "SAFETY"}]})
    assert blocked is not None
    assert blocked.message.blocks == ()


def test_signatures_stay_on_their_part_and_blank_text_goes() -> None:
    parts = [{"text": " "}, {"text": "", "thoughtSignature": "s"}, CALL]
    assert shown(said(content("model", *parts))) == parts[1:]


@pytest.mark.seed("R7")
def test_a_call_that_was_changed_says_that_its_signature_is_gone() -> None:
    (call,) = shown(said(content("model", CALL)), Edit(0, "[cleared]"))
    assert call == {"functionCall": {"name": "f", "args": {"folded": "[cleared]"}}, "thoughtSignature": UNSIGNED}


def test_models_that_want_signatures_get_one_on_the_first_call_of_a_step() -> None:
    bare = {"functionCall": {"name": "f", "args": {}}}
    unsigned = said(content("model", {"text": "a"}, bare, bare))
    assert shown(unsigned) == [{"text": "a"}, bare, bare]
    assert shown(unsigned, dialect=SIGNED) == [{"text": "a"}, {**bare, "thoughtSignature": UNSIGNED}, bare]
    signed = said(content("model", CALL, bare))
    assert SIGNED.chunk(item(signed), signed) == signed.raw


def test_folded_responses_keep_their_name_and_late_ones_become_text() -> None:
    media = [{"inlineData": {"mimeType": "image/png", "data": "AA"}}]
    response = {"functionResponse": {"id": "c", "name": "f", "response": {"output": "long"}, "parts": media}}
    message = said(content("user", response))
    folded = {"functionResponse": {"id": "c", "name": "f", "response": {"output": "[cleared]"}}}
    assert shown(message, Edit(0, "[cleared]")) == [folded]
    assert shown(message, late=(0,)) == [{"text": "[Late result of tool call c]\nlong"}, *media]
    assert shown(message, Edit(0, "")) == []


def body(*contents: Any, **settings: Any) -> dict[str, Any]:
    chunks = [GEMINI.chunk(item(said(each)), said(each)) for each in contents]
    found: dict[str, Any] = decode(GEMINI.body(GEMINI.limited(chunks, 0), settings, None))
    return found


def response(name: str) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": name}}}


@pytest.mark.seed("R8")
def test_responses_of_one_turn_are_one_content_and_so_is_what_the_model_said_around_its_calls() -> None:
    calls: list[dict[str, Any]] = [{"functionCall": {"name": name, "args": {}}} for name in ("f", "g")]
    found = body(
        content("user", {"text": "a"}),
        content("model", {"text": "b"}),
        content("model", {"text": "c"}),
        content("model", *calls),
        content("user", response("f")),
        content("user", response("g"), {"text": "d"}),
        content("user", {"text": "e"}),
    )
    assert found["contents"] == [
        content("user", {"text": "a"}),
        content("model", {"text": "b"}, {"text": "c"}, *calls),
        content("user", response("f"), response("g"), {"text": "d"}),
        content("user", {"text": "e"}),
    ]
    assert GEMINI.check(found) == []


def test_joining_sees_what_was_joined_before() -> None:
    calls = content("model", {"functionCall": {"name": "f"}}, {"functionCall": {"name": "g"}})
    chunks = [encode(content("user", {"text": "a\ud800"})), encode(calls), encode(content("user", response("f")))]
    chunks = GEMINI.limited(chunks, 0)
    chunks = GEMINI.limited([*chunks, encode(content("user", response("g")))], 3)
    assert len(list(filter(None, chunks))) == 3
    assert GEMINI.limited(list(chunks), 4) == chunks


def test_system_and_opening_are_placed() -> None:
    found = body(content("model", {"text": "a"}), content("user", {"text": "b"}), system="Be brief.")
    assert found["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert [each["role"] for each in found["contents"]] == ["user", "model", "user"]


def test_a_system_message_is_lifted_from_the_front_and_labelled_elsewhere() -> None:
    with cf.Session.open(model="gemini-3.8-flash") as session:
        session.append({"role": "system", "content": "Be brief."})
        session.append({"role": "user", "content": "hi"})
        session.append({"role": "system", "content": "Be long."})
        found = session.prepare(system="You help.").body
        assert found["systemInstruction"]["parts"][0]["text"] == "You help.\nBe brief."
        assert found["contents"][1] == content("user", {"text": "[System message]\nBe long."})


def test_the_longest_answer_stands_beside_the_callers_own_settings() -> None:
    with cf.Session.open(model="gemini-3.8-flash") as session:
        session.append(content("user", {"text": "hi"}))
        found = session.prepare(max_tokens=50, generationConfig={"temperature": 0.5}).body
        assert found["generationConfig"] == {"maxOutputTokens": 50, "temperature": 0.5}
        assert session.prepare(generationConfig={"topK": 1}).body["generationConfig"] == {"topK": 1}


def test_an_interrupted_call_without_an_id_gets_a_response_without_one() -> None:
    with cf.Session.open(model="gemini-3.8-flash") as session:
        session.append(content("user", {"text": "hi"}))
        session.append(content("model", {"functionCall": {"name": "f"}}, {"functionCall": {"name": "f"}}))
        session.append(content("user", response("f")))
        session.append(content("user", {"text": "never mind"}))
        found = session.prepare().body
        names = [list(part["functionResponse"]) for part in found["contents"][2]["parts"]]
        assert names == [["name", "response"], ["name", "response"]]
        assert SIGNED.check(found) == []


def test_a_recorded_step_without_ids_keeps_its_bytes_though_names_repeat() -> None:
    with cf.Session.open(model="gemini-2.5-pro") as session:
        raws = []
        for number in range(3):
            for each in (
                content("user", {"text": f"{number}"}),
                content("model", {"functionCall": {"name": "f", "args": {"n": number}}}),
                content("user", response("f")),
                content("model", {"text": "done"}),
            ):
                raws.append(b" " + encode(each))
                session.append(raws[-1])
        session.append(content("user", {"text": "thanks"}))
        assert b",".join(raws) in session.prepare().json


# -- rules -----------------------------------------------------------------------------------------------------------

ASKED = content("user", {"text": "hi"})
CALLED = content("model", {"functionCall": {"id": "c", "name": "f", "args": {}}, "thoughtSignature": "s"})
ANSWERED = content("user", {"functionResponse": {"id": "c", "name": "f", "response": {}}})

BROKEN: dict[str, list[Any]] = {
    "malformed": [None, [], ["a"], [{"role": "user", "parts": "a"}], [content("user", "a", {"text": "b"})]],
    "unknown-role": [[content("assistant", {"text": "a"})]],
    "first-from-user": [[content("model", {"text": "a"}), ASKED]],
    "ends-with-model": [[ASKED, content("model", {"text": "a"})]],
    "empty-content": [[content("user"), ASKED], [{"role": "user"}]],
    "empty-part": [[content("user", {"text": ""}, {"text": "a"})], [content("user", {}, {"text": "a"})]],
    "two-in-a-part": [[content("user", {"text": "a", "inlineData": {"mimeType": "image/png", "data": "AA"}})]],
    "call-placement": [[ASKED, content("model", {"text": "a"}), CALLED, ANSWERED]],
    "unanswered-call": [[ASKED, CALLED], [ASKED, CALLED, ASKED]],
    "orphan-response": [[ANSWERED], [ASKED, CALLED, content("user", *ANSWERED["parts"] * 2)]],
    "duplicate-call": [[ASKED, CALLED, ANSWERED, CALLED, ANSWERED]],
    "misplaced-part": [
        [content("user", {"text": "a"}, *CALLED["parts"])],
        [ASKED, content("model", *ANSWERED["parts"]), ASKED],
    ],
    "malformed-call": [
        [
            ASKED,
            content("model", {"functionCall": {"name": "f", "args": []}, "thoughtSignature": "s"}),
            content("user", response("f")),
        ]
    ],
    "missing-signature": [[ASKED, content("model", {"functionCall": {"id": "c", "name": "f"}}), ANSWERED]],
}


@pytest.mark.parametrize(("rule", "contents"), [(rule, found) for rule, every in BROKEN.items() for found in every])
def test_a_broken_request_is_told_by_its_rule(rule: str, contents: object) -> None:
    assert {problem.rule for problem in SIGNED.check({"contents": contents})} == {rule}


def test_a_sound_request_passes_and_signatures_are_asked_for_only_where_the_model_wants_them() -> None:
    assert SIGNED.check({"contents": [ASKED, CALLED, ANSWERED]}) == []
    unsigned = content("model", {"function_call": {"name": "f"}})
    assert GEMINI.check({"contents": [ASKED, unsigned, content("user", response("f"))]}) == []


def test_every_rule_is_shown_here() -> None:

    assert {rule.__name__.replace("_", "-") for rule in gemini.RULES} | {"malformed"} == set(BROKEN)


def test_a_step_that_has_its_signature_is_sent_in_the_very_bytes_it_came_in() -> None:
    raw = b'{ "role" : "model", "parts": [ {"functionCall": {"name": "f", "args": {}}, "thoughtSignature":"s"} ] }'
    message = said(raw)
    assert touched(item(message), message, is_signed=True) == raw
    unsigned = said(raw.replace(b', "thoughtSignature":"s"', b""))
    assert decode(touched(item(unsigned), unsigned, is_signed=True))["parts"][0]["thoughtSignature"] == UNSIGNED


def test_bytes_go_out_unread_only_where_no_call_needs_a_signature() -> None:
    call = said(content("model", {"functionCall": {"name": "f", "args": {}}}))
    assert GEMINI.as_given(item(call), call.raw) == call.raw
    assert SIGNED.as_given(item(call), call.raw) is None, "it is read first: a call that nobody signed has to say so"
    assert shown(call, dialect=SIGNED)[0]["thoughtSignature"] == UNSIGNED


@pytest.mark.parametrize("contents", [None, 7, "hi", [], {}])
def test_a_request_without_a_list_of_contents_is_told(contents: object) -> None:
    problems = GEMINI.check({"contents": contents})
    assert [(problem.path, problem.rule) for problem in problems] == [("contents", "malformed")]
