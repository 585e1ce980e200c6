import base64
from collections.abc import Callable

import pytest

from contextfold.domain import Document, Image, Message, Text, ToolResult
from contextfold.models import Media, find
from contextfold.tokens import count, counter_for
from contextfold.tokens.media import UNKNOWN_PAGES, dimensions, image_tokens, media_tokens, pages
from tests.unit.tokens import pictures


@pytest.mark.parametrize(
    "make",
    [
        pictures.png,
        pictures.gif,
        pictures.jpeg,
        pictures.webp_lossy,
        pictures.webp_lossless,
        pictures.webp_extended,
    ],
)
def test_the_size_of_a_picture_is_read_from_its_header(make: Callable[[int, int], str]) -> None:
    assert dimensions(make(1280, 721)) == (1280, 721)


def test_a_jpeg_may_carry_a_preview_before_its_size() -> None:
    assert dimensions(pictures.jpeg(640, 480, preview=50_000)) == (640, 480)


@pytest.mark.parametrize(
    "data",
    ["", "=", "no picture at all", "/9j/" * 9, pictures.png(9, 9)[:9], "é", "UklGRg==" * 8, pictures.webp_unknown()],
)
def test_what_is_no_picture_has_no_size(data: str) -> None:
    assert dimensions(data) == (0, 0)


# Measured for each model: see the catalogue's sources.
@pytest.mark.seed("R22")
@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        ("claude-haiku-4-5", 200, 200, 64),
        ("claude-haiku-4-5", 1280, 720, 1196),
        ("claude-haiku-4-5", 4032, 3024, 1568),
        ("claude-sonnet-5-5", 1920, 1080, 2691),
        ("claude-sonnet-5-5", 3840, 2160, 2952),
        ("gpt-6-astra", 1024, 1024, 1229),
        ("gpt-6-astra", 4032, 3024, 14364),
        ("gpt-5.5", 4032, 3024, 12000),
        ("gpt-4o", 1024, 1024, 765),
        ("gpt-4o", 2048, 4096, 1105),
        ("gpt-5", 512, 512, 210),
        ("gemini-3.8-flash", 256, 256, 1120),
        ("gemini-2.5-pro", 384, 200, 258),
        ("gemini-2.5-pro", 1000, 1000, 1032),
    ],
)
def test_a_picture_costs_what_its_provider_charges(model: str, width: int, height: int, tokens: int) -> None:
    media = find(model, environ={}).media
    assert media is not None
    assert image_tokens(width, height, media) == tokens


@pytest.mark.seed("R22")
def test_the_length_of_the_base64_changes_nothing() -> None:
    short, long = pictures.jpeg(800, 600), pictures.jpeg(800, 600, preview=60_000)
    said = [count([Message("user", (Image(data=data),))], "claude-opus-4-6").tokens for data in (short, long)]
    assert said[0] == said[1]


@pytest.mark.seed("R19")
def test_a_picture_inside_a_tool_result_costs_what_it_costs_outside() -> None:
    image = Image("image/png", pictures.png(1000, 1000))
    counter = counter_for("claude-opus-4-6")
    inside = counter.shape(Message("user", (ToolResult("1", (Text("see"), image)),)))
    outside = counter.shape(Message("user", (image,)))
    assert inside.images == outside.images == 1
    assert counter.tokens(inside) > counter.block_tokens(outside.blocks[0].measure) == 36 * 36


def test_a_picture_nobody_can_measure_counts_as_a_large_one() -> None:
    media = find("claude-opus-4-6", environ={}).media
    assert media is not None
    assert media_tokens("image", 0, 0, media) == 1568


def test_little_detail_costs_little() -> None:
    high, low = (Message("user", (Image(data=pictures.png(2000, 2000), detail=detail),)) for detail in ("high", "low"))
    assert count([low], "gpt-4o").tokens < count([high], "gpt-4o").tokens / 2


def pdf(number: int) -> str:
    body = b"%PDF-1.7 /Type /Pages " + b"<< /Type /Page >> " * number
    return base64.b64encode(body).decode()


def test_pages_are_counted_in_a_pdf() -> None:
    assert pages(pdf(7), "application/pdf") == 7


def test_pages_that_do_not_show_are_guessed_from_the_size() -> None:
    assert pages(base64.b64encode(b"%PDF" + b"\0" * 400_000).decode(), "application/pdf") == 9
    assert pages("AAAA", "application/msword") == 1


def test_a_document_costs_by_its_pages() -> None:
    two, nine = (Message("user", (Document("application/pdf", pdf(number)),)) for number in (2, 9))
    difference = count([nine], "claude-opus-4-6").tokens - count([two], "claude-opus-4-6").tokens
    assert difference == 7 * Media().page


def test_a_document_elsewhere_counts_as_a_long_one() -> None:
    there = Message("user", (Document("application/pdf", url="file-123"),))
    assert count([there], "claude-opus-4-6").tokens >= UNKNOWN_PAGES * Media().page


def test_a_document_of_plain_text_is_text() -> None:
    text = "A short note. " * 50
    as_document, as_text = Message("user", (Document("text/plain", text=text),)), Message("user", (Text(text),))
    assert count([as_document], "gpt-5.5").tokens == count([as_text], "gpt-5.5").tokens
