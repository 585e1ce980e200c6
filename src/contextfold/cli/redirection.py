"""How `wrap` leads a command through the gateway to where its requests go without it.

`wrap` overwrites what a command reads its provider's address from. What stood there before becomes an upstream, so that
requests go on to the same place. For a program that is not known nothing is guessed: its user says it, by `--to`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from urllib.parse import urlsplit

from msgspec import Struct

from contextfold.errors import BadConfiguration

from .arguments import UsageError
from .base_urls import BY_VARIABLE, PROVIDERS, BaseUrl
from .client_settings import (
    CommandContext,
    refuse_codex_settings,
    refuse_opencode_settings,
    refuse_variables_in_files,
)

# The variables that known clients read, a provider in a row; of two the first goes before the second. LiteLLM's order
# is that of `litellm/main.py`, releases 1.75 to 1.109. Codex and opencode are told in other ways.
_LITELLM = (("OPENAI_BASE_URL", "OPENAI_API_BASE"), ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"))
_READ_BY: Mapping[str, Sequence[Sequence[str]]] = {
    "claude": (("ANTHROPIC_BASE_URL",),),
    "gemini": (("GOOGLE_GEMINI_BASE_URL",),),
    "llm": (("ANTHROPIC_BASE_URL",), ("OPENAI_BASE_URL",)),
    "aider": _LITELLM,
    "mini": _LITELLM,
    "codex": (),
    "opencode": (),
}
_READ_BY_OTHERS = (
    ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"),
    ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    ("GOOGLE_GEMINI_BASE_URL",),
)
# Providers as opencode calls them, with the ends of their addresses, and the variable that its SDK reads besides.
_OPENCODE = (
    ("anthropic", BaseUrl(clients="opencode", variable="", provider="anthropic", ending="/v1"), "ANTHROPIC_BASE_URL"),
    ("openai", BaseUrl(clients="opencode", variable="", provider="openai", ending="/v1"), "OPENAI_BASE_URL"),
    ("google", BaseUrl(clients="opencode", variable="", provider="gemini", ending="/v1beta"), ""),
)


class Redirection(Struct, frozen=True, kw_only=True):
    """How a command is led through the gateway: paths there, and the upstreams to which they lead."""

    variables: Mapping[str, str]
    codex: str | None  # the path that Codex is told as an argument
    opencode: Mapping[str, str]  # the paths that opencode is told, by provider
    upstreams: Mapping[str, str]


def destinations(words: Sequence[str]) -> dict[str, str]:
    """What the user says of providers, `NAME` or `NAME=ADDRESS`, by name."""
    to: dict[str, str] = {}
    for word in words:
        name, equals, address = word.partition("=")
        if name not in PROVIDERS:
            raise UsageError(f"There is no provider {name!r} for --to. Use one of: {', '.join(PROVIDERS)}.")
        if equals and not address:
            raise UsageError(f"There is no address behind --to {name}=. Give one, or leave out the sign.")
        to[name] = address
    return to


def redirection(command: Sequence[str], given: CommandContext) -> Redirection:
    """How to lead a command through the gateway to where its requests go now; raises where that cannot be told."""
    client = known_client(command)
    routes = _Routes(given.usual)
    variables: dict[str, str] = {}
    for names in _READ_BY[client] if client else _READ_BY_OTHERS:
        provider = BY_VARIABLE[names[0]].provider
        for name in _overwritten(client, names, given):
            where = BY_VARIABLE[name]
            source, address = name, given.environ.get(name, "")
            if provider in given.to:
                source, address = f"--to {provider}", given.to[provider]
            variables[name] = routes.path(provider, address, where, source)
    codex = _codex(routes, given) if client == "codex" else None
    opencode = _opencode(routes, command[1:], given) if client == "opencode" else {}
    if not client and not variables:
        raise BadConfiguration(
            f"How {command[0]} finds its provider is not known, and no variable says it, so nothing was started. Say "
            "where its requests go: --to openai, --to anthropic or --to gemini; with =ADDRESS for a server of your own."
        )
    if unused := sorted(set(given.to) - routes.providers):
        raise UsageError(f"{client} does not read an address for {', '.join(unused)} here. Leave out --to {unused[0]}.")
    return Redirection(variables=variables, codex=codex, opencode=opencode, upstreams=routes.upstreams)


def known_client(command: Sequence[str]) -> str:
    """The known client that a command runs; empty for another program, a launcher of a known one included."""
    name = re.sub(r"\.(?:exe|cmd)$", "", PurePath(command[0]).name)
    return name if name in _READ_BY else ""


def _overwritten(client: str, names: Sequence[str], given: CommandContext) -> Sequence[str]:
    """Which of the variables for one provider are overwritten: what the user says goes first, then what is set."""
    provider = BY_VARIABLE[names[0]].provider
    is_set = [name for name in names if given.environ.get(name)]
    if provider in given.to:
        return names
    if is_set or given.to:
        return is_set
    if not client:
        return names if provider in given.settled else ()
    refuse_variables_in_files(client, names, given)
    return names[-1:]  # what it reads last: its own settings go before it


def _codex(routes: _Routes, given: CommandContext) -> str:
    where = BY_VARIABLE["OPENAI_BASE_URL"]
    if where.provider not in given.to:
        refuse_codex_settings(given)
    return routes.path(where.provider, given.to.get(where.provider, ""), where, f"--to {where.provider}")


def _opencode(routes: _Routes, arguments: Sequence[str], given: CommandContext) -> dict[str, str]:
    """The paths that opencode is told; none where its user tells it settings in the same way."""
    if given.environ.get("OPENCODE_CONFIG_CONTENT"):
        return {}
    if not given.to:
        refuse_opencode_settings(arguments, given)
    paths: dict[str, str] = {}
    for name, where, variable in _OPENCODE:
        source, address = f"--to {where.provider}", given.to.get(where.provider, "")
        if where.provider not in given.to and given.to:
            continue
        if not given.to and variable:
            source, address = variable, given.environ.get(variable, "")
            if not address:
                refuse_variables_in_files("opencode", (variable,), given)
        paths[name] = routes.path(where.provider, address, where, source)
    return paths


class _Routes:
    """Upstreams by name: one for each address, named after its provider."""

    def __init__(self, usual: Mapping[str, str]) -> None:
        self.upstreams: dict[str, str] = {}
        self.providers: set[str] = set()
        self._usual = usual

    def path(self, provider: str, base_url: str, where: BaseUrl, source: str) -> str:
        """The path at the gateway that leads to a base URL; without one, to where the provider usually is."""
        address, ending = self._usual[provider], where.ending
        if base_url:
            address = _checked(base_url, source).rstrip("/").removesuffix(where.request)
            ending = ending if address.endswith(ending) else ""
            address = address.removesuffix(ending)
        name, number = provider, 1
        while self.upstreams.setdefault(name, address) != address:
            number += 1
            name = f"{provider}-{number}"
        self.providers.add(provider)
        return f"/{name}{ending}"


def _checked(address: str, source: str) -> str:
    """An address to which requests can be sent. It is not repeated in an error: it may hold a password."""
    try:
        parts = urlsplit(address)
        is_sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        is_bare = parts.username is None and not parts.query and not parts.fragment
    except ValueError:
        is_sound = is_bare = False
    if not is_sound or not is_bare:
        raise BadConfiguration(
            f"{source} is no address to which requests can be sent. It begins with http:// or https:// and has no "
            "user, password or query."
        )
    return address
