"""Every documented setting changes what a session does: by file, by environment, in code, at the command line.

A setting without a row here cannot be documented: the last test compares the page of settings with the table.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.cli import main
from contextfold.errors import BadConfiguration, ContextFoldError
from contextfold.folding import recipes
from contextfold.models import Profile
from contextfold.testing.server import StrictServer
from tests.acceptance.judge import strict_server

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
MODEL = "claude-3-haiku"
WINDOW = 12_000
LINE = "The parser reads a file, splits it into tokens and reports every line that it cannot understand. "


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("CONTEXTFOLD_CONFIG", "XDG_CONFIG_HOME", "HOME", "CONTEXTFOLD_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", str(WINDOW))
    monkeypatch.setenv("CONTEXTFOLD_TRUST", "1")  # the file that lies here is the user's
    return tmp_path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StrictServer]:
    """A provider that the SDK of the condensing model finds by itself."""
    pytest.importorskip("openai")
    with strict_server(token="sk-test") as server:  # noqa: S106  # nobody's key
        server.always("1. Previous conversation: the parser. " * 8)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", server.token)
        yield server


def session(model: str = MODEL, **code: Any) -> cf.Session:
    """A session as a program opens it that says nothing about folding but `code`."""
    return cf.Session.open(model=model, **code)


def talk(held: cf.Session, turns: int = 150) -> Iterator[cf.Request]:
    """A conversation that goes on, each request prepared."""
    for number in range(turns):
        held.append({"role": "user", "content": f"Step {number}. {LINE * 4}"})
        yield held.prepare(max_tokens=500)
        held.append({"role": "assistant", "content": f"Done with {number}. {LINE * 2}"})


def first_fold(held: cf.Session) -> cf.Request:
    with held:
        return next(request for request in talk(held) if request.report.folds)


# -- what can be seen -----------------------------------------------------------------------------------------------


def begins_at(held: cf.Session) -> int:
    """The share of the usable input at which folding began, in twentieths."""
    report = first_fold(held).report
    return round(20 * report.before / report.usable)


def comes_down_to(held: cf.Session) -> object:
    report = first_fold(held).report
    return report.after < report.before * 0.35


def keeps(held: cf.Session) -> object:
    """How many of the newest messages a fold by hand leaves as they were."""
    with held:
        for _ in talk(held, 8):
            pass
        held.fold(to=1_000)
        return sum(1 for message in held.view.messages[1:] if message.kind == "message")


def kinds(held: cf.Session) -> object:
    return sorted({fold.kind for fold in first_fold(held).report.folds})


def window(held: cf.Session) -> object:
    with held:
        return held.model.window


def request_of(held: cf.Session) -> cf.Request:
    with held:
        return next(talk(held))


# -- in Python: a setting by file, by environment, by code ------------------------------------------------------------

Look = Callable[[cf.Session], object]
FOLDING: dict[str, tuple[Look, object, object, dict[str, Any]]] = {
    "threshold": (begins_at, 40, 90, {}),
    "keep_messages": (keeps, 2, 7, {}),
    "target_reduction": (comes_down_to, 0.2, 0.95, {"policy": "summary"}),
}


def write(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


@pytest.mark.finding("N10")
@pytest.mark.parametrize("way", ["file", "environment", "code", "profile in the file"])
@pytest.mark.parametrize("key", FOLDING)
def test_how_to_fold_is_felt_by_a_session(here: Path, monkeypatch: pytest.MonkeyPatch, key: str, way: str) -> None:
    look, one, other, code = FOLDING[key]
    seen = []
    for value in (one, other):
        given = dict(code)
        match way:
            case "file":
                (here / "contextfold.toml").write_text(f"{key} = {write(value)}\n")
            case "environment":
                monkeypatch.setenv(f"CONTEXTFOLD_{key.upper()}", str(value))
            case "code":
                given["profile"] = {key: value}
            case _:
                (here / "contextfold.toml").write_text(f'profile = "mine"\n[profiles.mine]\n{key} = {write(value)}\n')
        seen.append(look(session(**given)))
    assert seen[0] != seen[1]


@pytest.mark.finding("N10")
@pytest.mark.parametrize("way", ["file", "environment", "code"])
def test_a_threshold_is_the_share_at_which_folding_begins(
    here: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way == "environment":
        monkeypatch.setenv("CONTEXTFOLD_THRESHOLD", "40")
    (here / "contextfold.toml").write_text("threshold = 40\n" if way == "file" else "")
    code: dict[str, Any] = {"profile": Profile(40)} if way == "code" else {}
    assert begins_at(session(**code)) in (8, 9)


@pytest.mark.finding("N10")
def test_a_threshold_of_one_model_holds_for_that_model(here: Path) -> None:
    (here / "contextfold.toml").write_text(f'threshold = 90\n[models."{MODEL}"]\nthreshold = 40\n')
    assert begins_at(session()) in (8, 9)
    assert begins_at(session("claude-3-opus")) in (18, 19)


@pytest.mark.finding("N10")
@pytest.mark.parametrize("way", ["file", "environment", "code"])
def test_the_policy_is_felt_by_a_session(here: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    seen = []
    for name in ("sliding_window", "summary"):
        if way == "file":
            (here / "contextfold.toml").write_text(f'policy = "{name}"\n')
        if way == "environment":
            monkeypatch.setenv("CONTEXTFOLD_POLICY", name)
        seen.append(kinds(session(**({"policy": name} if way == "code" else {}))))
    assert seen == [["window"], ["summary"]]


@pytest.mark.finding("N10")
@pytest.mark.finding("S5")
@pytest.mark.parametrize("way", ["file", "environment", "code"])
def test_a_shipped_profile_is_felt_by_a_session(here: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    if way == "environment":
        monkeypatch.setenv("CONTEXTFOLD_PROFILE", "small-window")
    (here / "contextfold.toml").write_text('profile = "small-window"\n' if way == "file" else "")
    assert begins_at(session(**({"profile": "small-window"} if way == "code" else {}))) in (10, 11)


@pytest.mark.finding("N10")
@pytest.mark.finding("S4")
@pytest.mark.parametrize("way", ["file", "environment", "code"])
def test_the_condensing_model_and_its_prompt_are_used_when_folding_is_automatic(
    here: Path, monkeypatch: pytest.MonkeyPatch, server: StrictServer, way: str
) -> None:
    said = {"condensing_model": "gpt-4o-mini", "condensing_prompt": "Write about the parser alone."}
    if way == "file":
        (here / "contextfold.toml").write_text("".join(f'{key} = "{value}"\n' for key, value in said.items()))
    elif way == "environment":
        for key, value in said.items():
            monkeypatch.setenv(f"CONTEXTFOLD_{key.upper()}", value)
    code: dict[str, Any] = {"policy": "roo_code", **({"profile": said} if way == "code" else {})}
    report = first_fold(session(**code)).report
    assert [fold.kind for fold in report.folds] == ["summary"]
    asked = server.exchanges[0]
    assert (asked.status, asked.model) == (200, "gpt-4o-mini")
    assert asked.request["messages"][0]["content"].startswith("Write about the parser alone.")


@pytest.mark.finding("S4")
def test_a_prompt_of_ones_own_is_a_field_of_the_policy(server: StrictServer) -> None:
    writer = cf.providers.openai("gpt-4o-mini", base_url=f"{server.url}/v1")
    policy = cf.recipes.roo_code(summarizer=writer).with_(prompt="Only the errors, please.")
    first_fold(cf.Session.open(model=MODEL, policy=policy))
    assert server.exchanges[0].request["messages"][0]["content"].startswith("Only the errors, please.")


@pytest.mark.finding("S5")
def test_a_recommended_profile_condenses_by_its_model_and_ratio(server: StrictServer) -> None:
    report = first_fold(session("gpt-4o", policy="roo_code", profile="gpt")).report
    assert {each.model for each in server.exchanges} == {"gpt-4-turbo"}
    assert report.after <= report.before * (1 - 0.75) * 1.2


# -- about models -----------------------------------------------------------------------------------------------------

MODELS: dict[str, tuple[str, Look]] = {
    "max_input_tokens": ("9_000", window),
    "max_output_tokens": ("123", lambda held: held.model.output),
    "tokenizer": ('"cl100k"', lambda held: held.view.count.method),
    "provider": ('"acme"', lambda held: held.model.provider),
    "dialect": ('"openai-responses"', lambda held: sorted(request_of(held).body)),
    "prices": ("{ input = 99, output = 100 }", lambda held: held.model.prices),
    "threshold": ("40", begins_at),
}


@pytest.mark.finding("N10")
@pytest.mark.parametrize("key", MODELS)
def test_what_is_said_of_a_model_is_felt_by_a_session(here: Path, key: str) -> None:
    value, look = MODELS[key]
    before = look(session())
    (here / "contextfold.toml").write_text(f'[models."{MODEL}"]\n{key} = {value}\n')
    assert look(session()) != before


@pytest.mark.finding("N10")
@pytest.mark.parametrize("key", ["litellm", "catalogue"])
def test_a_table_of_models_is_felt_by_a_session(here: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.delenv("CONTEXTFOLD_MAX_INPUT_TOKENS")
    tables = {
        "litellm": '{"acme-9": {"mode": "chat", "max_input_tokens": 77000}}',
        "catalogue": '{"models": [{"id": "acme-9", "window": 77000}]}',
    }
    (here / "table.json").write_text(tables[key])
    before = window(session("acme-9"))
    (here / "contextfold.toml").write_text(f'{key} = "table.json"\n')
    assert (before, window(session("acme-9"))) == (32_768, 77_000)


@pytest.mark.finding("N10")
@pytest.mark.parametrize("way", ["file", "environment"])
def test_the_limit_of_all_models_is_felt_by_a_session(here: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.delenv("CONTEXTFOLD_MAX_INPUT_TOKENS")
    if way == "environment":
        monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "7000")
    else:
        (here / "contextfold.toml").write_text("max_input_tokens = 7_000\n")
    assert window(session()) == 7_000


@pytest.mark.finding("N10")
@pytest.mark.parametrize("way", ["file", "environment"])
def test_large_outputs_go_where_artifacts_are_set(here: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    if way == "environment":
        monkeypatch.setenv("CONTEXTFOLD_ARTIFACTS", "aside")
    else:
        (here / "contextfold.toml").write_text('artifacts = "aside"\n')
    with session() as held:
        call = {"type": "tool_use", "id": "c1", "name": "bash", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "c1", "content": LINE * 4_000}
        held.append({"role": "user", "content": "Look."})
        held.append({"role": "assistant", "content": [call]})
        held.append({"role": "user", "content": [result]})
    assert list((here / "aside").rglob("*"))


# -- what cannot apply ------------------------------------------------------------------------------------------------


@pytest.mark.finding("N10")
@pytest.mark.parametrize(
    ("policy", "key", "value"),
    [
        ("sliding_window", "condensing_model", "gpt-4o-mini"),
        ("sliding_window", "condensing_prompt", "Be brief."),
        ("duckflow", "keep_messages", 5),
        ("balanced", "condensing_model", "nobody-knows"),
        ("nothing", "threshold", 50),
        ("balanced", "tresholt", 50),
        ("balanced", "threshold", 4),
    ],
)
def test_what_cannot_apply_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, policy: str, key: str, value: object
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    names = {"nothing": "nothing", "tresholt": "did you mean 'threshold'"}
    told = names.get(policy) or names.get(key) or ("nobody-knows" if value == "nobody-knows" else key)
    with pytest.raises(BadConfiguration, match=told):
        session(policy=policy, profile={key: value})


@pytest.mark.finding("N10")
@pytest.mark.parametrize("name", recipes.RECIPES)
def test_every_recipe_takes_a_threshold(name: str) -> None:
    assert begins_at(session(policy=name, profile={"threshold": 45})) != begins_at(session(policy=name)) or (
        name == "duckflow"
    )


# -- at the command line ----------------------------------------------------------------------------------------------


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    capfd.readouterr()
    code = main(list(arguments))
    out, err = capfd.readouterr()
    assert code == 0, err
    return out


def stored(path: Path, thread: str = "main", space: str = "default") -> None:
    with cf.open(path, space=space) as store, cf.Session.on(store, thread, MODEL) as held:
        for number in range(8):
            unlike = " ".join(f"Port {number}{line} of src/part_{number}_{line}.py is kept." for line in range(12))
            held.append({"role": "user", "content": f"Step {number}. {unlike}"})
            held.append({"role": "assistant", "content": f"Done with {number}. {LINE * 4}"})


COMMANDS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "store": ("one.db", "two.db", ("threads", "--json")),
    "space": ("default", "other", ("threads", "--json")),
    "thread": ("main", "second", ("show", "--json")),
    "model": ("gpt-4o", "claude-3-opus", ("show", "--json")),
    "policy": ("balanced", "sliding_window", ("fold", "main", "--json")),
    "profile": ("careful", "hasty", ("fold", "main", "--preview", "--json")),
    "artifacts": ("", "aside", ("config", "--json")),
    "language": ("en", "ja", ("doctor",)),
    "color": ("never", "always", ("doctor",)),
    "threshold": ("90", "20", ("fold", "main", "--preview", "--json")),
    "keep_messages": ("2", "7", ("fold", "main", "--json")),
    "target_reduction": ("0.2", "0.9", ("fold", "main", "--json")),
}


PROFILES = "[profiles.careful]\nthreshold = 90\n[profiles.hasty]\nthreshold = 15\n"


@pytest.mark.finding("N10")
@pytest.mark.parametrize("way", ["file", "environment", "flag"])
@pytest.mark.parametrize("key", COMMANDS)
def test_settings_are_felt_at_the_command_line(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], key: str, way: str
) -> None:
    one, other, command = COMMANDS[key]
    is_folding = key in FOLDING
    if is_folding and way == "flag":
        pytest.skip("how to fold has no flags: a profile has one")
    seen = []
    for value in (one, other):
        for name in ("contextfold.db", "one.db", "two.db"):
            (here / name).unlink(missing_ok=True)
        stored(here / "contextfold.db")
        stored(here / "contextfold.db", "second")
        stored(here / "contextfold.db", "elsewhere", "other")
        stored(here / "one.db")
        stored(here / "two.db", "third")
        flag = "--lang" if key == "language" else f"--{key}"
        given = (flag, value) if way == "flag" else ()
        written = ""
        if way == "file":
            written = f"{key} = {value}\n" if is_folding else f'{key} = "{value}"\n'
        elif way == "environment":
            monkeypatch.setenv(f"CONTEXTFOLD_{key.upper()}", value)
        (here / "contextfold.toml").write_text(written + PROFILES)
        extra = () if key == "thread" or "main" in command or command[0] != "show" else ("main",)
        seen.append(run(capfd, command[0], *command[1:], *extra, *given))
    assert seen[0] != seen[1]


# -- the page ---------------------------------------------------------------------------------------------------------

SHOWN = {*COMMANDS, *FOLDING, "condensing_model", "condensing_prompt", "max_input_tokens", "litellm", "catalogue"}


@pytest.mark.finding("N10")
def test_nothing_is_documented_that_is_not_shown_here_to_work() -> None:
    page = PAGE.read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    keys = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row.split(" | ")[0])}
    in_models = next(re.findall(r"`([a-z_]+)`", row.split(" | ")[1]) for row in rows if row.startswith("| `[models."))
    in_profiles = next(re.findall(r"`([a-z_]+)`", row.split(" | ")[1]) for row in rows if "[profiles." in row)
    assert keys == SHOWN
    assert set(in_models) == set(MODELS)
    assert set(in_profiles) == {*FOLDING, "condensing_model", "condensing_prompt"}


def test_an_error_is_of_this_house() -> None:
    assert issubclass(BadConfiguration, ContextFoldError)
