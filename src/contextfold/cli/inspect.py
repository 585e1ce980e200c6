"""Look at a store in a browser: what the model saw, what was folded and why; and take it back with one click.

Prints one link and opens it. The link works once, on this machine alone; what it opens stays open until Ctrl-C. With
--read-only nothing can be changed. Scripts use the same interface as the page: see docs/inspector.md.

Examples:
  contextfold inspect agent.db
  contextfold inspect agent.db --read-only --no-open
  contextfold inspect --port 9001
"""

from __future__ import annotations

import sys
import webbrowser
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

import contextfold as cf
from contextfold.errors import BadConfiguration, ContextFoldError, NotFound, StoreError
from contextfold.logs import is_postgres, shown_address

from .arguments import size
from .commands import DONE
from .invocation import Invocation, policy_of
from .listener import GatewayListener
from .paper import Ink
from .translation import error_in, label_in

if TYPE_CHECKING:  # its web server is an extra
    from contextfold.inspector import Inspector

Application = Callable[[Any, Any, Any], Awaitable[None]]
MOUNT = "/inspector"  # on the gateway's socket


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="the store to look at (default: the one that is set)")
    parser.add_argument("--port", type=int, default=0, help="the port to listen on (default: any free one)")
    parser.add_argument("-w", "--window", type=size, metavar="TOKENS", help="the window (default: the model's own)")
    parser.add_argument("--read-only", action="store_true", help="change nothing, also not by mistake")
    parser.add_argument("--no-open", action="store_true", help="only print the link")


def run(call: Invocation) -> int:
    try:
        from contextfold import inspector  # noqa: PLC0415  # its web server is an extra
        from contextfold.inspector.server import HOST, listening_on, serve  # noqa: PLC0415  # the same
    except ImportError as error:
        raise BadConfiguration(
            "The inspector's web server is missing: pip install 'contextfold[inspector]'."
        ) from error
    address = str(call.args.file or call.store_address)
    path = shown_address(address) if is_postgres(address) else Path(address)
    if isinstance(path, Path) and not path.exists():
        raise NotFound(f"There is no store {path}. Name one that is there: contextfold inspect agent.db")
    with listening_on(call.args.port) as listening:
        port = int(listening.getsockname()[1])
        access = inspector.Access(port=port)
        stores = inspector.OpenStores(
            store_opener(address, read_only=call.args.read_only),
            label=label_of(path),
            space=call.settings["space"],
            open_session=lambda store, name: session_on(call, store, name, call.args.window),
            read_only=call.args.read_only,
        )
        stores.store()  # what is wrong with the file is told here, before anything is printed
        link = f"http://{HOST}:{port}{access.new_link()}"
        page = inspector.Inspector(stores, access, translate=translated)
        with suppress(KeyboardInterrupt):  # the way to end it
            serve(page, listening, lambda: _ready(call, link, path))
    return DONE


def _ready(call: Invocation, link: str, path: Path | str) -> None:
    value = {"link": link, "store": str(path), "read_only": call.args.read_only}
    if not call.is_told_as_json(value):
        call.out.line(Ink(call.say("inspect.ready", store=path), "bold"))
        call.out.line(link, indent=2)
        call.out.line(Ink(call.say("inspect.secret"), "dim"), indent=2)
    sys.stdout.flush()
    if not call.args.no_open and not call.is_json and sys.stdout.isatty():
        webbrowser.open(link)


class MountedInspector(Struct, frozen=True):
    """The inspector under a path of its own, in front of another application that gets everything else."""

    inspector: Inspector
    link: str
    rest: Application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = str(scope.get("path", ""))
        is_ours = path == MOUNT or path.startswith(f"{MOUNT}/")
        await (self.inspector if is_ours else self.rest)(scope, receive, send)


def mounted(call: Invocation, found: GatewayListener) -> MountedInspector:
    """The inspector of what a gateway keeps, on the gateway's socket."""
    from contextfold import inspector  # noqa: PLC0415  # its web server is there, since the gateway's is

    settings, port = found.settings, int(found.socket.getsockname()[1])
    access = inspector.Access(port=port, hosts=settings.hosts, base=MOUNT)
    stores = inspector.OpenStores(
        store_opener(call.store_address, read_only=False),
        label=label_of(call.store_path),
        open_session=lambda store, name: session_on(call, store, name, settings.window, settings.limit),
    )

    async def health() -> inspector.Health:
        outage = await found.gateway.outage()
        return (
            inspector.Health() if outage is None else inspector.Health(False, outage.since, outage.requests, outage.why)
        )

    page = inspector.Inspector(stores, access, translate=translated, health=health)
    found.gateway.health.tell_replaced(page.let_go)
    return MountedInspector(page, access.new_link(), found.gateway)


def label_of(path: Path | str) -> str:
    """What a store is called on the page: its file without the way to it, or its address without a password."""
    return path.name if isinstance(path, Path) else path


def store_opener(path: str, *, read_only: bool) -> Callable[[str], cf.Store]:
    """Opens a space of a store, for looking at it; to be read only where the disk is full or takes no writes."""

    def opened(space: str) -> cf.Store:
        try:
            return cf.open(path, space=space, read_only=read_only)
        except StoreError:
            if read_only:
                raise
            with suppress(ContextFoldError):
                return cf.open(path, space=space, read_only=True)
            raise

    return opened


def session_on(
    call: Invocation, store: cf.Store, name: str, window: int | None = None, limit: int | None = None
) -> cf.Session:
    """A thread with the policy in force."""
    model = store.thread(name, model=call.model).model.name
    policy, artifacts = policy_of(call, model), call.settings["artifacts"] or None
    return cf.Session.on(store, name, call.model, policy, artifacts=artifacts, window=window, limit=limit)


def translated(language: str, text: str) -> str:
    """An error or a reason in the reader's language."""
    spoken = "ja" if language == "ja" else "en"
    told = error_in(spoken, text)
    return told if told != text else label_in(spoken, text)
