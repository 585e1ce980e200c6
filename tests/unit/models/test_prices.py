import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contextfold.errors import BadConfiguration
from contextfold.models import Cache, Prices, Tier, config_from, find, from_litellm, with_genai_prices

ROW: dict[str, Any] = {
    "litellm_provider": "anthropic",
    "mode": "chat",
    "max_input_tokens": 1_000_000,
    "max_output_tokens": "128000",
    "input_cost_per_token": 1e-07,
    "output_cost_per_token": 5e-07,
    "cache_read_input_token_cost": 1e-08,
    "cache_creation_input_token_cost": 1.25e-07,
    "cache_creation_input_token_cost_above_1hr": 2e-07,
    "input_cost_per_token_above_100k_tokens": 5e-07,
    "output_cost_per_token_above_100k_tokens": 2.5e-06,
    "prompt_cache_min_tokens": 512,
}
TABLE = {"sample_spec": {"mode": "chat"}, "claude-x": ROW, "embed": {"mode": "embedding"}, "odd": 5}


def test_a_litellm_table_is_read() -> None:
    found = from_litellm(TABLE)
    assert list(found) == ["claude-x"]
    model = found["claude-x"]
    assert (model.window, model.output, model.assumed, model.dialect) == (1_000_000, 128_000, False, "anthropic")
    assert model.prices == Prices(0.1, 0.5, 0.01, 0.125, 0.2, (Tier(100_000, 0.5, 2.5),))
    assert model.cache == Cache("explicit", 512)
    assert {source.name for source in model.sources.values()} == {"litellm's price file"}


def test_what_such_a_table_does_not_say_is_absent() -> None:
    bare = {"mode": "chat", "max_tokens": -1, "input_cost_per_token": True, "max_output_tokens": "unlimited"}
    model = from_litellm({"bare": bare})["bare"]
    assert (model.assumed, model.output, model.prices, model.cache, model.sources) == (True, None, None, None, {})


def test_such_a_table_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text(json.dumps(TABLE))
    assert from_litellm(file)["claude-x"].sources["window"].name == str(file)
    file.write_text("[]")
    with pytest.raises(BadConfiguration, match=r"prices\.json cannot be read as litellm's price file"):
        from_litellm(file)


def test_a_project_may_bring_such_a_table(tmp_path: Path) -> None:
    row = {"mode": "chat", "max_input_tokens": 77_000, "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06}
    (tmp_path / "prices.json").write_text(
        json.dumps({"acme-9": row, "acme/qwen3": row, "qwen3": row, "gpt-6-sol": row})
    )
    settings = tmp_path / "contextfold.toml"
    settings.write_text('litellm = "prices.json"\n')
    acme, older, known, unknown = (
        find(name, environ={}, config=settings) for name in ("acme-9", "qwen3", "gpt-6-sol", "acme-10")
    )
    assert (acme.window, acme.assumed) == (77_000, False)
    assert (older.window, older.tokenizer, older.assumed) == (77_000, "qwen", False)
    assert older.prices == Prices(1, 2)
    assert (known.window, known.sources["window"].name) == (922_000, "litellm 1.106.2, bundled price file")
    assert unknown.assumed


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    config = config_from({"litellm": "nowhere.json"}, str(tmp_path / "contextfold.toml"))
    with pytest.raises(BadConfiguration, match=r"nowhere\.json cannot be read"):
        find("gpt-4", environ={}, config=config)


def test_a_missing_extra_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    with pytest.raises(BadConfiguration, match=r"contextfold\[prices\]"):
        with_genai_prices(find("gpt-6-sol", environ={}), datetime(2026, 11, 1, tzinfo=UTC))


def test_prices_of_the_extra_replace_ours() -> None:
    pytest.importorskip("genai_prices", reason="The extra 'prices' is not installed.")
    found = with_genai_prices(find("gpt-6-sol", environ={}), datetime(2026, 11, 1, tzinfo=UTC))
    assert found.prices is not None
    assert (found.prices.input, found.prices.output) == (2, 10)
    assert found.prices.at(300_000).input == 4
    assert found.sources["prices"].name == "genai-prices"


def test_a_model_the_extra_does_not_know_stays_as_it_is() -> None:
    pytest.importorskip("genai_prices", reason="The extra 'prices' is not installed.")
    model = find("nobody-knows", environ={})
    assert with_genai_prices(model, datetime(2026, 11, 1, tzinfo=UTC)) is model
