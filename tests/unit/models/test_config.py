from pathlib import Path
from typing import Any

import pytest

from contextfold.errors import BadConfiguration
from contextfold.models import Config, Profile, config_from, read_config, recommended, recommended_for

WRITTEN = """
threshold = 70
max_input_tokens = 100_000

[models."claude-opus-4-5"]
threshold = 85
prices = { input = 5, output = 25 }

[profiles.careful]
threshold = 60
condensing_model = "claude-haiku-5-5"
target_reduction = 0.8
keep_messages = 5

[profiles.plain]
threshold = -1
keep_messages = -1
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    path = tmp_path / "contextfold.toml"
    path.write_text(WRITTEN)
    return read_config(path)


def test_a_profile_is_read_from_the_file(config: Config) -> None:
    assert config.profile("careful") == Profile(60, "claude-haiku-5-5", 0.8, 5)


def test_minus_one_inherits(config: Config) -> None:
    assert config.profile("plain") == Profile(70, "", 0.75, 3)


@pytest.mark.seed("E26")
@pytest.mark.parametrize(
    ("model", "profile", "threshold"),
    [
        ("claude-opus-4-5", "careful", 60),
        ("claude-opus-4-5", "plain", 85),
        ("claude-opus-4-5-20251101", "", 85),
        ("gpt-6-sol", "plain", 70),
        ("gpt-6-sol", "", 70),
        ("gpt-6-sol", "small-window", 50),
    ],
)
def test_thresholds_go_by_profile_then_model_then_all(config: Config, model: str, profile: str, threshold: int) -> None:
    assert config.threshold(model, profile) == threshold


def test_without_a_file_the_threshold_is_three_quarters() -> None:
    assert Config().threshold("gpt-6-sol") == 75
    assert Config().profile() == Profile(75, "", 0.75, 3)


@pytest.mark.seed("E27")
def test_the_recommended_table_ships_as_data_and_goes_by_whole_names() -> None:
    thresholds = {name: each.profile.threshold for name, each in recommended().items()}
    assert thresholds == {"opus": 80, "sonnet": 75, "haiku": 60, "gpt": 70, "small-window": 50, "inherit": -1}
    assert recommended_for("claude-opus-4-5-20251101") == "opus"
    assert recommended_for("claude-3-5-haiku-20241022") == "haiku"
    assert recommended_for("gpt-oss-20b") == recommended_for("my-opus") == ""


def test_a_project_may_give_a_recommended_name_its_own_meaning() -> None:
    config = config_from({"profiles": {"opus": {"threshold": 33}}})
    assert config.threshold("claude-opus-4-5", "opus") == 33


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"treshold": 70}, "unknown key 'treshold'; did you mean 'threshold'"),
        ({"models": {"m": {"max_tokens": 1}}}, r'\[models."m"\]: unknown key \'max_tokens\'.*max_input_tokens'),
        ({"profiles": {"p": {"keep_message": 1}}}, r"\[profiles.p\].*did you mean 'keep_messages'"),
        ({"zzz": 1}, r"unknown key 'zzz'\. Known: threshold"),
        ({"threshold": 4}, "threshold is 4; it must be from 5 to 100 percent"),
        ({"threshold": 101}, "threshold is 101"),
        ({"models": {"m": {"threshold": 0}}}, "threshold is 0"),
        ({"models": {"m": {"max_input_tokens": 0}}}, "max_input_tokens is 0"),
        ({"models": {"m": {"max_output_tokens": "big"}}}, "Expected `int | null`"),
        ({"models": {"m": 5}}, "must be a table of settings"),
        ({"models": 5}, "models must be a table"),
        ({"max_input_tokens": 0}, "max_input_tokens is 0"),
        ({"litellm": 5}, "litellm is 5"),
        ({"max_input_tokens": True}, "max_input_tokens is True"),
        ({"profiles": {"p": {"target_reduction": 2}}}, "target_reduction is 2"),
        ({"profiles": {"p": {"keep_messages": -2}}}, "keep_messages is -2"),
    ],
)
def test_a_mistake_in_the_file_is_named(table: dict[str, Any], message: str) -> None:
    with pytest.raises(BadConfiguration, match=message):
        config_from(table)


def test_an_unknown_profile_names_the_known_ones(config: Config) -> None:
    with pytest.raises(BadConfiguration, match=r"no profile 'carefull'; did you mean 'careful'.*haiku"):
        config.threshold("gpt-6-sol", "carefull")


@pytest.mark.parametrize("body", [b"a = = 1", b"\xff\xfe"])
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "contextfold.toml"
    path.write_bytes(body)
    with pytest.raises(BadConfiguration, match=r"contextfold\.toml cannot be read"):
        read_config(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match=r"nowhere\.toml cannot be read"):
        read_config(tmp_path / "nowhere.toml")
