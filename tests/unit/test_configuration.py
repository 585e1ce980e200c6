"""What is set, and by whom: flags before the environment, before the file, before what we take for granted."""

from pathlib import Path

import pytest

from contextfold.configuration import SETTINGS, configure, unknown_variables
from contextfold.errors import BadConfiguration
from contextfold.models import KEYS_OF_OTHERS, find, read_config


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "contextfold.toml"
    path.write_text(
        'store = "file.db"\npolicy = "roo_code"\nthreshold = 60\nmax_input_tokens = 50_000\n'
        '[models."acme-70b"]\nmax_input_tokens = 64_000\n[profiles.careful]\nkeep_messages = 5\n'
    )
    return path


def test_one_file_is_read_by_every_room(file: Path) -> None:
    assert {setting.key for setting in SETTINGS} | {"gateway"} == set(KEYS_OF_OTHERS)  # a table, read by its own room
    assert read_config(file).max_input_tokens == 50_000
    assert configure({}, file=file)["policy"] == "roo_code"


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(file: Path) -> None:
    environ = {"CONTEXTFOLD_STORE": "environment.db"}
    cases = [
        (configure({}), "contextfold.db", "default"),
        (configure({}, file=file), "file.db", str(file)),
        (configure(environ, file=file), "environment.db", "environment CONTEXTFOLD_STORE"),
        (configure(environ, {"store": "flag.db"}, file), "flag.db", "flag --store"),
    ]
    for configuration, value, source in cases:
        assert (configuration["store"], configuration.settings["store"].source) == (value, source)


def test_the_file_is_named_by_flag_by_variable_or_found_here(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert configure({"CONTEXTFOLD_CONFIG": str(file)}).path == str(file)
    monkeypatch.chdir(tmp_path)
    assert configure({"CONTEXTFOLD_TRUST": "1"}).path == "contextfold.toml"
    with pytest.raises(BadConfiguration, match="cannot be read"):
        configure({}, file="absent.toml")


def test_every_effective_value_is_listed_with_its_source(file: Path) -> None:
    listed = {each.key: each for each in configure({"CONTEXTFOLD_MODEL": "m"}, file=file).listed()}
    assert listed["model"].source == "environment CONTEXTFOLD_MODEL"
    assert (listed["threshold"].value, listed["threshold"].source) == (60, str(file))
    assert (listed["keep_messages"].value, listed["keep_messages"].source) == (3, "default")
    assert listed["models.acme_70b.max_input_tokens"].value == 64_000
    assert listed["profiles.careful.keep_messages"].value == 5
    assert (listed["max_input_tokens"].value, listed["max_input_tokens"].source) == (50_000, str(file))


def test_the_environment_limits_all_models() -> None:
    limit = configure({"CONTEXTFOLD_MAX_INPUT_TOKENS": "9000"}).limit
    assert (limit.value, limit.source) == (9_000, "environment CONTEXTFOLD_MAX_INPUT_TOKENS")


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ('stor = "x"', "did you mean 'store'"),
        ("[profile]\nthreshold = 60", "profile is"),
        ('polcy = "balanced"', "did you mean 'policy'"),
        ("store = 3", "must be a text"),
        ('color = "rainbow"', "Known: auto, always, never"),
        ("[models.x]\nmax_input_token = 3", "did you mean 'max_input_tokens'"),
    ],
)
def test_an_unknown_key_or_value_is_an_error_with_a_suggestion(tmp_path: Path, text: str, guess: str) -> None:
    path = tmp_path / "contextfold.toml"
    path.write_text(text)
    with pytest.raises(BadConfiguration, match=guess):
        configure({}, file=path)


def test_a_variable_that_means_nothing_is_named_with_what_was_meant() -> None:
    strange = unknown_variables(
        {"CONTEXTFOLD_STOER": "x", "CONTEXTFOLD_STORE": "x", "CONTEXTFOLD_MAX_INPUT_TOKENS__GPT_6": "1", "HOME": "x"}
    )
    assert list(strange) == ["CONTEXTFOLD_STOER"]
    assert "CONTEXTFOLD_STORE" in strange["CONTEXTFOLD_STOER"]


def test_keys_for_programs_do_not_disturb_models(file: Path) -> None:
    assert find("acme-70b", environ={}, config=file).window == 64_000
