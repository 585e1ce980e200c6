"""Files from which an agent may take a provider's address, though no variable says it.

What such a file names goes before what `wrap` tells the agent, or gives way to it: that is the agent's business and
changes from release to release. So a file that names another address is a reason to refuse, and nothing is guessed: a
wrong guess sends prompts and keys that were meant for a server of one's own to a public provider.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from contextfold.errors import BadConfiguration

from .base_urls import BY_VARIABLE, PROVIDERS

_MOST_BYTES = 1 << 20  # of a file that is looked at
_PROFILED = re.compile(r'"base_url"\s*:\s*"([^"]+)"')


class CommandContext(Struct, frozen=True, kw_only=True):
    """What a command finds where it is run, and what its user says about it."""

    environ: Mapping[str, str]
    folder: Path
    home: Path
    program: Path  # the file that is run
    usual: Mapping[str, str]  # the address of each provider where nothing else is said
    settled: frozenset[str] = frozenset()  # providers whose usual address the user set
    to: Mapping[str, str] = {}  # addresses by provider, as the user said; empty for the usual one


def refuse_variables_in_files(client: str, names: Sequence[str], given: CommandContext) -> None:
    """Refuse where a file of variables names another address than the usual one.

    The agent, a library of its or a program that it starts may load that file, and leaves out what is set already.
    """
    assigned = re.compile(rf"(?m)^\s*(?:export\s+)?(?:{'|'.join(names)})[ \t]*[=:][ \t]*[\"'`]?\s*([^\s\"'`#]+)")
    where = BY_VARIABLE[names[-1]]
    for file in _variable_files(given):
        _refuse_addresses(client, file, assigned, where.provider, given)
    if where.provider == BY_VARIABLE["ANTHROPIC_BASE_URL"].provider:
        for file in _profiles(given):
            _refuse_addresses(client, file, _PROFILED, where.provider, given)


def _refuse_addresses(client: str, file: Path, pattern: re.Pattern[str], provider: str, given: CommandContext) -> None:
    text = _text(file)
    usual = given.usual[provider]
    named = {address.rstrip("/") for address in pattern.findall(text or "")}
    if text is None or not named <= {usual, f"{usual}/v1"}:
        raise _cannot_tell(client, file, (provider,))


def refuse_codex_settings(given: CommandContext) -> None:
    """Refuse where Codex may have another address than its provider's usual one, or a login that goes elsewhere.

    Profiles, the machine's settings and, in some releases, a variable name one; a login with ChatGPT has its own.
    """
    home = Path(given.environ.get("CODEX_HOME") or given.home / ".codex")
    for file in (*_matching(home, "*.toml"), *_matching(Path("/etc/codex"), "*.toml")):
        if (text := _text(file)) is None or "openai_base_url" in text:
            raise _cannot_tell("Codex", file, ("openai",))
    login = home / "auth.json"
    try:
        kept = msgspec.json.decode(_text(login) or "{}")
    except (msgspec.DecodeError, RecursionError):
        kept = None
    has_key = isinstance(kept, dict) and bool(kept.get("OPENAI_API_KEY")) and kept.get("auth_mode") in (None, "apikey")
    if not has_key and (kept != {} or not given.environ.get("CODEX_API_KEY")):
        raise _cannot_tell("Codex", login, ("openai",))
    if given.environ.get("OPENAI_BASE_URL"):
        raise _cannot_tell("Codex", Path("OPENAI_BASE_URL"), ("openai",))


def refuse_opencode_settings(arguments: Sequence[str], given: CommandContext) -> None:
    """Refuse where settings of opencode name any address: which file wins depends on too much."""
    config = Path(given.environ.get("XDG_CONFIG_HOME") or given.home / ".config") / "opencode"
    named = (given.environ.get("OPENCODE_CONFIG_DIR"), *arguments)
    folders = [config, given.home / ".opencode", *map(Path, filter(None, named))]
    folders += [each for folder in (given.folder, *given.folder.parents) for each in (folder, folder / ".opencode")]
    files = [folder / file for folder in folders for file in ("opencode.json", "opencode.jsonc")]
    files += [config / "config.json", *map(Path, filter(None, [given.environ.get("OPENCODE_CONFIG")]))]
    for file in files:
        if (text := _text(file)) is None or "baseURL" in text or '"api"' in text:
            raise _cannot_tell("opencode", file, PROVIDERS)


def _cannot_tell(client: str, source: Path, providers: Sequence[str]) -> BadConfiguration:
    said = " or ".join(f"--to {provider}" for provider in providers)
    return BadConfiguration(
        f"Where {client} sends its requests cannot be told because of {source}, so nothing was started. "
        f"Say it with {said}; with =ADDRESS for a server of your own."
    )


def _variable_files(given: CommandContext) -> Iterator[Path]:
    environ = given.environ
    config = Path(environ.get("XDG_CONFIG_HOME") or given.home / ".config")
    mini = environ.get("MSWEA_GLOBAL_CONFIG_DIR") or config / "mini-swe-agent"
    # LiteLLM loads the first file above the place where it is installed.
    folders = (given.folder, *given.folder.parents, given.home, *given.program.parents, Path(mini))
    for folder in dict.fromkeys((*folders, *map(Path, filter(None, [environ.get("GEMINI_CLI_HOME")])))):
        yield from (folder / ".env", folder / ".env.local", folder / ".gemini" / ".env")
    yield given.home / "Library" / "Application Support" / "mini-swe-agent" / ".env"


def _profiles(given: CommandContext) -> Iterator[Path]:
    """Profiles of the Anthropic SDK."""
    environ = given.environ
    folders = [given.home / ".config" / "anthropic", Path(environ.get("APPDATA", "")) / "Anthropic"]
    for folder in (*folders, *map(Path, filter(None, [environ.get("ANTHROPIC_CONFIG_DIR")]))):
        yield from _matching(folder / "configs", "*.json")


def _matching(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


def _text(path: Path) -> str | None:
    """What stands in a file; nothing where none can be read; None for what may say more than is read."""
    try:
        if path.is_fifo() or path.is_socket():
            return None
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError:
        return ""
    return None if len(content) > _MOST_BYTES else content.decode("utf-8-sig", "replace").replace("\r", "\n")
