"""`contextfold config`, and settings as commands feel them."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli


def test_config_shows_every_value_and_where_it_comes_from(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "contextfold.toml").write_text('policy = "roo_code"\n[models.acme]\nmax_input_tokens = 9_000\n')
    monkeypatch.setenv("CONTEXTFOLD_THREAD", "mine")
    monkeypatch.setenv("CONTEXTFOLD_STOER", "x")
    told = cli("config", "--store", "given.db", "--trust", "--json").json
    assert told["file"] == "contextfold.toml"
    assert told["settings"]["store"] == {"value": "given.db", "from": "flag --store"}
    assert told["settings"]["thread"] == {"value": "mine", "from": "environment CONTEXTFOLD_THREAD"}
    assert told["settings"]["policy"] == {"value": "roo_code", "from": "contextfold.toml"}
    assert told["settings"]["space"] == {"value": "default", "from": "default"}
    assert told["settings"]["models.acme.max_input_tokens"]["value"] == 9_000
    assert told["unknown_variables"] == ["CONTEXTFOLD_STOER"]
    page = cli("config")
    assert "environment CONTEXTFOLD_THREAD" in page.out
    assert "CONTEXTFOLD_STOER" in page.err


def test_a_mistake_in_the_file_stops_every_command_with_a_suggestion(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "contextfold.toml").write_text('stor = "x.db"\n')
    told = cli("config", "--trust")
    assert told.code == 2
    assert "did you mean 'store'" in told.err
    (tmp_path / "contextfold.toml").write_text('policy = "balance"\n')
    assert "did you mean 'balanced'" in cli("config", "--trust").err


def test_a_settings_file_named_by_flag_holds_for_models_too(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('[models."claude-sonnet-5-5"]\nmax_input_tokens = 12_345\n')
    (model,) = cli("models", "claude-sonnet-5-5", "--config", "other.toml", "--json").json
    assert model["window"] == 12_345
    assert cli("models", "claude-sonnet-5-5", "--json").json[0]["window"] != 12_345


def test_an_older_variable_is_a_note_and_not_a_stack_of_lines(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEFAULT_MAX_TOKENS", "9000")
    told = cli("config", "--json")
    assert told.json["settings"]["max_input_tokens"]["value"] == 9_000
    assert "note: DEFAULT_MAX_TOKENS is an older name" in told.err
    assert "Warning" not in told.err
    assert cli("config", "--quiet").err == ""


@pytest.mark.finding("K10")
def test_what_a_file_that_lies_here_may_not_say_is_told_and_taken_with_trust(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "contextfold.toml").write_text('store = "/elsewhere/agents.db"\n')
    shown = cli("config", "--json")
    assert shown.json["settings"]["store"]["value"] == "contextfold.db"
    assert "left out: store" in shown.err
    checks = cli("doctor", "--json").json["checks"]
    assert [check for check in checks if check["state"] == "look" and "--trust" in check["told"]]
    assert [check for check in checks if check["name"] == "plugins" or "contextfold." in check["told"]]
    trusting = cli("config", "--trust", "--json")
    assert (trusting.json["settings"]["store"]["value"], trusting.err) == ("/elsewhere/agents.db", "")


@pytest.mark.finding("K11")
@pytest.mark.finding("N28")
@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "command",
    ["config", "doctor", "show refactor-42", "stats", "fold refactor-42 --preview", "models gpt-4o", "context"],
)
def test_what_is_left_out_is_told_once_with_how_to_trust(cli: Cli, tmp_path: Path, command: str) -> None:
    (tmp_path / "contextfold.toml").write_text('policy = "sliding_window"\nkeep_messages = 0\n')
    told = cli(*command.split())
    assert told.code == 0
    assert told.err.count("left out: policy, keep_messages. If you trust the file, run `contextfold trust`") == 1
    assert told.err.count("contextfold.toml") == 1
    assert cli(*command.split(), "--quiet").err == ""


@pytest.mark.finding("K11")
def test_a_file_is_trusted_until_it_changes(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    settings = tmp_path / "contextfold.toml"
    settings.write_text('policy = "sliding_window"\n[gateway]\nwindow = 5000\n')
    told = cli("trust", "--json")
    assert (told.json["settings"], told.json["trusted"], told.err) == (["policy", "gateway.window"], True, "")
    assert cli("config", "--json").json["settings"]["policy"]["value"] == "sliding_window"
    settings.write_text('policy = "summary"\n')
    assert "left out: policy" in cli("config").err
    assert cli("trust").code == 0
    assert cli("config").err == ""
    assert cli("trust", "--revoke").code == 0
    assert "left out: policy" in cli("config").err


@pytest.mark.finding("K11")
def test_only_a_file_without_mistakes_is_trusted(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert cli("trust").code == 3
    (tmp_path / "contextfold.toml").write_text('polcy = "summary"\n')
    told = cli("trust")
    assert (told.code, "did you mean 'policy'" in told.err) == (2, True)
    (tmp_path / "other.toml").write_text("keep_messages = -9\n")
    (tmp_path / "contextfold.toml").unlink()
    assert cli("trust", "other.toml").code == 2
    assert not (tmp_path / "state" / "contextfold" / "trusted").exists()
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    (tmp_path / "contextfold.toml").write_text('policy = "summary"\n')
    assert "XDG_STATE_HOME" in cli("trust").err
