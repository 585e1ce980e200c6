"""Asks the inspector in this process as a browser would: the link, the cookie, then whatever a test wants to know."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import contextfold as cf
from contextfold.inspector import Access, Inspector, OpenStores

PORT = 8788
HOST = f"127.0.0.1:{PORT}"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        return str(self.json["error"]["message"])


@dataclass
class Visitor:
    """Somebody who opened the link; `headers` go with everything that is asked."""

    inspector: Inspector
    access: Access
    headers: dict[str, str] = field(default_factory=dict)

    async def come_in(self) -> Visitor:
        """Redeem a link, and learn the token of changes."""
        answer = await self.ask("GET", self.access.new_link())
        self.headers["cookie"] = answer.headers["set-cookie"].partition(";")[0]
        self.headers["x-contextfold-csrf"] = (await self.get("/about")).json["csrf"]
        return self

    async def get(self, path: str, **query: object) -> Answer:
        asked = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in query.items())
        return await self.ask("GET", f"/api/v1{path}?{asked}")

    async def post(self, path: str, **values: object) -> Answer:
        return await self.ask("POST", f"/api/v1{path}", json.dumps(values).encode())

    async def ask(self, method: str, target: str, body: bytes = b"", **headers: str | None) -> Answer:
        """Ask; a header that is None is left out."""
        given = {"host": HOST, **self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        path, _, query = target.partition("?")
        sent: list[Any] = []
        waiting = [{"type": "http.request", "body": body}]

        async def receive() -> Any:
            return waiting.pop() if waiting else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in given.items() if value is not None],
        }
        await asyncio.wait_for(self.inspector(scope, receive, send), 60)
        found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], found, b"".join(part.get("body", b"") for part in sent[1:]))


def inspector_of(path: Path, *, read_only: bool = False, **options: Any) -> Visitor:
    """An inspector of a store that nobody has opened the link of."""
    access = Access(port=PORT)

    def open_session(store: cf.Store, name: str) -> cf.Session:
        return cf.Session.on(store, name, window=WINDOW)

    stores = OpenStores(
        lambda space: cf.open(path, space=space, read_only=read_only),
        label=path.name,
        open_session=open_session,
        read_only=read_only,
    )
    return Visitor(Inspector(stores, access, **options), access)


WINDOW = 12_000


def make_store(path: Path) -> None:
    """A session that folded, with a pin, a checkpoint and a rewind; its fork; a short one in another space."""
    from contextfold.testing import SYSTEM, session, tools  # noqa: PLC0415  # what the test extra brings

    with cf.open(path) as store:
        held = cf.Session.on(store, "shop/refunds", "claude-sonnet-5-5", window=WINDOW)
        for message in session(1, tokens=20_000, language="en"):
            if message["role"] == "assistant":
                request = held.prepare(system=SYSTEM, tools=tools())
                counted = request.report.after
                usage = {"input_tokens": 50, "cache_read_input_tokens": counted - 50, "output_tokens": 20}
                held.append({**message, "type": "message", "stop_reason": "end_turn", "usage": usage})
            else:
                held.append(message)
        held.thread.pin(1)
        held.checkpoint("before the rewrite")
        held.append({"role": "user", "content": "Try a queue."})
        held.rewind(before=held.thread.view.head)
        held.fork(name="shop/refunds/try")
        held.close()
    with cf.open(path, space="other") as store:
        store.thread("elsewhere").append({"role": "user", "content": "another tenant's words"})
