"""Serve the gateway: point any agent at it, and its conversations are kept and always fit.

Listens on this machine alone. The token is made once and kept in your state directory; it stands first in the path of
the base URLs that are printed. Keys of providers pass through and are never kept. Stop with Ctrl-C: requests under way
are finished first. SIGHUP reads the settings again. The last link that is printed shows the conversations in a browser.

Examples:
  contextfold serve
  contextfold serve --port 9000 --store agents.db
  contextfold serve --store postgresql://db.example/agents
  contextfold serve --mode observe --log json
  contextfold serve --config contextfold.toml
"""

from __future__ import annotations

import logging
import sys
from argparse import ArgumentParser

from contextfold.shell import quoted

from . import listener
from .base_urls import BASE_URLS
from .commands import DONE
from .inspect import mounted
from .invocation import Invocation
from .listener import GatewayListener, gateway_table, listening
from .paper import Ink


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--host", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="the port to listen on (default: 8787; 0: any free one)")
    listener.arguments(parser)


def run(call: Invocation) -> int:
    said = {name: getattr(call.args, name) for name in ("host", "port", "mode")}
    with listening(call, said, least=None if call.args.quiet else logging.WARNING) as found:
        from contextfold.gateway import gateway_settings  # noqa: PLC0415  # an extra, which is there by now
        from contextfold.gateway.server import GatewayServer, serve  # noqa: PLC0415  # the same

        page = None if found.settings.socket else mounted(call, found)
        link = "" if page is None else found.where + page.link

        def ready() -> None:
            value = {
                "url": found.where,
                "token": found.token,
                "store": str(call.store_path),
                "mode": found.settings.mode,
                "variables": found.variables,
                "inspector": link,
            }
            call.answer(value, lambda: _show(call, found, link))
            sys.stdout.flush()

        # Whatever else is to answer on this socket, such as pages for people, is composed here and given as `page`.
        server = GatewayServer(
            found.gateway,
            ready,
            page=page,
            reload=lambda: gateway_settings(gateway_table(call, said)),
            ending=None if page is None else page.inspector.close,
        )
        serve(server, found.socket)
        lost = found.gateway.metrics.total("unread_total")
        call.note(call.say("serve.unkept", unread=lost) if lost else call.say("serve.stopped"))
    return DONE


def _show(call: Invocation, found: GatewayListener, link: str) -> None:
    call.out.line(Ink(call.say("serve.ready", where=found.where), "bold"))
    call.out.line(call.say("serve.store", store=call.store_path, mode=found.settings.mode), indent=2)
    call.out.line()
    for each in BASE_URLS:
        call.out.line(Ink(each.clients, "dim"), indent=2)
        call.out.line(f"export {each.variable}={quoted(found.variables[each.variable])}", indent=2)
    call.out.line()
    if link:
        call.out.line(Ink(call.say("serve.inspector"), "dim"), indent=2)
        call.out.line(link, indent=2)
        call.out.line()
    call.out.line(Ink(call.say("serve.secret"), "dim"), indent=2)
