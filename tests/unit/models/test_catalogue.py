import json
import re
from pathlib import Path

import pytest

from contextfold.errors import BadConfiguration
from contextfold.models import ASSUMED_WINDOW, Model, Prices, Tier, family_of, find, listed, meant_by, read_catalogue
from contextfold.models.model import candidates, key
from contextfold.tokens.counters import families
from contextfold.tokens.encoders import VOCABULARIES

GROUPS = ("window", "output", "tokenizer", "prices", "cache", "binding", "compaction", "media")
DIALECTS = {"anthropic", "openai-chat", "openai-responses", "gemini"}


def model(name: str) -> Model:
    return find(name, environ={})


def test_about_sixty_models_are_listed_and_no_name_twice() -> None:
    names = [key(name) for each in listed() for name in (each.id, *each.aliases)]
    assert len(listed()) >= 60
    assert len(names) == len(set(names))


@pytest.mark.parametrize("each", listed(), ids=lambda each: each.id)
def test_every_fact_names_its_source_and_date(each: Model) -> None:
    known = {group for group in GROUPS if getattr(each, group) not in (None, "", ())}
    known -= {"window"} if each.assumed else set()
    assert set(each.sources) == known
    assert all(source.name and re.fullmatch(r"20\d\d-\d\d", source.date) for source in each.sources.values())


@pytest.mark.parametrize("each", listed(), ids=lambda each: each.id)
def test_every_row_is_sound(each: Model) -> None:
    assert each.dialect in DIALECTS
    assert each.tokenizer in {"", *VOCABULARIES, *families()}
    assert each.window > 0
    assert each.assumed == ("window" not in each.sources)
    if each.assumed:
        assert each.window == ASSUMED_WINDOW
    if each.prices:
        assert 0 < each.prices.input <= each.prices.output
        assert (each.prices.cache_read or 0) < each.prices.input


@pytest.mark.parametrize(
    ("name", "window", "output", "read", "write", "binding"),
    [
        ("claude-sonnet-5-5", 1_000_000, 128_000, 0.10, 2.5, "account"),
        ("claude-opus-5-5", 1_000_000, 128_000, 0.20, 5, "prefix"),
        ("claude-haiku-4-5", 200_000, 64_000, 0.10, 1.25, "prefix"),
        ("gpt-6-sol", 922_000, 128_000, 0.20, 2.5, "item"),
        ("gemini-3.8-flash", 1_048_576, 65_536, 0.075, None, "part"),
        ("deepseek-v4-pro", 1_000_000, 393_000, 0.044, 0, "echo"),
    ],
)
def test_rows_hold_what_the_providers_say(
    name: str, window: int, output: int, read: float, write: float | None, binding: str
) -> None:
    found = model(name)
    assert found.prices is not None
    assert (found.window, found.output, found.binding) == (window, output, binding)
    assert (found.prices.cache_read, found.prices.cache_write) == (read, write)


def test_the_smallest_cached_prefix_is_taken_from_the_table() -> None:
    names = ("claude-sonnet-5-5", "claude-sonnet-5", "claude-opus-4-7", "claude-opus-4-6", "claude-opus-5-5")
    caches = [model(name).cache for name in names]
    assert [cache.least if cache else 0 for cache in caches] == [512, 1024, 2048, 4096, None]


@pytest.mark.parametrize(("tokens", "paid"), [(100_000, (0.10, 0.50)), (100_001, (0.50, 2.50))])
def test_a_long_request_pays_the_higher_tier(tokens: int, paid: tuple[float, float]) -> None:
    prices = model("claude-haiku-5-5").prices
    assert prices is not None
    assert (prices.at(tokens).input, prices.at(tokens).output) == paid
    assert prices.at(tokens).cache_read == 0.01


def test_a_tier_changes_only_what_it_names() -> None:
    prices = Prices(1, 2, 0.1, tiers=(Tier(500, input=9, cache_read=0.9), Tier(100, input=3)))
    assert (prices.at(100).input, prices.at(101).input, prices.at(501).input) == (1, 3, 9)
    assert (prices.at(501).output, prices.at(501).cache_read) == (2, 0.9)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("bedrock/eu.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
        ("CLAUDE_OPUS_5_5", "claude-opus-5-5"),
        ("openrouter/openai/gpt-6.1-sol", "gpt-6.1-sol"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("minimax/minimax-m3", "MiniMax-M3"),
        ("meta-llama/llama-3.3-70b-instruct", "llama-3.3"),
    ],
)
def test_a_model_is_found_however_its_name_is_wrapped(name: str, found: str) -> None:
    assert model(name).id == found


@pytest.mark.seed("E27")
@pytest.mark.parametrize(
    "name",
    [
        "gpt-oss-mine",
        "my-opus",
        "haiku",
        "acme/gpt-4o",
        "ft:gpt-4o:acme",
        "gpt-4o-finetuned",
        "claude-opus-4-5-turbo",
        "gpt",
    ],
)
def test_a_part_of_a_name_is_no_proof(name: str) -> None:
    assert model(name).assumed
    assert model(name).id == name


@pytest.mark.seed("E26")
@pytest.mark.peer("D5")
def test_an_unknown_model_is_small_and_says_so() -> None:
    found = model("llama-9-local")
    assert (found.window, found.assumed, found.output, found.prices) == (32_768, True, None, None)
    assert "assumed" in found.sources["window"].name


@pytest.mark.seed("E26")
def test_an_assumed_window_shrinks_when_a_provider_refuses() -> None:
    found = model("llama-9-local").after_overflow(20_000)
    assert (found.window, found.assumed) == (18_000, True)
    assert found.sources["window"].name == "a refused request"
    assert found.after_overflow(50_000) == found


@pytest.mark.seed("E26")
def test_a_provider_that_names_its_limit_is_believed() -> None:
    found = model("llama-9-local").after_overflow(20_000, reported=8_192)
    assert (found.window, found.assumed) == (8_192, False)
    assert model("claude-haiku-4-5").after_overflow(150_000, reported=100_000).window == 100_000


def test_a_known_window_does_not_shrink_by_itself() -> None:
    known = model("claude-haiku-4-5")
    assert known.after_overflow(150_000) is known
    assert known.after_overflow(150_000, reported=0) is known


def test_a_key_is_what_an_environment_variable_would_spell() -> None:
    assert key("GPT-6.1 Sol") == "gpt_6_1_sol"
    assert candidates("anthropic/claude-opus-5")[0] == "anthropic_claude_opus_5"


@pytest.mark.finding("N3")
@pytest.mark.parametrize(
    ("name", "dialect", "tokenizer", "binding"),
    [
        ("claude-opus-7-20270101", "anthropic", "claude-4.7", "prefix"),
        ("us.anthropic.claude-sonnet-9-v1:0", "anthropic", "claude-4.7", "prefix"),
        ("anthropic:claude-sonnet-9", "anthropic", "claude-4.7", "prefix"),
        ("publishers/anthropic/models/claude-opus-9@20270101", "anthropic", "claude-4.7", "prefix"),
        (
            "arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-x-v1:0",
            "anthropic",
            "claude-4.7",
            "prefix",
        ),
        ("gpt-5.9-nova", "openai-responses", "o200k", "item"),
        ("gpt-9", "openai-responses", "o200k", "item"),
        ("o7-mini", "openai-chat", "o200k", "item"),
        ("models/gemini-9-flash", "gemini", "gemma", "part"),
        ("deepseek-v7", "openai-chat", "deepseek", "echo"),
        ("qwen9:32b", "openai-chat", "qwen", ""),
        ("llama4:scout", "openai-chat", "llama3", ""),
        ("somebody/Mistral-Small-9", "openai-chat", "mistral", ""),
        ("moonshotai/kimi-k9", "openai-chat", "kimi", "echo"),
        ("z-ai/glm-9", "openai-chat", "glm", "echo"),
    ],
)
def test_a_model_nobody_listed_is_taken_for_one_of_its_family(
    name: str, dialect: str, tokenizer: str, binding: str
) -> None:
    found = model(name)
    assert (found.id, found.dialect, found.tokenizer, found.binding) == (name, dialect, tokenizer, binding)
    assert found.assumed
    assert all(source.name.startswith("assumed") for source in found.sources.values())


@pytest.mark.finding("N3")
@pytest.mark.parametrize("each", [each for each in listed() if not each.assumed], ids=lambda each: each.id)
def test_a_family_is_no_larger_than_any_of_its_known_members(each: Model) -> None:
    family = family_of(each.id)
    assert family is not None
    assert family.model.window <= each.window
    assert family.model.output is None or each.output is None or family.model.output <= each.output
    assert family.model.provider == each.provider


@pytest.mark.finding("N3")
@pytest.mark.parametrize(
    ("name", "window", "output", "dialect"),
    [
        ("gpt-4o-mini", 128_000, 16_384, "openai-chat"),
        ("gpt-4", 8_192, 4_096, "openai-chat"),
        ("gpt-4-0613", 8_192, 4_096, "openai-chat"),
        ("gpt-5-mini", 272_000, 128_000, "openai-responses"),
        ("gpt-5.2", 272_000, 128_000, "openai-responses"),
        ("o3", 200_000, 100_000, "openai-chat"),
        ("claude-opus-4-1", 200_000, 32_000, "anthropic"),
        ("claude-opus-4-1-20250805", 200_000, 32_000, "anthropic"),
        ("claude-sonnet-4-20250514", 200_000, 64_000, "anthropic"),
        ("claude-3-5-sonnet", 200_000, 8_192, "anthropic"),
        ("claude-3-5-sonnet-20241022", 200_000, 8_192, "anthropic"),
        ("claude-3-haiku-20240307", 200_000, 4_096, "anthropic"),
        ("gemini-2.5-flash", 1_048_576, 65_536, "gemini"),
        ("gemini-2.5-flash-preview-05-20", 1_048_576, 65_536, "gemini"),
    ],
)
def test_models_in_daily_use_have_their_published_limits(name: str, window: int, output: int, dialect: str) -> None:
    found = model(name)
    assert (found.window, found.output, found.dialect, found.assumed) == (window, output, dialect, False)
    assert found.prices is not None


@pytest.mark.finding("N3")
def test_a_newer_catalogue_comes_before_ours(tmp_path: Path) -> None:
    row = {"id": "claude-sonnet-5-5", "provider": "anthropic", "dialect": "anthropic", "window": 3_000_000}
    newer = tmp_path / "newer.json"
    newer.write_text(json.dumps({"models": [row, {"id": "acme-9", "window": 77_000, "aliases": ["acme-9-pro"]}]}))
    settings = tmp_path / "contextfold.toml"
    settings.write_text('catalogue = "newer.json"\n')
    known, acme, other = (
        find(name, environ={}, config=settings) for name in ("claude-sonnet-5-5", "acme-9-pro", "gpt-4o")
    )
    assert (known.window, known.sources["window"].name) == (3_000_000, str(newer))
    assert (acme.id, acme.name, acme.window, acme.assumed) == ("acme-9", "acme-9-pro", 77_000, False)
    assert other.window == 128_000
    newer.write_text('{"models": [{"id": 5}]}')
    with pytest.raises(BadConfiguration, match=r"newer\.json cannot be read as a catalogue"):
        read_catalogue(newer)


@pytest.mark.finding("N3")
def test_what_the_catalogue_lacks_comes_from_the_price_package() -> None:
    pytest.importorskip("genai_prices", reason="The extra 'prices' is not installed.")
    found = model("mistral-large-latest")
    lacking = [each for each in listed() if each.prices is None and model(each.id).prices is not None]
    named = [model(each.id).sources["prices"].name for each in lacking]
    assert found.dialect == "openai-chat"
    assert named
    assert set(named) == {"genai-prices"}


@pytest.mark.finding("N12")
@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("gpt-6-soll", "gpt-6-sol"),
        ("gtp-5.5", "gpt-5.5"),
        ("claude-sonet-5-5", "claude-sonnet-5-5"),
        ("anthropic/claude-sonet-4.5", "claude-sonnet-4-5"),
        ("gemini-2.5-flsh", "gemini-2.5-flash"),
    ],
)
def test_a_misspelled_model_is_guessed_and_used_as_it_is_called(typed: str, meant: str) -> None:
    assert meant_by(typed) == meant
    assert model(typed).name == typed
    assert f"did you mean '{meant}'?" in model(typed).sources["window"].name


@pytest.mark.finding("N12")
@pytest.mark.parametrize(
    "name",
    [
        *(
            "claude-sonnet-9",
            "gpt-5.7",
            "gemini-9-flash",
            "my-local-model",
            "llama3.3:70b",
            "gpt-6-mini",
            "o9",
            "",
            "7",
        ),
        *("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-5-5", "anthropic/" + "a" * 100_000),
    ],
)
def test_a_model_that_may_well_be_there_is_no_slip(name: str) -> None:
    assert meant_by(name) == ""
    assert not any("did you mean" in source.name for source in model(name).sources.values())


@pytest.mark.finding("K2")
@pytest.mark.parametrize("part", ["<a", "a/", "openai:", "-20250101", "claude-"])
def test_a_name_of_any_length_is_looked_up_by_its_beginning(part: str) -> None:
    name = part * 200_000
    assert model(name).name == name
    assert max(map(len, candidates(name))) <= 500
