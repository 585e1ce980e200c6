"""Where `wrap` leads a command: always to the provider that it would have reached without the gateway, or nowhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from contextfold.cli.arguments import UsageError
from contextfold.cli.base_urls import BASE_URLS
from contextfold.cli.client_settings import CommandContext
from contextfold.cli.redirection import Redirection, destinations, redirection
from contextfold.cli.translation import in_japanese
from contextfold.errors import BadConfiguration

LOCAL, OTHER = "http://127.0.0.1:11434", "http://127.0.0.1:8000"
USUAL = {"anthropic": "https://a.example", "openai": "https://o.example", "gemini": "https://g.example"}
VARIABLES = {each.variable: each for each in BASE_URLS}
# What each client reads, as its source or documentation says.
READ = {
    "agent": {*VARIABLES},
    "claude": {"ANTHROPIC_BASE_URL"},
    "gemini": {"GOOGLE_GEMINI_BASE_URL"},
    "llm": {"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"},
    "aider": {"ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE", "OPENAI_BASE_URL", "OPENAI_API_BASE"},
    "mini": {"ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE", "OPENAI_BASE_URL", "OPENAI_API_BASE"},
}
pytestmark = pytest.mark.finding("W20")


@pytest.fixture
def given(tmp_path: Path) -> CommandContext:
    """Somebody's machine on which nothing is set."""
    folder = tmp_path / "home" / "project"
    folder.mkdir(parents=True)
    return CommandContext(environ={}, folder=folder, home=folder.parent, program=tmp_path / "bin" / "it", usual=USUAL)


def led(given: CommandContext, command: str, *to: str, settled: str = "", **environ: str) -> Redirection:
    return redirection(
        command.split(),
        CommandContext(
            environ=environ,
            folder=given.folder,
            home=given.home,
            program=given.program,
            usual=USUAL,
            settled=frozenset(filter(None, [settled])),
            to=destinations(to),
        ),
    )


def addresses(way: Redirection) -> dict[str, str]:
    """The address behind each variable, and behind what Codex and opencode are told."""
    paths = {**way.variables, **way.opencode, **({} if way.codex is None else {"codex": way.codex})}
    found = {}
    for name, path in paths.items():
        _, upstream, *rest = path.split("/")
        found[name] = "/".join([way.upstreams[upstream], *rest])
    return found


def refused(given: CommandContext, command: str, match: str, **environ: str) -> str:
    with pytest.raises(BadConfiguration, match=match) as error:
        led(given, command, **environ)
    assert not in_japanese(str(error.value)).isascii()
    return str(error.value)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("claude", {"ANTHROPIC_BASE_URL": "https://a.example"}),
        ("/opt/claude -p hello", {"ANTHROPIC_BASE_URL": "https://a.example"}),
        ("claude.cmd", {"ANTHROPIC_BASE_URL": "https://a.example"}),
        ("gemini", {"GOOGLE_GEMINI_BASE_URL": "https://g.example"}),
        ("llm", {"ANTHROPIC_BASE_URL": "https://a.example", "OPENAI_BASE_URL": "https://o.example/v1"}),
        ("aider", {"ANTHROPIC_BASE_URL": "https://a.example", "OPENAI_API_BASE": "https://o.example/v1"}),
        ("mini", {"ANTHROPIC_BASE_URL": "https://a.example", "OPENAI_API_BASE": "https://o.example/v1"}),
        (
            "opencode run",
            {
                "anthropic": "https://a.example/v1",
                "openai": "https://o.example/v1",
                "google": "https://g.example/v1beta",
            },
        ),
    ],
)
def test_a_known_client_is_led_to_its_usual_provider_by_what_it_reads_last(
    given: CommandContext, command: str, told: dict[str, str]
) -> None:
    assert addresses(led(given, command)) == told


@pytest.mark.parametrize("command", [*READ])
@pytest.mark.parametrize("variable", [*VARIABLES])
def test_an_address_that_was_set_is_where_requests_go(given: CommandContext, command: str, variable: str) -> None:
    where = VARIABLES[variable]
    way = led(given, command, **{variable: LOCAL + where.ending})
    if variable in READ[command]:
        assert addresses(way)[variable] == LOCAL + where.ending
        assert [name for name in way.variables if VARIABLES[name].provider == where.provider] == [variable]
    else:
        assert variable not in way.variables
        assert LOCAL not in way.upstreams.values()


@pytest.mark.parametrize(
    "command", ["python agent.py", "uv run --with llm mine", "npx codex", "timeout 20 aider", "agent --as gemini"]
)
def test_another_program_is_started_only_where_something_says_its_provider(given: CommandContext, command: str) -> None:
    assert "--to openai" in refused(given, command, "is not known, and no variable says it")
    assert addresses(led(given, command, OPENAI_API_BASE=f"{LOCAL}/v1")) == {"OPENAI_API_BASE": f"{LOCAL}/v1"}
    both = {"OPENAI_BASE_URL": "https://o.example/v1", "OPENAI_API_BASE": "https://o.example/v1"}
    assert addresses(led(given, command, "openai")) == both
    assert addresses(led(given, command, settled="openai")) == both
    own = dict.fromkeys(both, f"{LOCAL}/v1")
    assert addresses(led(given, command, f"openai={LOCAL}/v1", OPENAI_BASE_URL=f"{OTHER}/v1")) == own


def test_two_addresses_of_one_provider_are_two_upstreams(given: CommandContext) -> None:
    way = led(given, "agent", OPENAI_BASE_URL=f"{LOCAL}/v1/", OPENAI_API_BASE=f"{OTHER}/v1")
    assert way.variables == {"OPENAI_BASE_URL": "/openai/v1", "OPENAI_API_BASE": "/openai-2/v1"}
    assert way.upstreams == {"openai": LOCAL, "openai-2": OTHER}
    same = led(given, "agent", OPENAI_BASE_URL=f"{LOCAL}/v1", OPENAI_API_BASE=f"{LOCAL}/v1/")
    assert same.upstreams == {"openai": LOCAL}


def test_a_usual_address_has_a_name_of_its_own_beside_another(given: CommandContext) -> None:
    way = led(given, "llm", OPENAI_BASE_URL=f"{LOCAL}/v1")
    assert addresses(way) == {"ANTHROPIC_BASE_URL": "https://a.example", "OPENAI_BASE_URL": f"{LOCAL}/v1"}
    way = led(given, "agent", OPENAI_BASE_URL=f"{LOCAL}/v1", OPENAI_API_BASE="https://o.example/v1")
    assert way.upstreams == {"openai": LOCAL, "openai-2": "https://o.example"}


def test_an_address_may_end_in_another_way_than_usual(given: CommandContext) -> None:
    way = led(given, "agent", OPENAI_BASE_URL=f"{LOCAL}/api/@team/v4", ANTHROPIC_API_BASE=f"{LOCAL}/v1/messages")
    assert addresses(way) == {"OPENAI_BASE_URL": f"{LOCAL}/api/@team/v4", "ANTHROPIC_API_BASE": LOCAL}


SPOILED = [
    "localhost:11434",
    "http://me:hunter2@h/v1",
    "http://h/v1?key=hunter2",
    "http://[::1",
    "ftp://h",
    "http://",
    "x",
]


@pytest.mark.parametrize("address", SPOILED)
def test_what_is_no_address_is_refused_by_the_name_of_what_said_it(given: CommandContext, address: str) -> None:
    assert "hunter2" not in refused(given, "agent", "^OPENAI_BASE_URL is no address", OPENAI_BASE_URL=address)
    with pytest.raises(BadConfiguration, match=r"^--to openai is no address"):
        led(given, "agent", f"openai={address}")


def test_a_variable_that_is_empty_is_not_set(given: CommandContext) -> None:
    assert addresses(led(given, "claude", ANTHROPIC_BASE_URL="")) == {"ANTHROPIC_BASE_URL": "https://a.example"}


def test_who_says_one_provider_means_no_other(given: CommandContext) -> None:
    assert {*led(given, "llm", "openai").variables} == {"OPENAI_BASE_URL"}
    assert {*led(given, "llm", "openai", ANTHROPIC_BASE_URL=LOCAL).variables} == {
        "OPENAI_BASE_URL",
        "ANTHROPIC_BASE_URL",
    }
    assert {*led(given, "opencode", "openai").opencode} == {"openai"}


def test_a_provider_that_nobody_knows_is_refused(given: CommandContext) -> None:
    with pytest.raises(UsageError, match="no provider 'opneai' for --to") as error:
        led(given, "agent", "opneai")
    assert not in_japanese(str(error.value)).isascii()


def test_a_destination_without_its_address_is_refused(given: CommandContext) -> None:
    with pytest.raises(UsageError, match="no address behind --to openai=") as error:
        led(given, "agent", "openai=", OPENAI_BASE_URL=LOCAL)
    assert not in_japanese(str(error.value)).isascii()


def test_a_destination_that_the_client_cannot_use_is_refused(given: CommandContext) -> None:
    for command, to, environ in (("claude", "openai", {}), ("aider", "gemini", {}), ("opencode", "openai", INLINE)):
        with pytest.raises(UsageError, match=f"{command} does not read an address for {to} here") as error:
            led(given, command, to, **environ)
        assert not in_japanese(str(error.value)).isascii()


INLINE = {"OPENCODE_CONFIG_CONTENT": "{}"}


# -- files ------------------------------------------------------------------------------------------------------------


READING = {
    "claude": "ANTHROPIC_BASE_URL",
    "gemini": "GOOGLE_GEMINI_BASE_URL",
    "llm": "OPENAI_BASE_URL",
    "aider": "OPENAI_BASE_URL",
    "mini": "ANTHROPIC_API_BASE",
    "opencode": "ANTHROPIC_BASE_URL",
}
LINES = ["{}={}", "export {}={}", " {} = '{}' # ours", '#\n{}=" {}"\nOTHER=1', "{}: {}", "\ufeff{}={}", "A=1\r{}={}"]


@pytest.mark.parametrize("command", [*READING])
@pytest.mark.parametrize("line", LINES)
def test_an_agent_is_not_started_where_a_file_of_variables_names_an_address(
    given: CommandContext, command: str, line: str
) -> None:
    variable = READING[command]
    provider = VARIABLES[variable].provider
    write(given.folder / ".env", line.format(variable, LOCAL))
    message = refused(given, command, f"Where {command} sends its requests cannot be told because of .*[.]env")
    assert LOCAL not in message  # an address may hold a token
    assert f"--to {provider}" in message
    assert LOCAL in addresses(led(given, command, f"{provider}={LOCAL}")).values()
    assert USUAL[provider] in {*led(given, command, provider).upstreams.values()}
    if command != "opencode":
        assert addresses(led(given, command, **{variable: LOCAL}))[variable] == LOCAL


PLACES = {
    "../.env": {},
    "../../.env": {},
    ".env.local": {},
    ".gemini/.env": {},
    "../../bin/.env": {},
    "../.config/mini-swe-agent/.env": {},
    "../Library/Application Support/mini-swe-agent/.env": {},
    "elsewhere/.env": {"MSWEA_GLOBAL_CONFIG_DIR": "elsewhere"},
    "xdg/mini-swe-agent/.env": {"XDG_CONFIG_HOME": "xdg"},
    "own/.gemini/.env": {"GEMINI_CLI_HOME": "own"},
}


@pytest.mark.parametrize("place", [*PLACES])
def test_files_of_variables_are_looked_for_where_agents_look(given: CommandContext, place: str) -> None:
    write(given.folder / place, f"ANTHROPIC_BASE_URL={LOCAL}")
    named = {name: str(given.folder / folder) for name, folder in PLACES[place].items()}
    refused(given, "mini", "cannot be told", **named)


@pytest.mark.parametrize("command", ["claude", "llm"])
@pytest.mark.parametrize("place", ["home", "named"])
def test_a_profile_of_the_anthropic_sdk_that_names_an_address_is_no_guess(
    given: CommandContext, command: str, place: str
) -> None:
    folder = given.folder / "profiles" if place == "named" else given.home / ".config" / "anthropic"
    write(folder / "configs" / "work.json", json.dumps({"base_url": LOCAL}))
    # The SDK keeps to the home directory, whatever this says.
    environ = {"ANTHROPIC_CONFIG_DIR": str(folder)} if place == "named" else {"XDG_CONFIG_HOME": "/elsewhere"}
    refused(given, command, f"Where {command} sends its requests cannot be told", **environ)
    assert led(given, command, "anthropic", **environ).variables


@pytest.mark.parametrize(
    "text", ["ANTHROPIC_BASE_URL=https://a.example/", "ANTHROPIC_BASE_URL=", "# ANTHROPIC_BASE_URL=x", "A=1", "\xff"]
)
def test_a_file_that_names_no_other_address_is_no_hindrance(given: CommandContext, text: str) -> None:
    write(given.folder / ".env", text)
    assert led(given, "claude").variables


def test_a_file_too_long_to_be_read_is_no_guess(given: CommandContext) -> None:
    write(given.folder / ".env", "# " + "x" * (1 << 20))
    refused(given, "claude", "because of .*[.]env")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files here")
def test_what_is_no_file_is_not_waited_for_and_no_guess(given: CommandContext) -> None:
    (given.folder / "opencode.json").mkdir()
    assert led(given, "opencode").opencode
    os.mkfifo(given.folder / ".env")
    refused(given, "gemini", "because of .*[.]env")


# -- Codex and opencode -----------------------------------------------------------------------------------------------

KEYED = '{"OPENAI_API_KEY": "sk-a"}'


def test_codex_with_a_key_and_no_other_address_goes_to_its_usual_provider(given: CommandContext) -> None:
    write(given.home / ".codex" / "auth.json", KEYED)
    write(given.home / ".codex" / "config.toml", 'model = "gpt-6-sol"')
    assert addresses(led(given, "codex exec")) == {"codex": "https://o.example/v1"}
    write(given.folder / "mine" / "auth.json", KEYED)
    assert addresses(led(given, "codex", CODEX_HOME=str(given.folder / "mine"))) == {"codex": "https://o.example/v1"}
    assert addresses(led(given, "codex", CODEX_HOME="/none", CODEX_API_KEY="sk-a")) == {"codex": "https://o.example/v1"}


def test_a_project_does_not_say_where_the_key_of_codex_goes(given: CommandContext) -> None:
    write(given.home / ".codex" / "auth.json", KEYED)
    write(given.folder / ".codex" / "config.toml", f'openai_base_url = "{OTHER}/v1"\n')
    assert addresses(led(given, "codex")) == {"codex": "https://o.example/v1"}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("config.toml", f'openai_base_url = "{LOCAL}"'),
        ("config.toml", f'[profiles.here]\nopenai_base_url = "{LOCAL}"'),
        ("local.config.toml", f'openai_base_url = "{LOCAL}"'),
        ("auth.json", '{"OPENAI_API_KEY": null, "tokens": {"access_token": "x"}}'),
        ("auth.json", '{"OPENAI_API_KEY": "sk-a", "auth_mode": "chatgpt"}'),
        ("auth.json", "{"),
        ("auth.json", "{}"),
    ],
)
def test_codex_is_not_started_where_its_address_cannot_be_told(given: CommandContext, file: str, text: str) -> None:
    write(given.home / ".codex" / "auth.json", KEYED)
    write(given.home / ".codex" / file, text)
    refused(given, "codex", "Where Codex sends its requests cannot be told")
    assert addresses(led(given, "codex", f"openai={LOCAL}/v1")) == {"codex": f"{LOCAL}/v1"}
    assert addresses(led(given, "codex", "openai")) == {"codex": "https://o.example/v1"}
    assert led(given, "claude").codex is None


def test_codex_is_not_started_with_a_variable_that_some_releases_read(given: CommandContext) -> None:
    write(given.home / ".codex" / "auth.json", KEYED)
    refused(given, "codex", "because of OPENAI_BASE_URL", OPENAI_BASE_URL=f"{LOCAL}/v1")


OPENCODE_PLACES = {
    "../.config/opencode/opencode.json": {},
    "../.config/opencode/config.json": {},
    "../.opencode/opencode.json": {},
    "opencode.json": {},
    "../opencode.jsonc": {},
    ".opencode/opencode.jsonc": {},
    "sub/opencode.json": {},
    "mine.json": {"OPENCODE_CONFIG": "mine.json"},
    "dir/opencode.json": {"OPENCODE_CONFIG_DIR": "dir"},
    "xdg/opencode/opencode.json": {"XDG_CONFIG_HOME": "xdg"},
}
OPENCODE_SETTINGS = [
    f'{{"provider": {{"openai": {{"options": {{"baseURL": "{LOCAL}"}}}}}} /* mine */}}',
    f'{{"provider": {{"openai": {{"api": "{LOCAL}"}}}}}}',
    '{"provider": {"openai": {"options": {"baseURL": 5}}}}',
]


@pytest.mark.parametrize("place", [*OPENCODE_PLACES])
@pytest.mark.parametrize("text", OPENCODE_SETTINGS)
def test_opencode_is_not_started_where_its_settings_name_an_address(
    given: CommandContext, place: str, text: str
) -> None:
    write(given.folder / place, text)
    environ = {name: str(given.folder / value) for name, value in OPENCODE_PLACES[place].items()}
    command = f"opencode {given.folder / 'sub'}"
    message = refused(given, command, "Where opencode sends its requests cannot be told", **environ)
    assert "--to anthropic or --to openai or --to gemini" in message
    assert addresses(led(given, command, f"openai={LOCAL}/v1", **environ)) == {"openai": f"{LOCAL}/v1"}
    assert led(given, command, **INLINE, **environ).opencode == {}  # told by its user: left as it is


def test_opencode_goes_where_the_variables_of_its_sdks_say(given: CommandContext) -> None:
    way = led(given, "opencode", ANTHROPIC_BASE_URL=f"{LOCAL}/v1", OPENAI_BASE_URL=OTHER, GOOGLE_GEMINI_BASE_URL=OTHER)
    assert addresses(way) == {"anthropic": f"{LOCAL}/v1", "openai": OTHER, "google": "https://g.example/v1beta"}
