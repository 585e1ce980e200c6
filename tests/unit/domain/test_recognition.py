"""Two messages say the same whatever clients do to their marks, ids and reasoning; prefixes have numbers."""

import pytest

from contextfold import dialects
from contextfold.domain import NO_PREFIX, Message, Text, ToolCall, encode, form_of, prefix_numbers
from contextfold.domain.recognition import TextFilter

CALL = {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x", "all": True}}
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "I look."}, CALL]}


def form(message: object, dialect: str = "anthropic") -> bytes:
    return form_of(dialects.find(dialect).parse(encode(message)))


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": "I look.", "cache_control": {"type": "ephemeral"}}, CALL],
        [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "I look."}, CALL],
        [{"type": "text", "text": "I look."}, {**CALL, "id": "renamed"}],
        [{"type": "text", "text": "I look."}, {**CALL, "input": {"all": True, "path": "x"}}],
    ],
)
def test_marks_reasoning_ids_and_the_order_of_arguments_are_not_what_is_said(content: object) -> None:
    assert form({"role": "assistant", "content": content}) == form(ANSWER)


@pytest.mark.parametrize(
    "other",
    [
        {"role": "user", "content": ANSWER["content"]},
        {"role": "assistant", "content": [{"type": "text", "text": "I look"}, CALL]},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, {**CALL, "input": {"path": "y"}}]},
    ],
)
def test_words_calls_and_speakers_are(other: object) -> None:
    assert form(other) != form(ANSWER)


def test_the_same_words_are_the_same_in_every_dialect() -> None:
    said = {"role": "user", "content": "Hello."}
    assert form(said) == form(said, "openai-chat") == form({"role": "user", "parts": [{"text": "Hello."}]}, "gemini")


def test_a_number_depends_on_everything_before_it_and_goes_on_from_any_place() -> None:
    forms = [b"a", b"b", b"b", b"c"]
    numbers = list(prefix_numbers(forms))
    assert len(set(numbers)) == 4
    assert list(prefix_numbers(forms[2:], numbers[1])) == numbers[2:]
    assert list(prefix_numbers([b"x", b"b"]))[1] != numbers[1]


def test_what_says_nothing_has_no_form_and_changes_no_number() -> None:
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}
    assert form(thought) == b""
    assert list(prefix_numbers([b"", b"a"])) == [NO_PREFIX, next(prefix_numbers([b"a"]))]


def test_what_a_client_adds_by_itself_can_be_taken_out() -> None:
    message = dialects.find("anthropic").parse(encode({"role": "user", "content": "Hello. <now/>"}))
    assert form_of(message, lambda text: text.removesuffix(" <now/>")) == form({"role": "user", "content": "Hello."})


def test_pictures_and_what_nobody_knows_are_said_and_arguments_that_are_no_json_are_words() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    forms = {
        form({"role": "user", "content": [{"type": "image", "source": source}]}),
        form({"role": "user", "content": [{"type": "image", "source": {**source, "data": "aGo="}}]}),
        form({"role": "user", "content": [{"type": "hologram", "data": "x"}]}),
    }
    assert len(forms) == 3
    assert b"" not in forms
    torn, other = (Message("assistant", (ToolCall("a", "read", words),)) for words in ('{"path": ', '{"path":'))
    assert form_of(torn) == form_of(torn) != form_of(other)


def test_a_fraction_that_no_float_holds_is_compared_as_it_is_written() -> None:
    written = ('{"x": 0.12345678901234567891}', '{"x": 0.12345678901234567892}', '{"x": 0.5}', '{"x":0.50}')
    one, two, half, same = (form_of(Message("assistant", (ToolCall("a", "f", each),))) for each in written)
    assert one != two
    assert half == same


LONG = 1 << 20  # characters from which a text stays in the pieces it came in
KEEPS = TextFilter(str.strip)
WITHOUT_NOW = TextFilter(lambda text: text.replace("<now/>", "").strip(), signs=("<now/>",))


def said_in(*pieces: str, words: TextFilter = KEEPS) -> bytes:
    return form_of(Message("user", tuple(map(Text, pieces))), words)


@pytest.mark.parametrize(
    "pieces",
    [
        ("x" * LONG, "y"),
        ("  \n", "x" * LONG, "y \n", "\t"),
        (" " * LONG, "xy", " " * LONG),
        (" " * LONG, "\n"),
        ("x" * LONG, "half \ud83d", "y"),
    ],
    ids=["two pieces", "space around", "space of its own", "space alone", "half a character"],
)
def test_a_long_text_says_the_same_in_pieces_and_as_one(pieces: tuple[str, ...]) -> None:
    assert said_in(*pieces) == said_in("".join(pieces)) == said_in("".join(pieces).strip())
    assert bool(said_in(*pieces)) is bool("".join(pieces).strip())


def test_half_a_character_in_a_long_message_is_told_apart() -> None:
    call = ToolCall("a", "read", "x" * LONG)
    torn, other = (form_of(Message("assistant", (Text(f"half {end}"), call))) for end in ("\ud83d", "\ud83e"))
    assert torn
    assert torn != other


@pytest.mark.parametrize("cut", [0, 3, 6])
def test_a_sign_is_seen_in_a_long_text_wherever_it_is_cut(cut: int) -> None:
    sign = "<now/>"
    pieces = ("x" * LONG + sign[:cut], sign[cut:] + "y" * LONG)
    assert said_in(*pieces, words=WITHOUT_NOW) == said_in("x" * LONG + "y" * LONG, words=WITHOUT_NOW)
    assert said_in(*pieces, words=WITHOUT_NOW) != said_in("".join(pieces))
