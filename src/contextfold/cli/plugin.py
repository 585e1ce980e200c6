"""Write a plugin for an agent: it finds what was said before, and makes up for what the agent's compaction leaves out.

For Claude Code: an MCP server for recall; hooks that keep the transcript, tell a compaction what to keep and hand over
a digest after it; and a status line with the window's fill. Nothing is sent anywhere. Needs `contextfold[mcp]`.

Examples:
  contextfold plugin claude-code
  contextfold plugin claude-code --install --store ~/.claude/contextfold.db
  claude --plugin-dir ./contextfold-plugin
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Collection, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

import contextfold as cf
from contextfold.domain import Folded, decode, encode
from contextfold.errors import BadConfiguration, ContextFoldError
from contextfold.private import state_directory, write_private
from contextfold.shell import option, quoted

from .commands import DONE
from .invocation import Invocation
from .main import main
from .projects import project_space

NAME = "contextfold"
HOOKS = {"PreCompact": "*", "PostCompact": "*", "SessionStart": "compact"}
DIGEST_TOKENS = 3_000
_MODEL = "claude-sonnet-5-5"  # whose tokens a digest is counted in, where nobody says
_BARS = 10
KEEP = (
    "Keep the user's own instructions word for word, decisions with their reasons, names, paths, numbers, and what "
    "is still to do. The whole conversation stays in contextfold: say that details can be found with its recall tool."
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("agent", choices=["claude-code"], help="the agent: claude-code")
    parser.add_argument(
        "-o", "--output", default="contextfold-plugin", help="where to write it (default: ./contextfold-plugin)"
    )
    parser.add_argument("--install", action="store_true", help="put it where the agent finds it, for you alone")
    told = "what the agent's hook says on standard input (used by the plugin itself)"
    parser.add_argument("--answer", choices=["hook", "status"], help=told)


def run(call: Invocation) -> int:
    if call.args.answer is not None:
        given = decode(sys.stdin.buffer.read() or b"{}")
        told = _hook(call, given) if call.args.answer == "hook" else status_line(given)
        sys.stdout.write(told)
        return DONE
    directory = state_directory() / "claude-code" if call.args.install else Path(call.args.output)
    # A file wherever the agent is started; a server's address as it is.
    store = str(call.store_path.absolute()) if isinstance(call.store_path, Path) else call.store_path
    _refuse_expanded(store)
    with call.store(create=True):  # the agent starts the MCP server before there is anything to keep
        pass
    written = write_plugin(directory, store)
    if call.args.install:
        _install(directory)
    # What goes into the agent's own settings: a plugin cannot bring a status line.
    settings = {"statusLine": {"type": "command", "command": f"{_command(store)} --answer status"}}
    if not call.is_told_as_json({"plugin": str(directory), "files": written, "settings": settings}):
        call.out.line(str(directory))
        call.out.line(call.say("plugin.status"))
        call.out.line(encode(settings).decode(), indent=2)
    return DONE


# -- what is written --------------------------------------------------------------------------------------------------


def write_plugin(directory: Path, store: str) -> list[str]:
    """Write the files of the plugin, for their owner alone; their names."""
    # With 2, which is what a settings file that cannot be read ends with, a hook would stop its agent.
    hook = {"type": "command", "command": f"{_command(store)} --answer hook || exit 1", "timeout": 60}
    hooks = {event: [{"matcher": matcher, "hooks": [hook]}] for event, matcher in HOOKS.items()}
    about = "Finds what was said before, and hands over a digest when Claude Code compacts."
    owner = {"name": "The contextfold authors"}
    server = {"command": NAME, "args": ["mcp", "--project", f"--store={store}"], "alwaysLoad": True}
    listed = {"name": NAME, "source": "./", "description": about}
    files: dict[str, object] = {
        ".claude-plugin/plugin.json": {"name": NAME, "version": cf.__version__, "description": about, "author": owner},
        ".claude-plugin/marketplace.json": {"name": NAME, "owner": owner, "description": about, "plugins": [listed]},
        ".mcp.json": {"mcpServers": {NAME: server}},
        "hooks/hooks.json": {"hooks": hooks},
    }
    _refuse_others(directory, files)
    for name, value in files.items():
        path = directory / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, encode(value))
    return list(files)


def _refuse_expanded(store: str) -> None:
    """Refuse a store that the agent would read otherwise than it is written: it puts variables in place of ${NAME}."""
    try:
        store.encode()
    except UnicodeEncodeError:
        raise BadConfiguration("The store's path is no UTF-8, which a plugin cannot hold. Name another.") from None
    if "${" in store:
        raise BadConfiguration(
            "The store's path holds a dollar sign before a brace: a variable to the agent. Name another."
        )


def _refuse_others(directory: Path, ours: Collection[str]) -> None:
    """Refuse a directory in which something else lies: links lead elsewhere, and the agent would run what it finds."""
    known = {directory / name for name in ours}
    known |= {parent for path in known for parent in path.parents}
    for path in chain((directory,), directory.rglob("*")) if os.path.lexists(directory) else ():
        if path not in known or path.is_symlink() or path.is_dir() == (path.relative_to(directory).as_posix() in ours):
            raise BadConfiguration(
                f"{path} is no part of the plugin, and the agent would use what lies there. Write it elsewhere, by "
                "--output."
            )


def _command(store: str) -> str:
    return f"{NAME} plugin claude-code --quiet {option('--store', store)}"


def _install(directory: Path) -> None:
    claude = shutil.which("claude")
    if claude is None:
        raise BadConfiguration(
            f"There is no `claude` on PATH. The plugin is in {directory}: claude --plugin-dir {quoted(directory)}"
        )
    for arguments in (["marketplace", "add", str(directory)], ["install", f"{NAME}@{NAME}"]):
        done = subprocess.run([claude, "plugin", *arguments], capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise BadConfiguration(f"`claude plugin {arguments[0]}` failed: {(done.stderr or done.stdout).strip()}")


# -- what the plugin asks ---------------------------------------------------------------------------------------------


def _hook(call: Invocation, given: Mapping[str, Any]) -> str:
    """Keep the transcript, and say what the agent wants to hear at this moment."""
    event, thread = given.get("hook_event_name"), str(given.get("session_id") or "claude-code")
    path = Path(str(given.get("transcript_path") or ""))
    # Where the agent was started, which it tells its hooks; its working directory changes.
    space = project_space(os.environ.get("CLAUDE_PROJECT_DIR") or str(given.get("cwd") or Path.cwd()))
    try:
        kept = False
        if path.is_file():  # only what is new is written, the agent's own compaction among it
            place = [f"--store={call.store_address}", f"--space={space}"]
            with redirect_stdout(StringIO()):
                kept = main(["import", f"--as={thread}", *place, "--quiet", "--", str(path)]) == DONE
        if event == "PreCompact":
            return KEEP
        if event == "SessionStart" and kept:
            with cf.open(call.store_address, space=space) as store:
                found = digest([message.raw for message in store.thread(thread).view.messages])
            said = f"From contextfold, which keeps this whole conversation as thread {thread!r}:\n\n{found}"
            told = {"hookEventName": event, "additionalContext": said}
            return encode({"hookSpecificOutput": told}).decode()
    except (ContextFoldError, OSError) as error:
        sys.stderr.write(f"contextfold: {error}\n")  # a hook that fails must not stop its agent
    return ""


def digest(messages: Sequence[bytes], model: str = _MODEL) -> str:
    """What a fold of all these messages would say in their place; nothing where they are short."""
    with cf.Session.open(model=model) as session:
        session.follow(messages)
        session.fold(to=DIGEST_TOKENS)
        folds = [entry for entry in session.thread.events if isinstance(entry.event, Folded)]
        said = [session.thread.lens.stand_in(entry.seq).text for entry in folds]
    return "\n\n".join(text for text in said if text)


def status_line(given: Mapping[str, Any]) -> str:
    """The fill of the window, and what was paid, in one line."""
    window, cost = given.get("context_window") or {}, (given.get("cost") or {}).get("total_cost_usd")
    share = window.get("used_percentage")
    if share is None and window.get("context_window_size"):
        share = 100 * (window.get("total_input_tokens") or 0) / window["context_window_size"]
    filled = round(_BARS * min(float(share or 0), 100) / 100)
    parts = [f"{'█' * filled}{'░' * (_BARS - filled)} {float(share or 0):.0f} %"]
    parts += [f"${cost:.2f}"] if isinstance(cost, int | float) else []
    parts += [str((given.get("model") or {}).get("display_name") or "")]
    return " · ".join(part for part in parts if part)
