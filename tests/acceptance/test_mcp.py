"""A store as MCP clients see it: over stdio, over HTTP behind a door, and never written to."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf

pytest.importorskip("mcp", reason="The MCP SDK is not installed: pip install 'contextfold[mcp]'.")
httpx = pytest.importorskip("httpx")

from mcp import Client, StdioServerParameters  # noqa: E402
from mcp.client.stdio import stdio_client  # noqa: E402

from contextfold.mcp import StoreServer  # noqa: E402

TOKEN = "a-token-of-this-test"  # noqa: S105  # nobody's
CALL = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "settings.toml"}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "port = 8443"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with two threads; in one of them the port is folded away by fold 5."""
    file = tmp_path / "agent.db"
    with cf.open(file) as store:
        thread = store.thread("deploy", model="claude-sonnet-5-5")
        thread.append({"role": "user", "content": "Which port do we deploy on?"})
        thread.append({"role": "assistant", "content": [CALL]})
        thread.append({"role": "user", "content": [RESULT]})
        thread.append({"role": "assistant", "content": "On 8443."})
        assert thread.fold([1, 2, 3, 4], "A port was agreed on.") == 5
        store.thread("other", model="gpt-4.1").append({"role": "user", "content": "Write a poem about herons."})
    return file


def said(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


@asynccontextmanager
async def client(path: Path, *, writes: bool = False) -> AsyncIterator[Client]:
    with StoreServer(path, writes=writes) as server:
        async with Client(server.protocol) as opened:
            yield opened


async def test_a_client_finds_what_was_said_though_it_is_folded_away(path: Path) -> None:
    async with client(path) as asked:
        found = said(await asked.call_tool("recall", {"question": "which port?", "thread": "deploy"}))
        assert "8443" in found
        assert "fold 5" in found
        everywhere = said(await asked.call_tool("recall", {"question": "herons"}))
        assert "other" in everywhere
        assert "Nothing was found" in said(await asked.call_tool("recall", {"question": "zzzzqqqq", "thread": "other"}))


async def test_a_client_sees_threads_what_happened_in_them_and_what_a_fold_hides(path: Path) -> None:
    async with client(path) as asked:
        listed = said(await asked.call_tool("threads", {}))
        assert "deploy" in listed
        assert "4 messages, 1 folds, claude-sonnet-5-5" in listed
        assert "other" not in said(await asked.call_tool("threads", {"prefix": "dep"}))
        page = said(await asked.call_tool("timeline", {"thread": "deploy", "limit": 2}))
        assert "appended · user · folded · fold 5" in page
        assert "after=2" in page
        assert "Nothing happened" in said(await asked.call_tool("timeline", {"thread": "deploy", "after": 99}))
        hidden = said(await asked.call_tool("unfold", {"thread": "deploy", "fold": 5}))
        assert "[calls read" in hidden
        assert "port = 8443" in hidden


async def test_threads_are_resources(path: Path) -> None:
    async with client(path) as asked:
        seen = (await asked.read_resource("contextfold://thread/deploy")).contents[0]
        assert "A port was agreed on." in str(seen)
        assert "deploy" in str((await asked.read_resource("contextfold://threads")).contents[0])


async def test_what_does_not_exist_is_told_to_the_model(path: Path) -> None:
    async with client(path) as asked:
        for name, given in (("timeline", {"thread": "nobody"}), ("unfold", {"thread": "deploy", "fold": 1})):
            answer = await asked.call_tool(name, given)
            assert answer.is_error
            assert "Traceback" not in said(answer)


async def test_nothing_can_be_written_unless_it_is_allowed(path: Path) -> None:
    async with client(path) as asked:
        assert {tool.name for tool in (await asked.list_tools()).tools} == {"recall", "threads", "timeline", "unfold"}
    async with client(path, writes=True) as asked:
        assert "taken back" in said(await asked.call_tool("take_back", {"thread": "deploy", "fold": 5}))
        assert "8443" in str((await asked.read_resource("contextfold://thread/deploy")).contents[0])
    with cf.open(path) as store:
        assert store.verify() == []


async def test_the_command_serves_whoever_started_it(path: Path) -> None:
    given = ["-m", "contextfold", "mcp", "--store", str(path)]
    started = StdioServerParameters(command=sys.executable, args=given, env={"PYTHONPATH": ":".join(sys.path)})
    async with Client(stdio_client(started)) as asked:
        assert "8443" in said(await asked.call_tool("recall", {"question": "which port?"}))


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
WANTED = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.mark.parametrize(
    ("url", "headers", "status"),
    [
        (f"/{TOKEN}/mcp", {}, 200),
        ("/mcp", {"x-contextfold-token": TOKEN}, 200),
        ("/mcp", {}, 401),
        ("/wrong/mcp", {}, 401),
        (f"/{TOKEN}/mcp", {"origin": "https://evil.example"}, 403),
        (f"/{TOKEN}/mcp", {"host": "evil.example"}, 421),
    ],
)
async def test_over_http_token_host_and_origin_are_looked_at_first(
    path: Path, url: str, headers: dict[str, str], status: int
) -> None:
    with StoreServer(path) as server:
        application = server.application(TOKEN)
        async with server.protocol.session_manager.run():
            transport = httpx.ASGITransport(application)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8790") as sender:
                answer = await sender.post(url, json=HELLO, headers={**WANTED, **headers})
    assert answer.status_code == status
    assert TOKEN not in answer.text


def test_the_server_needs_nothing_of_the_gateways_own_extra() -> None:
    without = "import sys; sys.modules['aiohttp'] = None; import contextfold.mcp"
    done = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
