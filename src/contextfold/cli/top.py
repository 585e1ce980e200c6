"""See live what the gateways on this machine do: conversations, what was folded, saved and paid.

Finds every gateway of yours that runs, those of `contextfold wrap` too. Ctrl-C ends it; the gateways go on.

Examples:
  contextfold top
  contextfold top --once
  contextfold top --once --json
"""

from __future__ import annotations

import http.client
import socket
import sys
import threading
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from textwrap import wrap
from urllib.parse import urlsplit

import msgspec

from contextfold.errors import NotFound
from contextfold.private import state_directory

from .commands import DONE
from .invocation import Invocation
from .listener import NOTED, NotedGateway
from .paper import Ink
from .translation import error_in

_WIDTH = 80
_NAME, _MODEL = 26, 15  # columns of a name and of a model
_PATIENCE = 5.0  # seconds for a gateway to answer
_HOME = "\x1b[H\x1b[J"


class ShownConversation(msgspec.Struct, frozen=True):
    """A conversation, as its gateway tells it."""

    name: str
    model: str
    messages: int
    folds: int
    tokens: int
    window: int
    hidden: int
    spent: float
    saved: float
    unit: str
    at: float


class ShownOutage(msgspec.Struct, frozen=True):
    """Since when a gateway keeps nothing, how many requests that concerns, and why."""

    since: float
    requests: int
    why: str


class ShownGateway(msgspec.Struct, frozen=True):
    """A gateway, as it tells of itself; `where` and `store` as they were noted."""

    mode: str
    under_way: int
    counted: dict[str, int]
    conversations: list[ShownConversation]
    where: str = ""
    store: str = ""
    outage: ShownOutage | None = None


class _SocketFile(http.client.HTTPConnection):
    """HTTP over a socket file."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--once", action="store_true", help="look once and end")
    parser.add_argument("--every", type=float, default=2.0, metavar="SECONDS", help="how often to look (default: 2)")


def run(call: Invocation) -> int:
    never = threading.Event()  # Ctrl-C ends the wait
    while True:
        found = list(gateways(state_directory()))
        if call.args.once and not found:
            raise NotFound("No gateway of yours runs here. Start one with `contextfold serve` or `contextfold wrap`.")
        value = [msgspec.to_builtins(each) for each in found]
        if not call.args.once and not call.is_json and sys.stdout.isatty():
            sys.stdout.write(_HOME)
        if not call.is_told_as_json(value):
            _show(call, found)
        sys.stdout.flush()
        if call.args.once:
            return DONE
        never.wait(max(0.1, call.args.every))


def gateways(directory: Path) -> Iterator[ShownGateway]:
    """Every gateway that answers, of those that are noted."""
    token = directory / "gateway-token"
    if not token.exists():
        return
    for file in sorted((directory / NOTED).glob("*.json")):
        try:
            noted = msgspec.json.decode(file.read_bytes(), type=NotedGateway)
            told = _asked(noted.where, f"/{token.read_text().strip()}/status")
            shown = msgspec.json.decode(told, type=ShownGateway)
        except (OSError, http.client.HTTPException, msgspec.MsgspecError):
            continue  # it ended without a word, or is ending
        yield msgspec.structs.replace(shown, where=noted.where, store=noted.store)


def _asked(where: str, path: str) -> bytes:
    if where.startswith("unix:"):
        connection: http.client.HTTPConnection = _SocketFile(where.removeprefix("unix:"))
    else:
        connection = http.client.HTTPConnection(urlsplit(where).netloc, timeout=_PATIENCE)
    try:
        connection.request("GET", path)
        return connection.getresponse().read()
    finally:
        connection.close()


def _show_outage(call: Invocation, outage: ShownOutage) -> None:
    since = datetime.fromtimestamp(outage.since).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    words = call.say("top.unkept", since=since, requests=f"{outage.requests:,}")
    call.out.line(Ink(words, "bold"))
    for line in wrap(error_in(call.language, outage.why), _WIDTH):
        call.out.line(line)


def _show(call: Invocation, found: list[ShownGateway]) -> None:
    if not found:
        call.out.line(call.say("top.none"))
    for each in found:
        call.out.line(Ink(f"{each.where}  {each.mode}"[:_WIDTH], "bold"))
        counted = each.counted
        told = {name: f"{counted.get(name, 0):,}" for name in ("turns", "folds", "tokens_hidden", "unread")}
        call.out.line(call.say("top.counted", under_way=each.under_way, **told)[:_WIDTH])
        if each.outage is not None:
            _show_outage(call, each.outage)
        if each.conversations:
            call.out.line(Ink(call.say("top.head"), "dim"))
        for row in each.conversations:
            # One conversation in eighty columns: name, model, messages, folds, how full, saved, paid.
            full = f"{100 * row.tokens / row.window:.0f}%" if row.window else ""
            paid = f"${row.spent:,.2f}" if row.unit == "USD" else f"{row.spent:,.0f}t"
            name = row.name if len(row.name) <= _NAME else f"{row.name[: _NAME - 9]}…{row.name[-8:]}"
            call.out.line(
                f"{name:<{_NAME}} {row.model[:_MODEL]:<{_MODEL}} {row.messages:>6,} {row.folds:>5,} {full:>5} "
                f"{round(row.saved, 2) + 0.0:>6.0%} {paid:>9}"
            )
