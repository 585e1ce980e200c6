"""Run an agent through a gateway of its own: nothing to set up, and it never runs out of context.

Starts a gateway on a free port, points the command at it (claude, codex, gemini, aider, opencode, llm, mini, and others
by the SDKs' variables), runs it, and ends with it, with its exit code. Requests go on to where they went before: what a
variable or the agent's own settings said is read first. Where that cannot be told nothing is started; say it by --to.
Everything is kept in the store.

Examples:
  contextfold wrap -- claude
  contextfold wrap --store work.db -- codex exec "mend the tests"
  contextfold wrap --mode observe -- aider --message "rename it"
  contextfold wrap --to openai=http://127.0.0.1:11434/v1 -- python agent.py
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
from pathlib import Path

import msgspec

from contextfold.dialects import all_known
from contextfold.errors import NotFound
from contextfold.models import CONFIG_VARIABLE, TRUST_VARIABLE

from . import listener
from .arguments import UsageError
from .client_settings import CommandContext
from .invocation import Invocation
from .listener import GatewayListener, listening
from .redirection import Redirection, destinations, redirection

_BY_SIGNAL = 128  # what shells add to the number of the signal that ended a command


def arguments(parser: ArgumentParser) -> None:
    listener.arguments(parser)
    told = "where requests go: anthropic, openai or gemini, with =ADDRESS for a server of your own"
    parser.add_argument("--to", action="append", default=[], metavar="PROVIDER[=ADDRESS]", help=told)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the agent and its arguments")


def run(call: Invocation) -> int:
    command = call.args.command[1:] if call.args.command[:1] == ["--"] else call.args.command
    if not command:
        raise UsageError("There is no command to run. Write it behind two dashes: contextfold wrap -- claude")
    if shutil.which(command[0]) is None:
        raise NotFound(f"There is no command {command[0]!r} here. Install it, or give its path.")
    way = _way(call, command)
    said = {"port": 0, "host": "127.0.0.1", "socket": "", "mode": call.args.mode, "by_name": True}
    said["upstreams"] = dict(way.upstreams)
    with listening(call, said, for_one_run=True) as found:
        from contextfold.gateway.server import beside  # noqa: PLC0415  # an extra, which is there by now

        with beside(found.gateway, found.socket):
            environ = {**_inherited(call), **environment(found, way, os.environ)}
            with _passing_on() as begin, _started(pointed(command, found, way), environ) as child:
                begin(child)
                code = child.wait()
        counted = found.gateway.metrics
        turns, folds = counted.total("turns_total"), counted.total("folds_total")
        call.note(call.say("wrap.ended", turns=turns, folds=folds, store=call.store_path))
        if lost := counted.total("unread_total"):
            call.note(call.say("serve.unkept", unread=lost))
    return code if code >= 0 else _BY_SIGNAL - code


def _way(call: Invocation, command: Sequence[str]) -> Redirection:
    named = call.settings.gateway.get("upstreams")
    set_here = named if isinstance(named, Mapping) else {}
    public = {each.endpoint.provider.name: each.endpoint.provider.address for each in all_known() if each.endpoint}
    given = CommandContext(
        environ=os.environ,
        folder=Path.cwd(),
        home=Path(os.path.expanduser("~")),  # noqa: PTH111  # `Path.home` raises where there is none
        program=Path(shutil.which(command[0]) or command[0]).resolve(),
        usual={**public, **set_here},
        settled=frozenset(set_here),
        to=destinations(call.args.to),
    )
    return redirection(command, given)


def _inherited(call: Invocation) -> dict[str, str]:
    """The variables of this process without those that flags of ours became: they are said of this command alone."""
    by_flag = {TRUST_VARIABLE: call.args.trust, CONFIG_VARIABLE: call.args.config}
    return {name: value for name, value in os.environ.items() if not by_flag.get(name)}


def _started(command: Sequence[str], environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """The very command that the user typed, without a shell."""
    try:
        return subprocess.Popen(command, env=environ)  # noqa: S603
    except OSError as error:
        raise UsageError(f"The command {command[0]!r} cannot be run: {error.strerror}.") from error


def environment(found: GatewayListener, way: Redirection, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that lead a command to the gateway."""
    told = {name: found.url + path for name, path in way.variables.items()}
    told["CONTEXTFOLD_GATEWAY_URL"] = found.url
    for name, other in (("NO_PROXY", "no_proxy"), ("no_proxy", "NO_PROXY")):
        told[name] = ",".join(filter(None, (environ.get(name) or environ.get(other), "127.0.0.1")))
    if way.opencode:
        providers = {name: {"options": {"baseURL": found.url + path}} for name, path in way.opencode.items()}
        told["OPENCODE_CONFIG_CONTENT"] = msgspec.json.encode({"provider": providers}).decode()
    return told


def pointed(command: Sequence[str], found: GatewayListener, way: Redirection) -> list[str]:
    """The command; Codex, which reads its address from no variable, gets it as an argument.

    Every user of the machine can read arguments, so the address holds a token that ends with this run.
    """
    if way.codex is None:
        return list(command)
    program, *rest = command
    return [program, "-c", f'openai_base_url="{found.url}{way.codex}"', *rest]


@contextmanager
def _passing_on() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Signals go to the command, which decides; a terminal sends Ctrl-C to both of us, so that it is not said twice.

    Before it starts already: a signal that came between its start and ours to listen would end us and leave it alone.
    """
    started: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, _: object) -> None:
        if number == signal.SIGINT and sys.stdin is not None and sys.stdin.isatty():
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
