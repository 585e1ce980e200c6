"""Two gateways over one PostgreSQL, as people start them: a conversation goes on through either; the page lists it."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import OpenerDirector

import anthropic

import contextfold as cf
from contextfold.gateway.door import Visit
from contextfold.gateway.tenants import GatewaySecrets, secrets_in, space_of
from tests.acceptance.gateway.house import said
from tests.acceptance.gateway.plain_upstream import Answer, plain_upstream
from tests.acceptance.inspector.test_inspector_commands import browser, read, started

KEY = "sk-of-a-tenant"
MODEL = "claude-sonnet-5-5"


def answer(text: str) -> Answer:
    body: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "stop_reason": "end_turn",
    }
    body |= {"content": [{"type": "text", "text": text}], "usage": {"input_tokens": 9, "output_tokens": 3}}
    return Answer([json.dumps(body).encode()])


def test_a_conversation_goes_on_through_either_of_two_gateways_and_the_page_shows_it(
    postgres_store: str, tmp_path: Path
) -> None:
    settings = tmp_path / "contextfold.toml"
    command = ("serve", "--port", "0", "--store", postgres_store, "--config", str(settings))
    with plain_upstream() as upstream, ExitStack() as running:
        settings.write_text(f'[gateway.upstreams]\nanthropic = "{upstream.url}"\n')
        gateways = [running.enter_context(started(tmp_path, *command)) for _ in range(2)]
        space = space_of(Visit("POST", b"/", b"", ((b"x-api-key", KEY.encode()),)), _tenant_key(tmp_path))
        page, opener = gateways[0]["inspector"], browser()
        read(opener, page)
        listing = f"{page.partition('/launch')[0]}/api/v1/threads?space={quote(space)}"
        spoken: list[Any] = []
        for number in range(3):
            upstream.answer(answer(f"answer {number}"))
            spoken.append({"role": "user", "content": f"question {number}"})
            told = gateways[number % 2]
            with anthropic.Anthropic(api_key=KEY, base_url=told["variables"]["ANTHROPIC_BASE_URL"]) as client:
                heard = client.messages.create(model=MODEL, max_tokens=100, messages=spoken)
            spoken.append({"role": "assistant", "content": [each.model_dump() for each in heard.content]})
            deadline = time.monotonic() + 60
            while (listed := messages_in(opener, listing)) != [len(spoken)]:  # it is kept after it was passed on
                assert time.monotonic() < deadline, listed
                threading.Event().wait(0.05)
    with cf.open(postgres_store, space=space) as store:
        (row,) = store.threads()
        assert [each["role"] for each in said(store.thread(row.name))] == ["user", "assistant"] * 3
        assert store.verify() == []


def messages_in(opener: OpenerDirector, listing: str) -> list[int]:
    try:
        return [each["messages"] for each in json.loads(read(opener, listing))["sessions"]]
    except HTTPError:  # nothing is there yet
        return []


def _tenant_key(state: Path) -> bytes:
    """The key that both gateways found in the state directory they share."""
    return secrets_in(state / "contextfold").tenant_key


def test_the_inspector_alone_shows_a_store_in_postgresql_without_its_password(
    postgres_store: str, tmp_path: Path
) -> None:
    with cf.open(postgres_store) as store:
        store.thread("one", model=MODEL).append({"role": "user", "content": "hello"})
    address = postgres_store.replace("owner@", "owner:hunter2@", 1)
    with started(tmp_path, "inspect", address, "--no-open", "--read-only") as told:
        assert "hunter2" not in json.dumps(told)
        opener, base = browser(), told["link"].partition("/launch")[0]
        read(opener, told["link"])
        listed = read(opener, f"{base}/api/v1/threads")
        assert [each["name"] for each in json.loads(listed)["sessions"]] == ["one"]
        assert b"hello" in read(opener, f"{base}/api/v1/threads/one/messages/1")
        assert b"hunter2" not in listed


def test_gateways_that_begin_together_have_one_token_and_one_key(tmp_path: Path) -> None:
    barrier = threading.Barrier(8)

    def begin(state: Path) -> GatewaySecrets:
        barrier.wait(60)
        return secrets_in(state)

    with ThreadPoolExecutor(8) as aside:
        for number in range(30):
            state = tmp_path / str(number)
            assert len(set(aside.map(begin, [state] * 8))) == 1
            assert sorted(file.name for file in state.iterdir()) == ["gateway-key", "gateway-token"]
