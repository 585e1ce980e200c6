"""Drives the coding agents of the npm registry, unmodified, and writes docs/clients.md: two turns against the strict
server, and a task of forty tool calls through the gateway in a window of 32k.

Not part of CI: the agents are large and change daily. `make clients` installs them in `.clients` and runs this.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import contextfold as cf
from contextfold.domain import Appended, Sent, encode
from contextfold.errors import NotFound
from contextfold.gateway import Gateway, GatewaySecrets, GatewaySettings, spaces_in
from contextfold.gateway.door import Visit
from contextfold.gateway.server import beside, bound
from contextfold.gateway.tenants import space_of
from contextfold.testing.server import Call, Say, StrictServer, strict_server
from contextfold.testing.server.provider import Question

ROOT = Path(__file__).parents[1]
CLIENTS = ROOT / ".clients"
PAGE = ROOT / "docs" / "clients.md"
SECRET, TASK, AGAIN = "heron-4417", "What does alpha.txt say?", "Say it once more: read the file again."
_LONGEST = 120  # seconds for one command
WINDOW, CALLS = 32_000, 40
_LONG_LONGEST = 400  # seconds for a task of many calls
_SECRETS = GatewaySecrets("tok-0123456789abcdef", b"k" * 32)


@dataclass(frozen=True)
class Client:
    """One agent: its package, the commands of two turns, and what it reads from files and the environment."""

    name: str
    package: str
    turns: Callable[[str], Sequence[Sequence[str]]]
    tool: Callable[[str], Call]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)
    window: int = WINDOW  # for a task through the gateway


def _shell(name: str, **further: Any) -> Callable[[str], Call]:
    return lambda directory: Call(name, {"command": f"cat {directory}/alpha.txt", **further})


def clients(url: str, token: str) -> list[Client]:
    """Everybody, pointed at one address."""
    claude = ["claude", "--dangerously-skip-permissions", "--model", "claude-sonnet-5-5"]
    codex = ["codex", "exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"]
    gemini = ["gemini", "-y", "-m", "gemini-3.1-pro-preview"]
    open_code = ["opencode", "run", "-m", "anthropic/claude-sonnet-4-5"]
    pi = ["pi", "--provider", "anthropic", "--model", "claude-sonnet-4-5"]
    toml = (
        'model_provider = "strict"\nmodel = "gpt-5.5"\n[model_providers.strict]\nname = "strict"\n'
        f'base_url = "{url}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n'
    )
    return [
        Client(
            "Claude Code",
            "@anthropic-ai/claude-code",
            lambda _: [[*claude, "-p", TASK], [*claude, "--continue", "-p", AGAIN]],
            _shell("Bash", description="Show the file"),
            {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": token, "IS_SANDBOX": "1"},
            window=56_000,  # its tools and its prompt alone are 38,000 tokens
        ),
        Client(
            "Codex",
            "@openai/codex",
            lambda _: [[*codex, TASK], [*codex, "resume", "--last", AGAIN]],
            lambda directory: Call("exec_command", {"cmd": f"cat {directory}/alpha.txt"}),
            {"OPENAI_API_KEY": token},
            {".codex/config.toml": toml},
        ),
        Client(
            "Gemini CLI",
            "@google/gemini-cli",
            lambda _: [[*gemini, "-p", TASK], [*gemini, "--resume", "latest", "-p", AGAIN]],
            _shell("run_shell_command", description="Show the file"),
            {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": token, "GEMINI_CLI_TRUST_WORKSPACE": "true"},
            {".gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}}},
        ),
        Client(
            "opencode",
            "opencode-ai",
            lambda _: [[*open_code, TASK], [*open_code, "-c", AGAIN]],
            _shell("bash", description="Show the file"),
            {"OPENCODE_DISABLE_MODELS_FETCH": "1", "ANTHROPIC_API_KEY": token},
            {".config/opencode/opencode.json": {"provider": {"anthropic": {"options": {"baseURL": f"{url}/v1"}}}}},
        ),
        Client(
            "pi",
            "@mariozechner/pi-coding-agent",
            lambda _: [[*pi, "-p", TASK], [*pi, "-c", "-p", AGAIN]],
            _shell("bash"),
            {"ANTHROPIC_API_KEY": token},
            {".pi/agent/models.json": {"providers": {"anthropic": {"baseUrl": url}}}},
        ),
    ]


def model(client: Client, directory: str) -> Callable[[Question], Say]:
    """Calls the tool once in each turn, and answers with what it read; side questions get a word."""
    called: list[int] = []

    def say(asked: Question) -> Say:
        body = encode(asked.body).decode()
        turn = 2 if AGAIN in body else 1 if TASK in body else 0
        offers_tools = bool(asked.body.get("tools")) or "additional_tools" in body
        if not turn or not offers_tools:
            return Say('{"title": "A file"}')
        if called.count(turn) == 0:
            called.append(turn)
            return Say("Let me read it.", (client.tool(directory),))
        return Say(f"It says {SECRET}." if body.count(SECRET) >= turn else "I could not read it.")

    return say


def busy_model(client: Client, directory: str) -> Callable[[Question], Say]:
    """Calls the tool many times, then says that it is done; side questions get a word."""
    called: list[int] = []

    def say(asked: Question) -> Say:
        offers_tools = bool(asked.body.get("tools")) or "additional_tools" in encode(asked.body).decode()
        if not offers_tools:
            return Say('{"title": "A file"}')
        if len(called) < CALLS and AGAIN not in encode(asked.body).decode():
            called.append(1)
            return Say(f"Step {len(called)}.", (_call(client, directory, len(called)),))
        return Say(f"It says {SECRET}.")

    return say


def _call(client: Client, directory: str, number: int) -> Call:
    """Another file each time: some agents stop a model that repeats itself."""
    call = client.tool(directory)
    arguments = {
        name: value.replace("alpha.txt", f"page{number}.txt") if isinstance(value, str) else value
        for name, value in call.arguments.items()
    }
    return Call(call.name, arguments)


def prepared(client: Client, home: Path, text: str) -> dict[str, str]:
    """The files that a client reads, and its environment."""
    (home / "alpha.txt").write_text(text)
    for name, content in client.files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    binaries = f"{CLIENTS / 'node_modules' / '.bin'}:{os.environ['PATH']}"
    return {"PATH": binaries, "HOME": str(home), "CI": "1", **client.environment}


def ended(command: Sequence[str], home: Path, environment: Mapping[str, str], longest: int) -> str:
    """Empty when a command did its task; else what went wrong."""
    try:
        done = subprocess.run(
            command,
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=longest,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"did not end within {longest} seconds"
    if done.returncode or SECRET not in done.stdout:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        return f"ended with {done.returncode}: {' '.join(last)[:160]}"
    return ""


def run(client: Client, server: StrictServer, home: Path) -> str:
    """Empty when both turns were done; else what went wrong."""
    environment = prepared(client, home, SECRET)
    server.always(model(client, str(home)))
    for number, command in enumerate(client.turns(str(home)), 1):
        if wrong := ended(command, home, environment, _LONGEST):
            return f"turn {number} {wrong}"
    return ""


def through_gateway(place: int) -> str:
    """A task of many calls in a small window: how it ended, requests, folds, and whether everything is kept."""
    window = clients("", "")[place].window
    with (
        strict_server(window=window) as server,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory,
    ):
        home = Path(directory)
        addresses = dict.fromkeys(("anthropic", "openai", "gemini"), server.url)
        settings = GatewaySettings(port=0, upstreams=addresses, window=window)
        listening = bound(settings)
        port = listening.getsockname()[1]
        store = home / "kept.db"
        gateway = Gateway(settings, _SECRETS, spaces_in(store, settings), port=port)
        client = clients(f"http://127.0.0.1:{port}/{_SECRETS.token}", server.token)[place]
        environment = prepared(client, home, SECRET)
        for number in range(CALLS + 1):
            (home / f"page{number}.txt").write_text(f"page {number}\n" + "alpha beta gamma delta epsilon zeta\n" * 80)
        server.always(busy_model(client, str(home)))
        with beside(gateway, listening):
            first, second = client.turns(str(home))
            wrong = ended(first, home, environment, _LONG_LONGEST)
            resumed = "" if wrong else ended(second, home, environment, _LONGEST)
        refused = sorted({each.refused.rule for each in server.refused if each.refused is not None})
        cells = (
            client.name,
            f"{window:,}",
            wrong or "finished",
            resumed or "finished",
            str(len(server.exchanges)),
            str(gateway.metrics.total("folds_total")),
            ", ".join(refused) or "none",
            str(_results_kept(store, server.token)),
            _requests_shown(store, server.token),
        )
        return f"| {' | '.join(cells)} |"


def _space(token: str) -> str:
    return space_of(Visit("POST", b"/", b"", ((b"x-api-key", token.encode()),)), _SECRETS.tenant_key)


def _requests_shown(path: Path, token: str) -> str:
    """Answered requests that are shown again byte for byte, of all that were kept."""
    exact = total = 0
    with cf.open(path, space=_space(token)) as store:
        for thread in (store.thread(row.title) for row in store.threads()):
            for entry in thread.events:
                if isinstance(entry.event, Sent):
                    total += 1
                    with suppress(NotFound):
                        exact += bool(thread.request(entry.seq).json)
    return f"{exact} of {total}"


def _results_kept(path: Path, token: str) -> int:
    """Results of tools in everything that was kept."""
    with cf.open(path, space=_space(token)) as store:
        events = [entry.event for row in store.threads() for entry in store.thread(row.title).events]
        return len({call for event in events if isinstance(event, Appended) for call in event.shape.results})


def version(client: Client) -> str:
    manifest = CLIENTS / "node_modules" / client.package / "package.json"
    return str(json.loads(manifest.read_text())["version"]) if manifest.exists() else ""


HEAD = "| client | version | spoke | requests | rules broken | two turns with a tool |\n|---|---|---|---|---|---|\n"


LONG_HEAD = (
    f"Through the gateway, one prompt with {CALLS} tool calls, past the window:\n\n"
    "| client | window | task | resumed | requests | folds | rules broken | results kept | requests shown again |\n"
    "|---|---|---|---|---|---|---|---|---|\n"
)


def main(*wanted: str) -> None:
    """All of them, and the page; or only those named, and no page."""
    rows: list[str] = []
    long: list[str] = []
    for place in range(len(clients("", ""))):
        with strict_server() as server, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
            client = clients(server.url, server.token)[place]
            if wanted and client.name not in wanted:
                continue
            result = (run(client, server, Path(home)) or "passed") if version(client) else "not installed"
            refused = ", ".join(sorted({each.refused.rule for each in server.refused if each.refused is not None}))
            formats = ", ".join(sorted({each.format for each in server.exchanges})) or "nothing"
            cells = (client.name, version(client), formats, str(len(server.exchanges)), refused or "none", result)
            rows.append(f"| {' | '.join(cells)} |")
            print(rows[-1])
        if version(client):
            long.append(through_gateway(place))
            print(long[-1])
    if not wanted:
        before = PAGE.read_text(encoding="utf-8").partition("<!-- result -->")[0]
        day = time.strftime("%d %B %Y").lstrip("0")
        result = f"<!-- result -->\n\nLast run: {day}.\n\n{HEAD}" + "\n".join(rows)
        result += f"\n\n{LONG_HEAD}" + "\n".join(long)
        PAGE.write_text(f"{before}{result}\n", encoding="utf-8")


main(*sys.argv[1:])
