"""Run an agent through a gateway of its own: nothing to set up, and it never runs out of context.

Starts a gateway on a free port, sets every variable by which claude, codex, gemini, aider, opencode, llm and the SDKs
find their provider, runs the command, and ends with it, with its exit code. A provider that you reach under another
address keeps it: what the variables said before is where requests go. Everything is kept in the store.

Examples:
  contextfold wrap -- claude
  contextfold wrap --store work.db -- codex exec "mend the tests"
  contextfold wrap --mode observe -- aider --message "rename it"
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePath

import msgspec

from contextfold.errors import NotFound

from . import listener
from .arguments import UsageError
from .invocation import Invocation
from .listener import GatewayListener, listening

_BY_SIGNAL = 128  # what shells add to the number of the signal that ended a command
# Where a user may have said that a provider is elsewhere, and what its address ends with there.
_ELSEWHERE = (
    ("anthropic", "ANTHROPIC_BASE_URL", ""),
    ("openai", "OPENAI_BASE_URL", "/v1"),
    ("gemini", "GOOGLE_GEMINI_BASE_URL", ""),
)


def arguments(parser: ArgumentParser) -> None:
    listener.arguments(parser)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the agent and its arguments")


def run(call: Invocation) -> int:
    command = call.args.command[1:] if call.args.command[:1] == ["--"] else call.args.command
    if not command:
        raise UsageError("There is no command to run. Write it behind two dashes: contextfold wrap -- claude")
    if shutil.which(command[0]) is None:
        raise NotFound(f"There is no command {command[0]!r} here. Install it, or give its path.")
    said = {"port": 0, "host": "127.0.0.1", "socket": "", "mode": call.args.mode}
    with listening(call, {**said, "upstreams": upstreams(call.settings.gateway, os.environ)}) as found:
        from contextfold.gateway.server import beside  # noqa: PLC0415  # an extra, which is there by now

        with beside(found.gateway, found.socket):
            environ = {**os.environ, **environment(found, os.environ)}
            # The very command that the user typed, without a shell.
            with _passing_on() as begin, subprocess.Popen(pointed(command, found), env=environ) as child:  # noqa: S603
                begin(child)
                code = child.wait()
        counted = found.gateway.metrics
        turns, folds = counted.total("turns_total"), counted.total("folds_total")
        call.note(call.say("wrap.ended", turns=turns, folds=folds, store=call.store_path))
        if lost := counted.total("unread_total"):
            call.note(call.say("serve.unkept", unread=lost))
    return code if code >= 0 else _BY_SIGNAL - code


def upstreams(table: Mapping[str, object], environ: Mapping[str, str]) -> dict[str, object]:
    """Where providers are: as set, else as the user's own variables say, else where they usually are."""
    named = table.get("upstreams")
    chosen = dict(named) if isinstance(named, Mapping) else {}
    for name, variable, ending in _ELSEWHERE:
        if address := environ.get(variable):
            chosen.setdefault(name, address.rstrip("/").removesuffix(ending))
    return chosen


def environment(found: GatewayListener, environ: Mapping[str, str]) -> dict[str, str]:
    """What a command is told so that it comes here, whichever of the agents it is."""
    providers = {"anthropic": "/v1", "openai": "/v1", "google": "/v1beta"}
    code = {"provider": {name: {"options": {"baseURL": found.url + rest}} for name, rest in providers.items()}}
    direct = ",".join(filter(None, (environ.get("NO_PROXY") or environ.get("no_proxy"), "127.0.0.1")))
    return {
        **found.variables,
        "OPENCODE_CONFIG_CONTENT": environ.get("OPENCODE_CONFIG_CONTENT") or msgspec.json.encode(code).decode(),
        "NO_PROXY": direct,
        "no_proxy": direct,
        "CONTEXTFOLD_GATEWAY_URL": found.url,
    }


def pointed(command: Sequence[str], found: GatewayListener) -> list[str]:
    """The command; to one that reads its address from no variable it is said as an argument."""
    program, *rest = command
    if PurePath(program).stem != "codex":
        return [program, *rest]
    return [program, "-c", f'openai_base_url="{found.url}/v1"', *rest]


@contextmanager
def _passing_on() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Signals go to the command, which decides; a terminal sends Ctrl-C to both of us, so that it is not said twice.

    Before it starts already: a signal that came between its start and ours to listen would end us and leave it alone.
    """
    started: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, _: object) -> None:
        if number == signal.SIGINT and sys.stdin.isatty():
            return
        if started:
            started[0].send_signal(number)
        else:
            early.append(number)

    def begin(child: subprocess.Popen[bytes]) -> None:
        started.append(child)
        for number in early:
            child.send_signal(number)

    wanted = [number for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if (number := getattr(signal, name, None))]
    before = {number: signal.signal(number, pass_on) for number in wanted}
    try:
        yield begin
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
