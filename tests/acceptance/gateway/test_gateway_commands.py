"""The gateway as people start it: `contextfold wrap`, `serve` and `top`; signals, settings read again, logs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

import contextfold as cf
from contextfold.cli.main import main
from contextfold.domain import Appended
from contextfold.gateway.door import Visit
from contextfold.gateway.tenants import space_of
from tests.acceptance.gateway.house import gateway, web
from tests.acceptance.gateway.plain_upstream import EVENTS, Answer, PlainUpstream, plain_upstream
from tests.acceptance.gateway.shapes import answer_for

KEY = "sk-canary-of-commands-8812"
SAID = json.dumps(
    {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5-5",
        "content": [{"type": "text", "text": "The word is heron."}],
        "stop_reason": "end_turn",
    }
).encode()
# An agent in four lines: it knows nothing but the variables that every agent knows.
AGENT = """
import os, sys, urllib.request
url, body = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", sys.argv[1].encode()
asked = urllib.request.Request(url, body, {"x-api-key": os.environ["ANTHROPIC_API_KEY"]})
sys.stdout.write(urllib.request.urlopen(asked).read().decode()); sys.exit(7)
"""
BODY = json.dumps(
    {"model": "claude-sonnet-5-5", "max_tokens": 10, "messages": [{"role": "user", "content": "The secret word?"}]}
)


@pytest.fixture
def upstream() -> Iterator[PlainUpstream]:
    with plain_upstream() as upstream:
        upstream.always = Answer([SAID])
        yield upstream


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, upstream: PlainUpstream) -> Path:
    """A user of their own, whose provider is the test's."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_wrapped_agent_is_kept_and_ends_with_its_own_code(
    home: Path, upstream: PlainUpstream, capfd: pytest.CaptureFixture[str]
) -> None:
    code = main(["wrap", "--store", "kept.db", "--log", "json", "--", sys.executable, "-c", AGENT, BODY])
    told = capfd.readouterr()
    assert code == 7
    assert "The word is heron." in told.out
    assert "1 turn kept in kept.db" in told.err
    assert len(upstream.arrived) == 1
    facts = [json.loads(line) for line in told.err.splitlines() if line.startswith("{")]
    assert {"answered"} <= {each["event"] for each in facts}
    assert not {"secret", "heron"} & set(told.err.replace('"', " ").split())
    assert KEY not in told.err
    kept = b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file() and file.suffix != ".py")
    assert b"The secret word?" in kept
    assert KEY.encode() not in kept


HOSTILE = """
policy = "sliding_window"
keep_messages = 0
max_input_tokens = 2000
threshold = 5
store = "$(touch X).db"
[models."claude-sonnet-5-5"]
max_input_tokens = 2000
[gateway]
policy = "sliding_window"
window = 2000
limit = 2000
recall = true
[gateway.upstreams]
anthropic = "http://127.0.0.1:9"
"""


@pytest.mark.finding("K11")
def test_a_hostile_repository_changes_nothing_that_a_wrapped_agent_sends(
    home: Path, upstream: PlainUpstream, capfd: pytest.CaptureFixture[str]
) -> None:
    (home / "contextfold.toml").write_text(HOSTILE)
    roles, long = ("user", "assistant"), "Run the tests, and look at every line that fails. " * 60
    messages = [{"role": roles[at % 2], "content": f"{'NEVER push. ' * (at == 0)}{at}: {long}"} for at in range(9)]
    body = json.dumps({"model": "claude-sonnet-5-5", "max_tokens": 10, "messages": messages})
    assert main(["wrap", "--", sys.executable, "-c", AGENT, body]) == 7
    assert [arrived.body.decode() for arrived in upstream.arrived] == [body]
    told = capfd.readouterr().err
    assert told.count("left out: policy, keep_messages, max_input_tokens, threshold, store") == 1
    assert (home / "contextfold.db").is_file()
    assert main(["wrap", "--quiet", "--trust", "--store", "kept.db", "--", sys.executable, "-c", AGENT, body]) == 7
    assert "NEVER push" not in upstream.arrived[-1].body.decode(), "this file changes what is sent once it is trusted"


@pytest.mark.finding("K11")
def test_trust_of_one_command_is_not_handed_to_what_it_runs(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (home / "mine.toml").write_text("")
    shows = ["sh", "-c", 'echo "${CONTEXTFOLD_TRUST-unset} ${CONTEXTFOLD_CONFIG-unset}"']
    assert main(["wrap", "--quiet", "--trust", "--config", "mine.toml", "--", *shows]) == 0
    assert capfd.readouterr().out == "unset unset\n"


# Each variable as a client reads it, and the rest of a turn's address behind it.
READ = [
    ("claude", "ANTHROPIC_BASE_URL", "", "/v1/messages"),
    ("aider", "OPENAI_API_BASE", "/v1", "/chat/completions"),
    ("aider", "OPENAI_BASE_URL", "/v1", "/chat/completions"),
    ("mini", "ANTHROPIC_API_BASE", "", "/v1/messages"),
    ("mini", "ANTHROPIC_BASE_URL", "", "/v1/messages"),
    ("llm", "OPENAI_BASE_URL", "/v1", "/chat/completions"),
    ("gemini", "GOOGLE_GEMINI_BASE_URL", "", "/v1beta/models/gemini-3-pro:generateContent"),
    ("agent", "OPENAI_API_BASE", "/v1", "/responses"),
    ("agent", "ANTHROPIC_API_BASE", "", "/v1/messages"),
    ("agent", "OPENAI_BASE_URL", "/api/paas/v4", "/chat/completions"),
    ("agent", "OPENAI_API_BASE", "", "/completions"),
    ("agent", "ANTHROPIC_BASE_URL", "/here", "/api/telemetry"),
]
# Posts to the address that a variable names, and tells what came back.
POSTS = """
import os, sys, urllib.request
address = os.environ[sys.argv[1]]
if not address.startswith(os.environ["CONTEXTFOLD_GATEWAY_URL"]):
    sys.exit("not through the gateway")
asked = urllib.request.Request(address + sys.argv[2], sys.argv[3].encode(), {"authorization": "Bearer of nobody"})
urllib.request.urlopen(asked).read()
"""


@pytest.mark.finding("W20")
@pytest.mark.parametrize(("command", "variable", "ending", "path"), READ)
def test_requests_of_a_wrapped_agent_go_where_its_variable_said_before(
    home: Path,
    upstream: PlainUpstream,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    variable: str,
    ending: str,
    path: str,
) -> None:
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    monkeypatch.setenv(variable, upstream.url + ending)
    _program(home / command, f"exec {sys.executable} -c '{POSTS}' {variable} \"$@\"")
    assert main(["wrap", "--quiet", "--", str(home / command), path, BODY]) == 0
    assert [arrived.target for arrived in upstream.arrived] == [ending + path]


@pytest.mark.finding("W20")
def test_a_variable_goes_before_the_settings_of_the_gateway(home: Path, upstream: PlainUpstream) -> None:
    settings = home / "mine.toml"
    settings.write_text('[gateway.upstreams]\nanthropic = "http://127.0.0.1:9"\n')
    wrapped = ["wrap", "--quiet", "--config", str(settings), "--", sys.executable, "-c", AGENT, BODY]
    assert main(wrapped) == 7
    assert len(upstream.arrived) == 1


@pytest.mark.finding("W20")
@pytest.mark.usefixtures("home")
def test_where_the_provider_cannot_be_told_nothing_is_started(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    assert main(["wrap", "--", sys.executable, "-c", "open('started', 'w')"]) == 2
    assert "--to openai" in capfd.readouterr().err
    assert main(["wrap", "--to", "opneai", "--", sys.executable, "-c", "open('started', 'w')"]) == 2
    assert not Path("started").exists()
    assert not Path("contextfold.db").exists()
    assert main(["wrap", "--quiet", "--to", "openai", "--", sys.executable, "-c", "open('started', 'w')"]) == 0
    assert Path("started").exists()


@pytest.fixture
def nowhere(home: Path) -> Path:
    """Settings under which nothing that is guessed reaches anybody."""
    settings = home / "nowhere.toml"
    names = ("anthropic", "openai", "gemini")
    settings.write_text("[gateway.upstreams]\n" + "".join(f'{name} = "http://127.0.0.1:9"\n' for name in names))
    return settings


@pytest.mark.finding("W20")
@pytest.mark.parametrize("path", ["", "?beta=true", "/", "/api/telemetry"])
def test_every_path_below_an_address_goes_to_that_address(upstream: PlainUpstream, nowhere: Path, path: str) -> None:
    posts = POSTS.replace("sys.argv[1]", "'ANTHROPIC_BASE_URL'").replace("sys.argv[2]", repr(path))
    posts = posts.replace("sys.argv[3]", repr(BODY))
    assert main(["wrap", "--quiet", "--config", str(nowhere), "--", sys.executable, "-c", posts]) == 0
    assert [arrived.target for arrived in upstream.arrived] == [f"/{path.removeprefix('/')}"]


ASKS_ELSEWHERE = """
import os, urllib.error, urllib.request
for path in "/v1/models /v1/messages /v1/chat/completions /openai/v1/models /gemini /anthropic-2/v1/x /".split():
    try:
        urllib.request.urlopen(os.environ["CONTEXTFOLD_GATEWAY_URL"] + path, b"{}")
    except urllib.error.HTTPError as error:
        print(error.code, end=" ")
"""


@pytest.mark.finding("W20")
def test_a_path_that_names_no_address_of_the_command_is_sent_nowhere(
    upstream: PlainUpstream, nowhere: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _program(tmp_path / "claude", f"exec {sys.executable} -c '{ASKS_ELSEWHERE}'")
    assert main(["wrap", "--quiet", "--config", str(nowhere), "--", str(tmp_path / "claude")]) == 0
    assert capfd.readouterr().out.split() == ["404"] * 7
    assert upstream.arrived == []


@pytest.mark.finding("W20")
def test_an_address_in_the_settings_of_the_gateway_is_enough_for_another_program(
    home: Path, upstream: PlainUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    (home / "mine.toml").write_text(f'[gateway.upstreams]\nanthropic = "{upstream.url}"\n')
    assert main(["wrap", "--quiet", "--config", "mine.toml", "--", sys.executable, "-c", AGENT, BODY]) == 7
    assert len(upstream.arrived) == 1


@pytest.mark.usefixtures("home")
def test_a_command_that_cannot_be_run_is_told_as_such(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (home / "claude").write_bytes(b"\x7fELF no program")
    (home / "claude").chmod(0o755)
    assert main(["wrap", "--", str(home / "claude")]) == 2
    assert "cannot be run" in capfd.readouterr().err


def test_a_password_in_an_address_is_not_repeated(
    home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://me:hunter2@127.0.0.1:9")
    assert main(["wrap", "--store", str(home / "a.db"), "--", "true"]) == 2
    told = capfd.readouterr().err
    assert "ANTHROPIC_BASE_URL is no address" in told
    assert "hunter2" not in told


@pytest.mark.parametrize(
    ("command", "variable", "ending"),
    [
        ("claude", "ANTHROPIC_BASE_URL", "/anthropic"),
        ("aider", "OPENAI_API_BASE", "/openai/v1"),
        ("mini", "ANTHROPIC_BASE_URL", "/anthropic"),
        ("llm", "OPENAI_BASE_URL", "/openai/v1"),
        ("gemini", "GOOGLE_GEMINI_BASE_URL", "/gemini"),
    ],
)
def test_every_agent_finds_the_gateway_in_the_variable_it_reads(
    home: Path, capfd: pytest.CaptureFixture[str], command: str, variable: str, ending: str
) -> None:
    _program(home / command, f'echo "${variable}" "$CONTEXTFOLD_GATEWAY_URL$1"')
    assert main(["wrap", "--quiet", "--", str(home / command), ending]) == 0
    one, other = capfd.readouterr().out.split()
    assert one == other
    assert one.startswith("http://127.0.0.1:")


def test_codex_is_told_by_an_argument_and_opencode_by_its_settings(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _program(home / "codex", 'echo "$@"')
    (home / ".codex").mkdir()
    (home / ".codex" / "auth.json").write_text('{"OPENAI_API_KEY": "sk-a"}')
    assert main(["wrap", "--quiet", "--", str(home / "codex"), "exec", "do it"]) == 0
    told = capfd.readouterr().out
    assert told.startswith('-c openai_base_url="http://127.0.0.1:')
    assert told.endswith('/v1" exec do it\n')
    _program(home / "opencode", 'echo "$OPENCODE_CONFIG_CONTENT"')
    assert main(["wrap", "--quiet", "--", str(home / "opencode")]) == 0
    providers = json.loads(capfd.readouterr().out)["provider"]
    assert providers["google"]["options"]["baseURL"].endswith("/v1beta")


# Tells its own arguments and environment as everybody, or its owner, can read them; then asks the gateway.
TELLS = """
import os, sys, urllib.error, urllib.request
sys.stdout.write(open("/proc/self/cmdline").read().replace(chr(0), " ") + chr(10))
sys.stdout.write(open("/proc/self/environ").read().replace(chr(0), " ") + chr(10))
for path in ("", "/readyz", "/status", "/metrics"):
    try:
        told = urllib.request.urlopen(os.environ["CONTEXTFOLD_GATEWAY_URL"] + path).status
    except urllib.error.HTTPError as error:
        told = error.code
    sys.stdout.write(f"{told} ")
"""


@pytest.mark.finding("K17")
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="arguments of a process are read in /proc")
def test_no_command_is_shown_the_lasting_token(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (home / "tells.py").write_text(TELLS)
    _program(home / "codex", f'exec {sys.executable} {home / "tells.py"} "$@"')
    (home / ".codex").mkdir()
    (home / ".codex" / "auth.json").write_text('{"OPENAI_API_KEY": "sk-a"}')
    shown = []
    for _ in range(2):
        assert main(["wrap", "--quiet", "--", str(home / "codex"), "exec", "do it"]) == 0
        shown.append(capfd.readouterr().out)
    token = (home / "state" / "contextfold" / "gateway-token").read_text().strip()
    urls = [re.findall(r"http://127\.0\.0\.1:\d+/([^/\"\s]+)", each) for each in shown]
    assert all(token not in each for each in shown)
    assert all(len(set(each)) == 1 and len(each[0]) > 20 for each in urls)
    assert urls[0][0] != urls[1][0], "each run has its own"
    assert [each.splitlines()[-1].split() for each in shown] == [["200", "200", "401", "401"]] * 2


@pytest.mark.usefixtures("home")
def test_a_command_that_a_signal_ends_says_so_as_a_shell_would() -> None:
    assert main(["wrap", "--quiet", "--", "sh", "-c", "kill -TERM $$"]) == 128 + signal.SIGTERM


@pytest.mark.usefixtures("home")
def test_signals_go_to_the_wrapped_command() -> None:
    script = "trap 'exit 9' TERM; kill -TERM $PPID; while :; do sleep 0.01; done"
    assert main(["wrap", "--quiet", "--", "sh", "-c", script]) == 9


@pytest.mark.usefixtures("home")
def test_what_cannot_be_wrapped_is_told_before_anything_starts(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["wrap"]) == 2
    assert main(["wrap", "--", "no-such-agent"]) == 3
    assert "no-such-agent" in capfd.readouterr().err


@pytest.mark.usefixtures("home")
def test_top_shows_what_gateways_do_in_eighty_columns(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--once"]) == 3
    script = f"{sys.executable} -c '{AGENT}' '{BODY}' >&2; {sys.executable} -m contextfold top --once"
    assert main(["wrap", "--", "sh", "-c", script]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith("http://127.0.0.1:")
    assert " 1 turn " in lines[1]
    assert "claude-sonnet" in lines[3]
    assert "-0%" not in lines[3]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("wrap", "--", "true")])
def test_a_store_that_cannot_be_used_is_told_before_anything_starts(
    home: Path, capfd: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    name, *rest = command
    assert main([name, "--store", str(home / "nowhere" / "a.db"), *rest]) == 3
    assert "nowhere" in capfd.readouterr().err
    (home / "notes.db").write_text("These are notes and no store. " * 100)
    assert main([name, "--store", "notes.db", *rest]) == 5
    assert "notes.db" in capfd.readouterr().err


SPOILED_STORE = "import pathlib; [path.write_bytes(b'no database' * 999) for path in pathlib.Path().glob('kept.db*')]"


@pytest.mark.usefixtures("home")
def test_what_could_not_be_kept_is_told_at_the_end_and_to_whoever_looks(capfd: pytest.CaptureFixture[str]) -> None:
    steps = [f'-c "{SPOILED_STORE}"', f"-c '{AGENT}' '{BODY}' >&2", "-m contextfold top --once"]
    script = "; ".join(f"{sys.executable} {step}" for step in steps)
    assert main(["wrap", "--store", "kept.db", "--", "sh", "-c", script]) == 0
    told = capfd.readouterr()
    assert told.out.splitlines()[1].split("  ")[-1].split()[0] != "0"
    assert "passed without being kept" in told.err


@pytest.mark.usefixtures("home")
def test_top_tells_programs_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["wrap", "--", "sh", "-c", f"{sys.executable} -m contextfold top --once --json"]) == 0
    (found,) = json.loads(capfd.readouterr().out)
    assert (found["mode"], found["counted"]["turns"]) == ("fold", 0)


def _told(out: IO[str]) -> str:
    """What a gateway says when it is ready; all it said where it ends instead."""
    lines = ""
    for line in out:
        lines += line
        if line == "}\n":
            break
    return lines


@contextmanager
def served(home: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    command = [sys.executable, "-m", "contextfold", "serve", "--json", *arguments]
    with subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(_told(process.stdout))
        finally:
            if process.poll() is None:
                process.terminate()
            if process.stderr is not None and not process.stderr.closed:
                process.communicate(timeout=60)


def test_settings_are_read_again_on_hangup_and_a_bad_file_changes_nothing(home: Path, upstream: PlainUpstream) -> None:
    settings = home / "mine.toml"
    settings.write_text('[gateway.upstreams]\nanthropic = "http://127.0.0.1:9"\n')
    with served(home, "--port", "0", "--config", str(settings), "--log", "json") as (process, told):
        url = told["variables"]["ANTHROPIC_BASE_URL"] + "/v1/messages"
        assert web().post(url, content=BODY, headers={"x-api-key": KEY}).status_code == 502
        settings.write_text("[gateway]\nmode = 7\n")
        _hang_up(process, "settings stay as they were")
        assert web().post(url, content=BODY, headers={"x-api-key": KEY}).status_code == 502
        settings.write_text(f'[gateway.upstreams]\nanthropic = "{upstream.url}"\n')
        _hang_up(process, "settings read again")
        assert web().post(url, content=BODY, headers={"x-api-key": KEY}).status_code == 200


@pytest.mark.finding("N19")
@pytest.mark.parametrize("mode", ["fold", "strict", "observe"])
def test_the_first_requests_of_a_new_store_write_nothing_to_the_terminal(
    home: Path, upstream: PlainUpstream, mode: str
) -> None:
    settings = home / "mine.toml"
    settings.write_text(f'[gateway.upstreams]\nanthropic = "{upstream.url}"\n')
    with served(home, "--port", "0", "--config", str(settings), "--mode", mode) as (process, told):
        url = told["variables"]["ANTHROPIC_BASE_URL"] + "/v1/messages"
        for key in (KEY, f"{KEY}-of-another"):
            for turn in range(20):
                said = [{"role": "user", "content": f"Conversation {turn}."}]
                body = {"model": "claude-sonnet-5-5", "max_tokens": 10, "messages": said}
                assert web().post(url, json=body, headers={"x-api-key": key}).status_code == 200
        process.terminate()
        _, written = process.communicate(timeout=60)
    assert written.splitlines() == ["note: everything is kept; the gateway has stopped"]


def _hang_up(process: subprocess.Popen[str], awaited: str) -> None:
    """Have the settings read again, and wait until that is told."""
    process.send_signal(signal.SIGHUP)
    assert process.stderr is not None
    for line in process.stderr:
        if json.loads(line)["event"] == awaited:
            return
    raise AssertionError("the log ended")


def test_a_gateway_killed_in_mid_stream_leaves_a_thread_that_goes_on(home: Path, upstream: PlainUpstream) -> None:
    settings = home / "mine.toml"
    settings.write_text(f'[gateway.upstreams]\nanthropic = "{upstream.url}"\n')
    began, gate = threading.Event(), threading.Event()
    stream = answer_for("/v1/messages")

    def half() -> Iterator[bytes]:
        yield stream[:400]
        began.set()
        gate.wait(60)

    history = [{"role": "user", "content": f"One. {'long ' * 3_000}"}]
    body = {"model": "claude-sonnet-5-5", "max_tokens": 10, "messages": history, "stream": True}
    upstream.answer(Answer([SAID]), Answer(half(), headers={"content-type": EVENTS}), Answer([SAID]))
    with served(home, "--port", "0", "--config", str(settings)) as (process, told):
        url, key = told["variables"]["ANTHROPIC_BASE_URL"] + "/v1/messages", {"x-api-key": KEY}
        assert web().post(url, json={**body, "stream": False}, headers=key).status_code == 200
        history += [{"role": "assistant", "content": "The word is heron."}, {"role": "user", "content": "Two."}]
        asked = web().build_request("POST", url, json=body, headers=key)
        answer = web().send(asked, stream=True)
        assert began.wait(60)
        process.kill()
        with pytest.raises(httpx.HTTPError):
            answer.read()
        gate.set()
    with served(home, "--port", "0", "--config", str(settings)) as (_, told):
        url = told["variables"]["ANTHROPIC_BASE_URL"] + "/v1/messages"
        assert web().post(url, json={**body, "stream": False}, headers=key).status_code == 200
    with cf.open(home / "contextfold.db", space=_space_in(home)) as store:
        assert store.verify() == []
        (row,) = store.threads()
        said = [entry for entry in store.thread(row.title).events if isinstance(entry.event, Appended)]
        assert [entry.event.shape.role for entry in said] == ["user", "assistant", "user", "assistant"]  # type: ignore[union-attr]


def _space_in(home: Path) -> str:
    key = (home / "state" / "contextfold" / "gateway-key").read_bytes()
    return space_of(Visit("POST", b"/", b"", ((b"x-api-key", KEY.encode()),)), key)


def test_no_key_is_in_the_log_the_files_or_the_numbers_whatever_goes_wrong(home: Path, upstream: PlainUpstream) -> None:
    settings = home / "mine.toml"
    broken = 'local = "http://127.0.0.1:9"'
    settings.write_text(f'[gateway.upstreams]\nanthropic = "{upstream.url}"\ngemini = "{upstream.url}"\n{broken}\n')
    carried = [{"x-api-key": KEY}, {"authorization": f"Bearer {KEY}"}, {"x-goog-api-key": KEY}, {"cookie": KEY}]
    with served(home, "--port", "0", "--config", str(settings), "--log", "json") as (process, told):
        url = told["variables"]["ANTHROPIC_BASE_URL"]
        for headers in carried:
            for content in (BODY, "no JSON", '{"messages": 7}'):
                upstream.answer(Answer([f'{{"error": "{KEY}"}}'.encode()], 500))
                assert web().post(f"{url}/v1/messages", content=content, headers=headers).status_code == 500
            assert web().post(f"{url}/local/v1/messages", content=BODY, headers=headers).status_code == 502
            assert web().get(url.rpartition("/")[0] + "/v1/models", headers=headers).status_code == 401
        path = f"{url}/v1beta/models/gemini-3-pro:generateContent?key={KEY}"
        assert web().post(path, content='{"contents": []}').status_code == 200
        numbers = web().get(f"{url}/metrics").text + web().get(f"{url}/status").text
        process.terminate()
        logged = "".join(process.communicate(timeout=60))
    files = b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file())
    assert "answered" in logged
    assert len(files) > 10_000
    assert KEY not in logged + numbers
    assert KEY.encode() not in files


def test_a_socket_file_is_its_owners_and_serves_like_a_port(
    tmp_path: Path, upstream: PlainUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    with gateway(tmp_path / "store.db", upstream.url, socket="gateway.sock") as house:
        assert Path("gateway.sock").stat().st_mode & 0o777 == 0o600
        with httpx.Client(transport=httpx.HTTPTransport(uds="gateway.sock"), timeout=60) as client:
            url = house.url.replace(house.origin, "http://localhost")
            assert client.post(f"{url}/v1/messages", content=BODY, headers={"x-api-key": KEY}).status_code == 200
            assert client.post("http://localhost/v1/messages", content=BODY).status_code == 401
        assert len(house.threads(KEY)) == 1


def _program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    assert os.access(path, os.X_OK)
