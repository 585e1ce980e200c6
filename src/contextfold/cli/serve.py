"""Serve the gateway: point any agent at it, and its conversations are kept and always fit.

Listens on this machine alone. The token is made once and kept in your state directory; it stands first in the path of
the base URLs that are printed. Keys of providers pass through and are never kept. Stop with Ctrl-C: requests under way
are finished first.

Examples:
  contextfold serve
  contextfold serve --port 9000 --store agents.db
  contextfold serve --mode observe
  contextfold serve --config contextfold.toml
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

import contextfold as cf
from contextfold.errors import BadConfiguration
from contextfold.workspace.homes import state_directory

from .exits import DONE
from .invocation import Invocation
from .paper import Ink

MODES = ("observe", "fold", "strict")
# What each client reads, and what its base URL looks like behind the token.
_LINES = (
    ("Claude Code, Anthropic SDK", "ANTHROPIC_BASE_URL", ""),
    ("OpenAI SDK, llm", "OPENAI_BASE_URL", "/v1"),
    ("aider, mini-swe-agent", "OPENAI_API_BASE", "/v1"),
    ("Gemini CLI", "GOOGLE_GEMINI_BASE_URL", ""),
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--host", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="the port to listen on (default: 8787; 0: any free one)")
    told = "observe: only record; fold (default): make it fit; strict: refuse what cannot be kept"
    parser.add_argument("--mode", choices=MODES, help=told)


def run(call: Invocation) -> int:
    try:
        from contextfold import gateway  # noqa: PLC0415  # its web server is an extra
        from contextfold.gateway.server import bound, serve  # noqa: PLC0415  # the same
    except ImportError as error:
        raise BadConfiguration("The gateway is not installed: pip install 'contextfold[gateway]'.") from error
    settings = gateway.gateway_settings(_table(call))
    secrets = gateway.secrets_in(state_directory())
    listening = bound(settings)
    port = 0 if settings.socket else int(listening.getsockname()[1])
    path = call.store_path
    app = gateway.Gateway(settings, secrets, lambda space: cf.open(path, space=space, recall=False), port=port)
    where = settings.socket or f"http://{_shown(settings.host)}:{port}"

    def ready() -> None:
        urls = {name: f"{where}/{secrets.token}{rest}" for _, name, rest in _LINES}
        value = {"url": where, "token": secrets.token, "store": str(path), "mode": settings.mode, "variables": urls}
        call.answer(value, lambda: _show(call, where, settings.mode, urls))
        sys.stdout.flush()

    serve(app, listening, ready)
    call.note(call.say("serve.stopped"))
    return DONE


def _table(call: Invocation) -> Mapping[str, Any]:
    """The file's table, and what the command line says instead."""
    said = {name: getattr(call.args, name) for name in ("host", "port", "mode")}
    return {**call.settings.gateway, **{name: value for name, value in said.items() if value is not None}}


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _show(call: Invocation, where: str, mode: str, urls: Mapping[str, str]) -> None:
    call.out.line(Ink(call.say("serve.ready", where=where), "bold"))
    call.out.line(call.say("serve.store", store=call.store_path, mode=mode), indent=2)
    call.out.line()
    for about, name, _ in _LINES:
        call.out.line(Ink(about, "dim"), indent=2)
        call.out.line(f"export {name}={urls[name]}", indent=2)
    call.out.line()
    call.out.line(Ink(call.say("serve.secret"), "dim"), indent=2)
