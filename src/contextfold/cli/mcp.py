"""Serve a store to clients of the Model Context Protocol: they recall what was said, list threads, read behind folds.

Over standard input and output, as clients start it; with --http at an address of this machine, behind a token that
stands first in the path. Nothing is written unless --write lets clients take folds back. Needs `contextfold[mcp]`.

Examples:
  contextfold mcp --store agent.db
  contextfold mcp --http --port 8790
  claude mcp add contextfold -- contextfold mcp --store ~/agent.db
"""

from __future__ import annotations

import os
import secrets
import sys
from argparse import ArgumentParser
from pathlib import Path

from contextfold.errors import BadConfiguration, NotFound

from .arguments import UsageError
from .commands import DONE
from .invocation import Invocation
from .projects import project_space

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--http", action="store_true", help="listen at an address instead of standard input")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8790, help="the port to listen on (default: 8790)")
    parser.add_argument("--project", action="store_true", help="only what the plugin kept of this directory's sessions")
    parser.add_argument("--write", action="store_true", help="let clients take folds back")


def run(call: Invocation) -> int:
    path = call.store_path
    if isinstance(path, Path) and not path.exists():
        raise NotFound(f"There is no store {path}. Name one with --store, or make it with `contextfold import`.")
    try:
        from contextfold import mcp  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise BadConfiguration("The MCP SDK is not installed: pip install 'contextfold[mcp]'.") from error
    if call.args.project and call.args.space:
        raise UsageError("--project and --space both say whose conversations are meant. Leave one out.")
    space = project_space(Path.cwd()) if call.args.project else call.space
    with mcp.StoreServer(call.store_address, space=space, writes=call.args.write) as server:
        if not call.args.http:
            server.run()
            return DONE
        import uvicorn  # noqa: PLC0415  # comes with the SDK

        from contextfold.listeners import HeadLimits, limited_http  # noqa: PLC0415  # around it

        host, port = call.args.host, call.args.port
        if host not in _LOOPBACK:
            raise BadConfiguration(f"The address {host} can be reached by others. Listen on 127.0.0.1.")
        token = os.environ.get("CONTEXTFOLD_MCP_TOKEN") or secrets.token_urlsafe(24)
        url = f"http://{host}:{port}/{token}/mcp"
        call.answer({"url": url, "store": str(call.store_path)}, lambda: call.out.line(url))
        sys.stdout.flush()
        application, limits = server.application(token, port), limited_http(HeadLimits())
        uvicorn.run(application, host=host, port=port, log_level="error", access_log=False, **limits)
    return DONE
