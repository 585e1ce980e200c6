"""A gateway as commands start it: where it listens, what it keeps in, what it logs, and where it can be found.

Every gateway that runs is noted in the user's state directory, for its owner alone, so that `contextfold top` finds it.
"""

from __future__ import annotations

import logging
import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from secrets import token_urlsafe
from socket import socket
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from contextfold.configuration import configure
from contextfold.errors import BadConfiguration
from contextfold.private import state_directory, write_private

from .base_urls import BASE_URLS
from .invocation import Invocation

if TYPE_CHECKING:  # its web server is an extra
    from contextfold.gateway import Gateway, GatewaySettings

MODES = ("observe", "fold", "strict")
LOGS = ("text", "json")
NOTED = "gateways"  # the directory, inside the user's state, in which running gateways are noted


class NotedGateway(msgspec.Struct, frozen=True):
    """Where a gateway listens: an address, or a socket file. Its token is the user's own and kept elsewhere."""

    where: str
    process: int
    store: str


class GatewayListener(Struct, frozen=True):
    """A gateway that is bound to its socket, and not yet serving."""

    gateway: Gateway
    settings: GatewaySettings
    socket: socket
    where: str
    token: str

    @property
    def url(self) -> str:
        """The base of every SDK's address."""
        return f"{self.where}/{self.token}"

    @property
    def variables(self) -> dict[str, str]:
        """What points clients here, by the names they read."""
        return {each.variable: f"{self.url}{each.ending}" for each in BASE_URLS}


def arguments(parser: ArgumentParser) -> None:
    """The options of every command that starts a gateway."""
    told = "observe: only record; fold (default): make it fit; strict: refuse what cannot be kept"
    parser.add_argument("--mode", choices=MODES, help=told)
    parser.add_argument("--log", choices=LOGS, help="write what happens to the error stream, never what was said")


def gateway_table(call: Invocation, said: Mapping[str, object]) -> Mapping[str, Any]:
    """The settings file's table as it is now, and what the command line says instead."""
    table = configure(file=call.args.config).gateway
    return {**table, **{name: value for name, value in said.items() if value is not None}}


@contextmanager
def listening(
    call: Invocation, said: Mapping[str, object], *, least: int | None = None, for_one_run: bool = False
) -> Iterator[GatewayListener]:
    """A gateway on its socket, noted where others look for it. `said` goes before what is set.

    With `for_one_run` its address holds a token that ends with it: whoever starts a command with the address, in its
    arguments even, shows the user's lasting token to nobody.
    From `least` on, what happens is told on the error stream though no log was asked for.
    """
    try:
        from contextfold import gateway  # noqa: PLC0415  # its web server is an extra
        from contextfold.gateway.app import Gateway  # noqa: PLC0415  # the same
        from contextfold.gateway.neighbours import Neighbours  # noqa: PLC0415  # the same
        from contextfold.gateway.server import bound  # noqa: PLC0415  # the same
    except ImportError as error:
        raise BadConfiguration("The gateway is not installed: pip install 'contextfold[gateway]'.") from error
    settings = gateway.gateway_settings(gateway_table(call, said))
    open_space = gateway.spaces_in(call.store_address, settings)
    open_space(
        call.settings["space"]
    ).close()  # what is wrong with the store is told now, not when requests pass unkept
    secrets = gateway.secrets_in(state_directory())
    if for_one_run:
        secrets = replace(secrets, run_token=token_urlsafe(24))
    found = bound(settings)
    port = 0 if settings.socket else int(found.getsockname()[1])
    path = call.store_path
    app = Gateway(settings, secrets, open_space, port=port, neighbours=Neighbours(call.store_address))
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    where = f"unix:{settings.socket}" if settings.socket else f"http://{host}:{port}"
    noted = state_directory() / NOTED / f"{os.getpid()}.json"
    noted.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(
        noted,
        msgspec.json.encode(NotedGateway(where, os.getpid(), str(path.resolve() if isinstance(path, Path) else path))),
    )
    try:
        with logs_written(call.args.log, least=least):
            yield GatewayListener(app, settings, found, where, secrets.run_token or secrets.token)
    finally:
        with suppress(OSError):
            noted.unlink()
        found.close()


# -- what is logged ---------------------------------------------------------------------------------------------------


class FactLines(logging.Formatter):
    """One JSON object a line: when, how grave, and the facts that were told as facts; no other words."""

    def format(self, record: logging.LogRecord) -> str:
        facts = getattr(record, "contextfold", None)
        told = facts if isinstance(facts, Mapping) else {"event": record.name}
        line = {"at": round(record.created, 3), "level": record.levelname.lower(), **told}
        return msgspec.json.encode(line, enc_hook=str).decode()


@contextmanager
def logs_written(how: str | None, *, least: int | None = None) -> Iterator[None]:
    """Have what happens written to the error stream for a while, as a person or a program reads it."""
    level = least if how is None else logging.INFO
    if level is None:
        yield
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FactLines() if how == "json" else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    top = logging.getLogger("contextfold")
    before = top.level, top.propagate
    top.addHandler(handler)
    top.setLevel(level)
    top.propagate = False
    try:
        yield
    finally:
        top.removeHandler(handler)
        top.setLevel(before[0])
        top.propagate = before[1]
