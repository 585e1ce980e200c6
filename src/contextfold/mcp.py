"""An MCP server over a store: what was said is found again by any client of the Model Context Protocol.

Read-only unless told otherwise: the store is opened so that nothing can be written. Over stdio it belongs to whoever
started it; over HTTP it asks for a token, a Host it serves, and no web page's Origin. Works with the SDK's releases 1
and 2. Nothing here decides what to fold.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Self

from contextfold.domain import Message, ToolCall, ToolResult, ViewMessage, encode
from contextfold.errors import ContextFoldError, MissingExtra
from contextfold.gateway.door import Door, TurnedAway
from contextfold.recall import headline
from contextfold.session import Session
from contextfold.store import Store
from contextfold.store import open as open_store

try:
    from mcp.server import MCPServer as _Server
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError:  # the names of the SDK's first release
    try:
        from mcp.server.fastmcp import FastMCP as _Server  # type: ignore[attr-defined, no-redef]
        from mcp.server.fastmcp.exceptions import ToolError  # type: ignore[import-not-found, no-redef]
    except ModuleNotFoundError as error:
        raise MissingExtra("MCP SDK", "mcp") from error

INSTRUCTIONS = (
    "Conversations that were kept whole, though their models saw only part of them. Find something by `recall`; see "
    "what there is by `threads` and `timeline`; read what a fold hides by `unfold`."
)
MOST_TOKENS = 20_000  # of one answer
MOST_ROWS = 200
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class StoreTools:
    """What a client may ask of a store; each method is a tool, and its docstring is what the model reads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def recall(self, question: str, thread: str = "", budget: int = 2_000) -> str:
        """Find passages that answer a question, in one thread or (without one) in all, folded away or not."""
        most = min(max(budget, 100), MOST_TOKENS)
        found = self._store.recall(question, thread or None, budget=most, everywhere=not thread)
        passages = [f"[{headline(each, thread=not thread)}]\n{each.text}" for each in found if each.score > 0]
        return "\n\n".join(passages) or "Nothing was found. Try other words, or another thread."

    def threads(self, prefix: str = "", limit: int = 20) -> str:
        """List threads, those used last first: name, last activity, messages, folds, model."""
        rows = self._store.threads(order="activity", limit=min(limit, MOST_ROWS), prefix=prefix, archived=False)
        listed = (
            f"{row.title}: {_when(row.at)}, {row.messages} messages, {row.folds} folds, {row.model}" for row in rows
        )
        return "\n".join(listed) or "There are no threads."

    def timeline(self, thread: str, after: int = 0, limit: int = 50) -> str:
        """What happened in a thread, oldest first, a page at a time: seq, kind, speaker, whether a model sees it."""
        rows = self._thread(thread).rows(after=after, limit=min(limit, MOST_ROWS))
        lines = [
            " · ".join(
                str(part)
                for part in (
                    row.seq,
                    _when(row.at),
                    row.kind,
                    row.role,
                    row.state,
                    f"fold {row.fold}" if row.fold else "",
                )
                if part
            )
            for row in rows
        ]
        more = (
            [f"More: timeline(thread={thread!r}, after={rows[-1].seq})"] if len(rows) == min(limit, MOST_ROWS) else []
        )
        return "\n".join([*lines, *more]) or "Nothing happened after that."

    def unfold(self, thread: str, fold: int) -> str:
        """Read what a fold hides, as it was said. The model of that thread goes on seeing the fold."""
        return _told(self._session(thread).recall(fold=fold))

    def take_back(self, thread: str, fold: int) -> str:
        """Take a fold back: from its next request on, the model of that thread sees what was hidden."""
        made = self._session(thread).unfold(fold, make_room=True)
        return f"Fold {fold} is taken back." + (f" To make room, folds {list(made)} were made." if made else "")

    def view(self, thread: str) -> str:
        """What the model of a thread sees now."""
        return _told(self._session(thread).view.messages)

    def all_threads(self) -> str:
        """The threads that were used last."""
        return self.threads(limit=MOST_ROWS)

    def _thread(self, name: str) -> Any:
        if name not in self._store:
            raise ToolError(f"There is no thread {name!r}. See `threads`.")
        return self._store.thread(name)

    def _session(self, name: str) -> Session:
        self._thread(name)
        return Session.on(self._store, name)


class StoreServer:
    """The server over a store, open until the `with` ends. With `writes`, folds can be taken back."""

    def __init__(self, path: str | os.PathLike[str], *, space: str = "default", writes: bool = False) -> None:
        self._store = open_store(path, space=space, read_only=not writes)
        self.protocol: Any = _Server("contextfold", instructions=INSTRUCTIONS, log_level="ERROR")
        tools = StoreTools(self._store)
        offered: list[Callable[..., str]] = [
            tools.recall,
            tools.threads,
            tools.timeline,
            tools.unfold,
            *([tools.take_back] if writes else []),
        ]
        for tool in offered:
            self.protocol.tool(structured_output=False)(_telling(tool))
        self.protocol.resource("contextfold://threads", mime_type="text/plain")(_telling(tools.all_threads))
        self.protocol.resource("contextfold://thread/{thread}", mime_type="text/plain")(_telling(tools.view))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def run(self) -> None:
        """Serve whoever started this process, over its standard input and output."""
        self.protocol.run("stdio")

    def application(self, token: str, port: int = 0) -> GuardedApp:
        """An ASGI application at /mcp; the token stands first in the path, or in a header."""
        return GuardedApp(self.protocol.streamable_http_app(), Door(token, port=port))


def _telling(method: Callable[..., str]) -> Callable[..., str]:
    """The method, with our errors as a client's model is told of them."""

    @wraps(method)
    def told(*args: Any, **kwargs: Any) -> str:
        try:
            return method(*args, **kwargs)
        except ContextFoldError as error:
            raise ToolError(str(error)) from error

    return told


def _told(messages: Iterable[Message | ViewMessage]) -> str:
    return "\n\n".join(f"{message.role}:\n{_words(message)}" for message in messages)


def _words(message: Message | ViewMessage) -> str:
    lines = [message.text] if message.text else []
    lines += [f"[calls {call.name} {call.arguments}]" for call in message.blocks if isinstance(call, ToolCall)]
    for result in message.blocks:
        if isinstance(result, ToolResult):
            lines.append("\n".join(getattr(block, "text", "") or "[not text]" for block in result.blocks))
    return "\n".join(lines)


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M") if at > 0 else ""


# -- over HTTP --------------------------------------------------------------------------------------------------------


class GuardedApp:
    """An ASGI application behind a door: token, Host and Origin are looked at before the protocol is."""

    def __init__(self, inner: Callable[[Scope, Receive, Send], Awaitable[None]], door: Door) -> None:
        self._inner, self._door = inner, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        visit = self._door.admit(scope)
        if isinstance(visit, TurnedAway):
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": visit.status, "headers": headers})
            await send({"type": "http.response.body", "body": encode({"error": visit.reason})})
            return
        inside = {**scope, "path": visit.path.decode("latin-1"), "raw_path": visit.path}
        await self._inner(inside, receive, send)
