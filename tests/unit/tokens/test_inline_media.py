"""Media are weighed by their kind wherever they stand: in a provider's own items, in results of its tools, as sound."""

import base64
import struct
from typing import Any

import pytest

import contextfold as cf
from contextfold.tokens.media import without_media
from tests.unit.tokens.pictures import png


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def wav(seconds: int, rate: int = 16_000) -> bytes:
    body = bytes(seconds * rate * 2)
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, rate * 2, 2, 16)
    return b"RIFF" + struct.pack("<I", 36 + len(body)) + b"WAVE" + form + b"data" + struct.pack("<I", len(body)) + body


PICTURE = b64(base64.b64decode(png(1024, 1024)) + bytes(1_500_000))
SOUND = b64(wav(16))
PAPER = b64(b"%PDF-1.7\n" + b"/Type /Page\n" * 4 + bytes(1_000_000))
CASES: dict[str, tuple[str, dict[str, Any], int]] = {
    "a generated picture": (
        "gpt-6-sol",
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": PICTURE},
        20_000,
    ),
    "a sound": (
        "gpt-4o",
        {
            "role": "user",
            "content": [{"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}}],
        },
        2_000,
    ),
    "a paper that was fetched": (
        "claude-sonnet-5-5",
        {
            "role": "assistant",
            "content": [
                {
                    "type": "server_tool_use",
                    "id": "srvtoolu_1",
                    "name": "web_fetch",
                    "input": {"url": "https://a.b/c.pdf"},
                },
                {
                    "type": "web_fetch_tool_result",
                    "tool_use_id": "srvtoolu_1",
                    "content": {
                        "type": "web_fetch_result",
                        "url": "https://a.b/c.pdf",
                        "content": {
                            "type": "document",
                            "source": {"type": "base64", "media_type": "application/pdf", "data": PAPER},
                        },
                    },
                },
            ],
        },
        60_000,
    ),
    "a sound for Gemini": (
        "gemini-2.5-pro",
        {"role": "user", "parts": [{"inlineData": {"mimeType": "audio/wav", "data": SOUND}}]},
        2_000,
    ),
    "a film for Gemini": (
        "gemini-2.5-pro",
        {"role": "user", "parts": [{"inlineData": {"mimeType": "video/mp4", "data": b64(bytes(1_000_000))}}]},
        10_000,
    ),
}


@pytest.mark.finding("W10")
@pytest.mark.parametrize("case", CASES)
def test_media_are_weighed_by_their_kind_wherever_they_stand(case: str) -> None:
    model, message, most = CASES[case]
    counted = cf.count([message], model=model)
    assert 100 < counted.tokens < most
    assert not counted.exact


@pytest.mark.finding("W10")
def test_the_length_of_a_sound_is_read_from_its_header() -> None:
    _, one = without_media(f'{{"data": "{b64(wav(16))}", "format": "wav"}}')
    _, other = without_media(f'{{"data": "{b64(wav(16, 8_000))}"}}')
    assert one[0][:2] == other[0][:2] == ("audio", 17)


@pytest.mark.finding("W10")
@pytest.mark.parametrize("text", ["word " * 400, "A" * 2_000, "no json " * 100, '{"a": "' + "b" * 600 + '"}'])
def test_long_texts_that_are_no_media_stay_text(text: str) -> None:
    assert without_media(text) == (text, ())


@pytest.mark.finding("W10")
def test_a_picture_as_an_address_of_data_is_a_picture() -> None:
    rest, media = without_media(f'{{"image_url": "data:image/png;base64,{PICTURE}", "detail": "high"}}')
    assert (rest, media) == ('{"image_url":"","detail":"high"}', (("image", 1024, 1024),))
