import warnings
from pathlib import Path

import pytest

from contextfold.errors import BadConfiguration
from contextfold.models import Config, config_from, find, variable
from contextfold.models.lookup import LEGACY_BY_PROVIDER, LEGACY_FOR_ALL

SONNET, GPT, GEMINI = "claude-sonnet-5-5", "gpt-6-sol", "gemini-2.5-pro"


def window(name: str, environ: dict[str, str], config: Config | None = None) -> int:
    return find(name, environ=environ, config=config or Config()).window


@pytest.mark.seed("F2")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-sonnet-5-5", "CONTEXTFOLD_MAX_INPUT_TOKENS__CLAUDE_SONNET_5_5"),
        ("gpt-6.1-sol", "CONTEXTFOLD_MAX_INPUT_TOKENS__GPT_6_1_SOL"),
        ("MiniMax-M3", "CONTEXTFOLD_MAX_INPUT_TOKENS__MINIMAX_M3"),
        ("acme/llama:70b", "CONTEXTFOLD_MAX_INPUT_TOKENS__ACME_LLAMA_70B"),
    ],
)
def test_every_model_has_one_variable_by_rule(name: str, expected: str) -> None:
    assert variable(name) == expected
    assert window(name, {expected: "12345"}) == 12345


@pytest.mark.seed("F1")
def test_one_model_is_limited_and_the_others_are_not() -> None:
    environ = {"CONTEXTFOLD_MAX_INPUT_TOKENS__CLAUDE_SONNET_5_5": "150000"}
    found = find(SONNET, environ=environ)
    assert (found.window, found.assumed) == (150_000, False)
    assert found.sources["window"].name == "CONTEXTFOLD_MAX_INPUT_TOKENS__CLAUDE_SONNET_5_5"
    assert window(GPT, environ) == 922_000


def test_a_dated_name_obeys_the_variable_of_its_model() -> None:
    environ = {"CONTEXTFOLD_MAX_INPUT_TOKENS__CLAUDE_SONNET_4_5": "9000"}
    assert window("anthropic/claude-sonnet-4-5-20250929", environ) == 9000


@pytest.mark.seed("F1")
def test_the_limit_for_all_is_the_fallback() -> None:
    environ = {"CONTEXTFOLD_MAX_INPUT_TOKENS": "50000", "CONTEXTFOLD_MAX_INPUT_TOKENS__GPT_6_SOL": "70000"}
    assert (window(SONNET, environ), window(GPT, environ), window("unknown", environ)) == (50_000, 70_000, 50_000)


def test_a_limit_for_all_never_widens_a_known_window() -> None:
    environ = {"CONTEXTFOLD_MAX_INPUT_TOKENS": "500000"}
    assert window("claude-haiku-4-5", environ) == 200_000
    assert window("unknown", environ) == 500_000


def test_a_limit_for_one_model_is_taken_at_its_word() -> None:
    assert window("claude-haiku-4-5", {variable("claude-haiku-4-5"): "500000"}) == 500_000


@pytest.mark.seed("F1")
@pytest.mark.parametrize(
    ("legacy", "name"),
    [
        ("GEMINI_MAX_TOKENS", GEMINI),
        ("CHATGPT_MAX_TOKENS", GPT),
        ("DEFAULT_MAX_TOKENS", SONNET),
        ("MLC_MAX_CONTEXT_TOKENS", SONNET),
        ("MODEL_MAX_CONTEXT_TOKENS", SONNET),
        ("CLAUDE_SONNET_5_5_MAX_CONTEXT_TOKENS", SONNET),
    ],
)
def test_an_older_name_is_read_with_a_warning(legacy: str, name: str) -> None:
    with pytest.warns(FutureWarning, match=f"{legacy} is an older name.*input tokens.*CONTEXTFOLD_MAX_INPUT_TOKENS"):
        assert window(name, {legacy: "4096"}) == 4096


def test_an_older_name_of_another_provider_is_ignored() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert window(SONNET, {"GEMINI_MAX_TOKENS": "1", "CHATGPT_MAX_TOKENS": "2"}) == 1_000_000


@pytest.mark.seed("F1")
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({"CONTEXTFOLD_MAX_INPUT_TOKENS": "5000", "DEFAULT_MAX_TOKENS": "4096"}, SONNET),
        ({"MLC_MAX_CONTEXT_TOKENS": "5000", "MODEL_MAX_CONTEXT_TOKENS": "4096"}, SONNET),
        ({"CONTEXTFOLD_MAX_INPUT_TOKENS__GPT_6_SOL": "5000", "CHATGPT_MAX_TOKENS": "4096"}, GPT),
    ],
)
def test_two_names_that_disagree_are_an_error_that_names_both(environ: dict[str, str], name: str) -> None:
    one, other = environ
    with pytest.raises(BadConfiguration, match=rf"{one}=5000 and {other}=4096.*disagree"):
        window(name, environ)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_two_names_that_agree_are_fine() -> None:
    assert window(SONNET, {"CONTEXTFOLD_MAX_INPUT_TOKENS": "4096", "DEFAULT_MAX_TOKENS": "4096"}) == 4096


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_limit_for_one_model_and_an_older_one_for_all_do_not_disagree() -> None:
    assert window(GPT, {variable(GPT): "7000", "DEFAULT_MAX_TOKENS": "4096"}) == 7000


@pytest.mark.parametrize("value", ["0", "-1", "many", "1e5", "150k"])
def test_a_limit_that_is_no_number_is_refused_by_name(value: str) -> None:
    with pytest.raises(BadConfiguration, match="CONTEXTFOLD_MAX_INPUT_TOKENS is"):
        window(SONNET, {"CONTEXTFOLD_MAX_INPUT_TOKENS": value})


def test_an_empty_variable_says_nothing() -> None:
    assert window(SONNET, {"CONTEXTFOLD_MAX_INPUT_TOKENS": " ", variable(SONNET): ""}) == 1_000_000


def test_the_environment_comes_before_the_file_and_the_model_before_all() -> None:
    config = config_from({"max_input_tokens": 1000, "models": {SONNET: {"max_input_tokens": 2000}}})
    assert window(SONNET, {}, config) == 2000
    assert window(GPT, {}, config) == 1000
    assert window(GPT, {"CONTEXTFOLD_MAX_INPUT_TOKENS": "3000"}, config) == 3000
    assert window(SONNET, {"CONTEXTFOLD_MAX_INPUT_TOKENS": "3000"}, config) == 2000
    assert window(SONNET, {variable(SONNET): "4000"}, config) == 4000


def test_a_file_is_found_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find("mine", environ={"CONTEXTFOLD_TRUST": "1"}).assumed
    file = tmp_path / "contextfold.toml"
    file.write_text('[models."mine"]\nmax_input_tokens = 64000\ntokenizer = "llama3"\nmax_output_tokens = 900\n')
    found = find("mine", environ={"CONTEXTFOLD_TRUST": "1"})
    assert (found.window, found.tokenizer, found.output, found.assumed) == (64_000, "llama3", 900, False)
    assert {name: Path(source.name).name for name, source in found.sources.items()} == {
        "window": "contextfold.toml",
        "tokenizer": "contextfold.toml",
        "output": "contextfold.toml",
    }
    file.write_text('[models."mine"]\nmax_input_tokens = 65000\n')
    assert find("mine", environ={"CONTEXTFOLD_TRUST": "1"}).window == 65_000


def test_a_file_is_found_by_its_variable_or_its_path(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.toml"
    file.write_text("max_input_tokens = 7777\n")
    assert find("mine", environ={"CONTEXTFOLD_CONFIG": str(file)}).window == 7777
    assert find("mine", environ={}, config=file).window == 7777


def test_legacy_names_are_those_of_the_seed() -> None:
    assert {*LEGACY_FOR_ALL, *LEGACY_BY_PROVIDER.values()} == {
        "DEFAULT_MAX_TOKENS",
        "MLC_MAX_CONTEXT_TOKENS",
        "MODEL_MAX_CONTEXT_TOKENS",
        "GEMINI_MAX_TOKENS",
        "CHATGPT_MAX_TOKENS",
    }
