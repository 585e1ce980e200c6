"""Long JSON is read and written in pieces, to the very same values and bytes as in one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from hashlib import blake2b

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contextfold.domain import (
    Image,
    Message,
    Text,
    TextFilter,
    ToolResult,
    decode,
    encode,
    form_of,
    long_json,
    recognition,
)
from contextfold.domain.long_json import LONG, read_long, written
from contextfold.errors import BadMessage

pytestmark = pytest.mark.finding("K13")

TEXTS = st.text(st.sampled_from('a "\\\n\u00e9\u65e5\U0001f600\x00/'), max_size=60)
VALUES = st.recursive(
    TEXTS | st.integers(-9, 9) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


@pytest.fixture(autouse=True, params=[1, 7])
def short_pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if everything were long."""
    monkeypatch.setattr(long_json, "LONG", 3)
    monkeypatch.setattr(recognition, "LONG", 3)
    monkeypatch.setattr(long_json, "_PIECE", 12 * request.param)
    monkeypatch.setattr(long_json, "_STEP", 20)


@given(value=VALUES, is_plain=st.booleans(), indent=st.sampled_from([None, 1]))
def test_a_long_value_is_read_as_it_was_written(value: object, is_plain: bool, indent: int | None) -> None:
    raw = json.dumps(value, ensure_ascii=not is_plain, indent=indent).encode()
    assert read_long(raw) == json.loads(raw)


@given(raw=st.lists(st.sampled_from([b'"', b"\\", b"u", b"d83d", b"00e9", b"n", b"a", b"\xc3", b"\xa9", b" ", b"\n"])))
def test_what_the_plain_reader_refuses_is_refused_in_pieces_too(raw: list[bytes]) -> None:
    given = b'"' + b"".join(raw) + b'"'
    try:
        value = msgspec.json.decode(given)
    except (msgspec.DecodeError, UnicodeDecodeError):
        with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)):
            read_long(given)
    else:
        assert read_long(given) == value


@given(text=TEXTS)
def test_a_long_text_is_written_in_pieces_to_the_same_bytes(text: str) -> None:
    assert b"".join(written(text)) == encode(text)


def test_half_a_character_in_a_long_text_is_read_by_the_tolerant_reader() -> None:
    raw = b'{"text":"' + b"a" * LONG + b"\\ud800" + b'"}'
    assert decode(raw) == {"text": "a" * LONG + "\ud800"}
    with pytest.raises(BadMessage):
        decode(b'{"text":"' + b"a" * LONG + b"\\q" + b'"}')


BLOCKS = st.lists(
    st.builds(Text, TEXTS)
    | st.builds(Image, data=TEXTS)
    | st.builds(lambda texts: ToolResult("c", tuple(map(Text, texts))), st.lists(TEXTS, max_size=3)),
    max_size=5,
)


def _without_days(text: str) -> str:
    return re.sub("a a", "", text).strip()


_A_LONG_ONE = Text("b" * (LONG + 1))


@example([Text(" \n"), Text(" x"), _A_LONG_ONE, Text("y "), Text("\t")])
@example([_A_LONG_ONE, Text("a"), Text(" "), Text("a c")])  # what is taken out came in three pieces
@example([Text(" " * LONG), Text(" ")])
@example([ToolResult("c", (Text(" "), _A_LONG_ONE)), Image(data="x")])
@example([ToolResult("c", (Text("\ud800"), _A_LONG_ONE)), Text("x")])  # half a character
@given(blocks=BLOCKS)
def test_a_long_message_has_the_number_of_its_whole_json(blocks: list[Text | Image | ToolResult]) -> None:
    """Numbers are in logs: those of long messages are what they were when each was written as a whole."""

    def parts(inner: list[Text | Image | ToolResult]) -> list[object]:
        found: list[object] = []
        text = ""
        for block in [*inner, None]:
            if isinstance(block, Text):
                text += block.text
                continue
            if words := _without_days(text):
                found.append(words)
            text = ""
            if isinstance(block, Image):
                found.append(["Image", *msgspec.structs.astuple(block)])
            elif isinstance(block, ToolResult):
                found.append(["result", False, parts(list(block.blocks))])  # type: ignore[arg-type]  # texts
        return found

    said = parts(blocks)
    expected = blake2b(encode(["user", said]), digest_size=16).digest() if said else b""
    assert form_of(Message("user", tuple(blocks)), TextFilter(_without_days, ("a a",))) == expected


_HELD = """
import tracemalloc

from contextfold.domain import encode
from contextfold.domain.long_json import LONG, read_long

raw = encode("a line of it\\n" * (24 * LONG // 14))
read_long(raw)
tracemalloc.start()
text = read_long(raw)
print(tracemalloc.get_traced_memory()[1] / len(text))
"""


def test_a_long_text_with_escapes_is_held_once_while_it_is_read() -> None:
    """In a Python of its own: whoever traces the lines holds the text that grows, and Python copies it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV_")}
    ran = subprocess.run([sys.executable, "-c", _HELD], capture_output=True, text=True, check=True, env=environment)
    assert float(ran.stdout) < 1.6
