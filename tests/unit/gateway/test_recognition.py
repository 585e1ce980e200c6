import json

import pytest

from contextfold.dialects import find
from contextfold.domain import Cover, form_of
from contextfold.gateway.client_shapes import shapes_named
from contextfold.gateway.recognition import START, MessageForm, Normaliser
from contextfold.gateway.refold import moved, paired

FORMATS = {
    "anthropic": (
        {"role": "user", "content": "Hello."},
        {"role": "user", "content": [{"type": "text", "text": "Hello.", "cache_control": {"type": "ephemeral"}}]},
    ),
    "openai-chat": (
        {"role": "assistant", "content": "Hello.", "refusal": None, "annotations": []},
        {"content": [{"text": "Hello.", "type": "text"}], "role": "assistant"},
    ),
    "openai-responses": (
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": '{"a": 1}', "status": "done"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'},
    ),
    "gemini": (
        {"role": "model", "parts": [{"text": "Hel"}, {"text": "lo."}, {"text": "x", "thought": True}]},
        {"role": "model", "parts": [{"text": "Hello.", "thoughtSignature": "s"}]},
    ),
}


def forms(messages: list[tuple[int, bytes]]) -> list[tuple[int, MessageForm]]:
    return [(seq, MessageForm(digest)) for seq, digest in messages]


def normaliser(format: str) -> Normaliser:
    return Normaliser(find(format))


@pytest.mark.parametrize("format", FORMATS)
def test_what_changes_by_itself_is_no_other_message(format: str) -> None:
    one, other = (json.dumps(message).encode() for message in FORMATS[format])
    known = normaliser(format)
    assert known.form(one) == known.form(other) != b""


def test_a_number_depends_on_everything_before_it() -> None:
    known = normaliser("anthropic")
    a, b, c = (json.dumps({"role": "user", "content": text}).encode() for text in "abc")
    assert known.keys([a, b]) == known.keys([a, b, c])[:2]
    assert known.keys([b, c])[-1] != known.keys([a, c])[-1]
    assert known.keys([c], known.keys([a, b])[-1]) == known.keys([a, b, c])[2:]


def test_what_says_nothing_has_a_key_and_changes_no_number() -> None:
    known = normaliser("anthropic")
    a, b = (json.dumps({"role": "user", "content": text}).encode() for text in "ab")
    silent = b'{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"}]}'
    first, still, last = known.keys([a, silent, b])
    assert [first, last] == known.keys([a, b])
    assert still == f"{first}.1"
    assert known.keys([silent])[0] == f"{START}.1"


def test_another_call_id_is_another_message() -> None:
    known = normaliser("anthropic")
    calls = [
        json.dumps(
            {"role": "assistant", "content": [{"type": "tool_use", "id": each, "name": "f", "input": {}}]}
        ).encode()
        for each in ("toolu_1", "toolu_2")
    ]
    assert known.form(calls[0]) != known.form(calls[1])


def test_only_what_a_known_client_renews_is_left_out_and_only_dates_of_it() -> None:
    claude, text = (
        shapes_named("claude-code"),
        "<system-reminder>a <b> c\nToday's date is 2026-11-18.</system-reminder>Hello.\nToday's date is 2026-11-18.",
    )
    assert claude.words(text.replace("18.<", "18.\n<")) == (
        "<system-reminder>a <b> c\n\n</system-reminder>Hello.\nToday's date is 2026-11-18."
    )
    assert claude.without_moved(text) == "Hello.\nToday's date is 2026-11-18."
    assert claude.without_moved("<system-reminder>never closed. Hello.") == "<system-reminder>never closed. Hello."
    assert shapes_named("python-httpx").words(text) == shapes_named("python-httpx").without_moved(text) == text
    assert claude.words("Today's date is the day of the heron.") == "Today's date is the day of the heron."


def test_old_messages_are_paired_with_equal_new_ones_in_order() -> None:
    old = [(1, b"a"), (2, b"b"), (3, b"a"), (4, b"c")]
    new = [(11, b"x"), (12, b"b"), (13, b"a"), (14, b"c")]
    assert paired(forms(old), forms(new)) == {2: 12, 3: 13, 4: 14}


def test_a_cover_moves_whole_or_not_at_all() -> None:
    cover = Cover(((2, 3),), ((4, 1),), (9,))
    assert moved(cover, {2: 12, 3: 13, 4: 14, 9: 19}, [1, 2, 3, 4], [1], {}) == [12, 13, 19, (14, 1)]
    assert moved(cover, {2: 12, 4: 14, 9: 19}, [1, 2, 3, 4], [1], {}) is None


@pytest.mark.finding("K9")
def test_a_cover_moves_only_with_the_calls_that_its_stand_in_quotes() -> None:
    cover = Cover(blocks=((3, 0),))
    assert moved(cover, {2: 12, 3: 13}, [1, 2, 3], [1], {3: {2}}) == [(13, 0)]
    assert moved(cover, {3: 13}, [1, 2, 3], [1], {3: {2}}) is None


def test_a_history_that_came_before_is_numbered_as_if_it_were_new() -> None:
    silent = b'{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"}]}'
    a, b, c, d = (json.dumps({"role": "user", "content": text}).encode() for text in "abcd")
    known = normaliser("anthropic")
    for history in ((a, b), (a, b, silent), (a, b, silent, silent, c), (a, b, d), (a, b), (a, b, silent, c, d)):
        assert known.keys(history) == normaliser("anthropic").keys(history)
        assert known.key_after(known.keys((a,))[-1], history) == normaliser("anthropic").keys((a, *history))[-1]


def test_of_many_histories_only_the_newest_are_remembered() -> None:
    known = normaliser("anthropic")
    histories = [
        tuple(json.dumps({"role": "user", "content": f"{at} {text}"}).encode() for text in "ab") for at in range(500)
    ]
    before = [known.keys(history) for history in histories]
    assert [known.keys(history) for history in histories] == before


def test_marks_on_blocks_that_nobody_knows_are_no_other_message() -> None:
    block = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "herons"}}
    marked = {**block, "cache_control": {"type": "ephemeral"}}
    one, other = (json.dumps({"role": "assistant", "content": [each]}).encode() for each in (block, marked))
    known = normaliser("anthropic")
    assert known.form(one) == known.form(other) != b""


def test_a_message_that_cannot_be_read_is_known_by_its_bytes() -> None:
    known = normaliser("anthropic")
    assert known.form(b'{"role": 7}') == known.form(b'{"role": 7}') != known.form(b'{"role": 8}')


@pytest.mark.parametrize("format", FORMATS)
def test_whoever_follows_a_list_takes_the_same_messages_for_equal(format: str) -> None:
    one, other = (find(format).parse(json.dumps(message).encode()) for message in FORMATS[format])
    assert form_of(one) == form_of(other) != b""
