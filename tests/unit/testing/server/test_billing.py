"""Bills: exact prefixes, minimum length, breakpoints and their look-back, lifetimes on a clock that tests move."""

from typing import Any

import pytest

from contextfold.models import Prices
from contextfold.testing.server import Clock, Say, StrictServer, TokenBill

from .conftest import Post

LONG = "The quick brown fox jumps over the lazy dog. " * 300


def marked(text: str, ttl: str = "5m") -> dict[str, Any]:
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral", "ttl": ttl}}


def ask(post: Post, *blocks: dict[str, Any], **more: Any) -> dict[str, int]:
    body = {"model": "claude-sonnet-5-5", "max_tokens": 10, "messages": [{"role": "user", "content": list(blocks)}]}
    usage: dict[str, int] = post("anthropic", {**body, **more}).json()["usage"]
    return usage


def test_without_a_breakpoint_nothing_is_cached(post: Post) -> None:
    block = {"type": "text", "text": LONG}
    for _ in range(2):
        usage = ask(post, block)
        assert usage["cache_read_input_tokens"] == usage["cache_creation_input_tokens"] == 0
        assert usage["input_tokens"] > 2_000


def test_what_was_written_is_read_until_its_lifetime_ends(post: Post, clock: Clock) -> None:
    written = ask(post, marked(LONG))["cache_creation_input_tokens"]
    assert written > 2_000
    clock.advance(299)
    assert ask(post, marked(LONG))["cache_read_input_tokens"] == written
    clock.advance(299)  # a read made it live anew
    assert ask(post, marked(LONG))["cache_read_input_tokens"] == written
    clock.advance(301)
    assert ask(post, marked(LONG))["cache_creation_input_tokens"] == written


def test_an_hour_costs_as_an_hour_and_lasts_one(post: Post, clock: Clock) -> None:
    first: Any = ask(post, marked(LONG, "1h"))
    assert first["cache_creation"]["ephemeral_1h_input_tokens"] == first["cache_creation_input_tokens"] > 0
    clock.advance(3_599)
    assert ask(post, marked(LONG, "1h"))["cache_read_input_tokens"] > 0


def test_a_short_prefix_is_silently_not_cached(post: Post) -> None:
    for _ in range(2):
        usage = ask(post, marked("A short one."))
        assert usage["cache_read_input_tokens"] == usage["cache_creation_input_tokens"] == 0


@pytest.mark.parametrize(("blocks", "is_found"), [(19, True), (20, False)])
def test_a_breakpoint_looks_back_twenty_blocks(post: Post, blocks: int, is_found: bool) -> None:
    ask(post, marked(LONG))
    between = [{"type": "text", "text": f"Block {number}."} for number in range(blocks - 1)]
    usage = ask(post, {"type": "text", "text": LONG}, *between, marked("The end."))
    assert (usage["cache_read_input_tokens"] > 0) is is_found


def test_one_changed_character_at_the_front_costs_everything(post: Post) -> None:
    ask(post, {"type": "text", "text": "A"}, marked(LONG))
    assert ask(post, {"type": "text", "text": "B"}, marked(LONG))["cache_read_input_tokens"] == 0


def test_a_change_of_tool_choice_costs_only_the_messages(post: Post) -> None:
    tools = [{"name": "read", "description": LONG, "input_schema": {"type": "object"}, "cache_control": CONTROL}]
    first = ask(post, marked(LONG), tools=tools)
    then = ask(post, marked(LONG), tools=tools, tool_choice={"type": "none"})
    assert 0 < then["cache_read_input_tokens"] < first["cache_creation_input_tokens"]
    assert then["cache_creation_input_tokens"] > 0


CONTROL = {"type": "ephemeral"}


def test_one_mark_on_the_request_follows_its_end(post: Post) -> None:
    ask(post, {"type": "text", "text": LONG}, cache_control=CONTROL)
    grown = ask(post, {"type": "text", "text": LONG}, {"type": "text", "text": "More."}, cache_control=CONTROL)
    assert grown["cache_read_input_tokens"] > 2_000
    assert 0 < grown["cache_creation_input_tokens"] < 20


def chat(post: Post, model: str, *texts: str, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": text} for text in texts]
    usage: dict[str, Any] = post("chat", {"model": model, "messages": messages, **more}).json()["usage"]
    return usage


def test_openai_caches_by_itself_and_newer_models_charge_for_it(post: Post) -> None:
    first = chat(post, "gpt-6-sol", LONG)
    assert first["prompt_tokens_details"]["cache_write_tokens"] == first["prompt_tokens"]
    then = chat(post, "gpt-6-sol", LONG, "More.")
    assert then["prompt_tokens_details"]["cached_tokens"] >= first["prompt_tokens"] - 128
    assert then["prompt_tokens_details"]["cached_tokens"] % 128 == 0
    assert "cache_write_tokens" not in chat(post, "gpt-5", LONG)["prompt_tokens_details"]


def test_another_cache_key_is_another_cache(post: Post) -> None:
    chat(post, "gpt-5", LONG, prompt_cache_key="a")
    assert chat(post, "gpt-5", LONG, prompt_cache_key="b")["prompt_tokens_details"]["cached_tokens"] == 0
    assert chat(post, "gpt-5", LONG, prompt_cache_key="a")["prompt_tokens_details"]["cached_tokens"] > 0


def test_gemini_reports_what_it_read_inside_the_prompt(post: Post) -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": LONG}]}]}
    first = post("gemini", body).json()["usageMetadata"]
    then = post("gemini", body).json()["usageMetadata"]
    assert "cachedContentTokenCount" not in first
    assert 0 < then["cachedContentTokenCount"] <= then["promptTokenCount"] == first["promptTokenCount"]


def test_the_server_adds_up_what_was_paid(post: Post, server: StrictServer) -> None:
    server.answer(Say("A few words.", thinking="Much thought."))
    ask(post, marked(LONG))
    ask(post, marked(LONG))
    written, read = (each.usage for each in server.exchanges)
    assert server.usage == written + read
    assert (written.written, read.read) == (written.input, written.input)
    assert server.exchanges[0].cost > 10 * server.exchanges[1].cost > 0
    assert server.cost == sum(each.cost for each in server.exchanges)


def test_a_usage_costs_by_its_parts() -> None:
    usage = TokenBill(fresh=1_000_000, read=1_000_000, written=1_000_000, written_hour=1_000_000, output=1_000_000)
    assert usage.cost(Prices(2, 10, 0.2, 2.5, 4)) == pytest.approx(2 + 0.2 + 2.5 + 4 + 10)
    assert usage.cost(Prices(2, 10)) == pytest.approx(4 * 2 + 10)
    assert usage.cost(None) == 0


def test_pictures_and_files_have_a_flat_price(post: Post) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}}
    file = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aaaa"}}
    plain = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}
    costs = [ask(post, {"type": "text", "text": "x"}, each)["input_tokens"] for each in (picture, file, plain)]
    assert 1_500 < costs[0] < 1_600
    assert 3_000 < costs[1] < 3_100
    assert costs[2] < 100


def test_a_clock_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="does not go back"):
        Clock().advance(-1)
