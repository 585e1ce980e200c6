"""A gateway whose store fails says so everywhere, since when and for how many requests, until it keeps again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Checkpointed
from contextfold.gateway.door import Visit
from contextfold.gateway.tenants import secrets_in, space_of
from tests.acceptance.gateway.house import gateway, said, web
from tests.acceptance.gateway.plain_upstream import Answer, PlainUpstream, plain_upstream
from tests.acceptance.inspector.test_inspector_commands import browser, read
from tests.crash.store_faults import DiskStore

pytestmark = pytest.mark.finding("K12")

KEY = "sk-of-a-tenant"
SAID = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5-5",
    "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "an answer"}],
}


@pytest.fixture
def upstream() -> Iterator[PlainUpstream]:
    with plain_upstream() as upstream:
        upstream.always = Answer([json.dumps(SAID).encode()])
        yield upstream


def until(is_so: Callable[[], bool], most: float = 60) -> None:
    end = time.monotonic() + most
    while not is_so():
        assert time.monotonic() < end
        threading.Event().wait(0.02)


def ask(url: str, text: str, thread: str = "talk", key: str = KEY) -> int:
    body = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}
    headers = {"x-api-key": key, "x-contextfold-thread": thread}
    return web().post(f"{url}/v1/messages", json=body, headers=headers).status_code


@contextmanager
def serving(tmp_path: Path, upstream: PlainUpstream, mode: str) -> Iterator[tuple[dict[str, Any], Path]]:
    """`contextfold serve` as a user runs it: what it printed, and what it writes to the error stream."""
    config, errors = tmp_path / "settings.toml", tmp_path / "errors"
    config.write_text(f'[gateway.upstreams]\nanthropic = "{upstream.url}"\n', "utf-8")
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "CONTEXTFOLD_CONFIG": str(config)}
    options = ["--port", "0", "--mode", mode, "--store", str(tmp_path / "store.db"), "--json"]
    command = [sys.executable, "-m", "contextfold", "serve", *options]
    with (
        errors.open("wb") as written,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=written, text=True, env=environment) as process,
    ):
        assert process.stdout is not None
        printed = ""
        for line in process.stdout:
            printed += line
            if line.startswith("}"):
                break
        try:
            yield json.loads(printed), errors
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0


def top(tmp_path: Path, language: str = "en_US.UTF-8") -> str:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "LC_ALL": language, "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "contextfold", "top", "--once"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_a_folding_gateway_says_since_when_nothing_is_kept_on_every_surface(
    tmp_path: Path, upstream: PlainUpstream
) -> None:
    path, away = tmp_path / "store.db", tmp_path / "away.db"
    with serving(tmp_path, upstream, "fold") as (printed, errors):
        url, page = f"{printed['url']}/{printed['token']}", printed["inspector"]
        opener, health = browser(), page.partition("/launch")[0] + "/api/v1/health"
        read(opener, page)
        assert ask(url, "kept") == 200
        until(lambda: b"turns_total{" in web().get(f"{url}/metrics").content)
        assert web().get(f"{url}/readyz").text == "ready"
        assert json.loads(read(opener, health))["is_kept"]
        path.rename(away)
        assert [ask(url, "unkept"), ask(url, "unkept too")] == [200, 200]
        # First it says what failed, and from the first attempt to open the store again what can be done.
        until(lambda: "kept: 2. The store is gone." in web().get(f"{url}/readyz").text)
        ready = web().get(f"{url}/readyz")
        assert ready.status_code == 503
        assert re.match(r"not kept since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC; requests passed", ready.text)
        assert "Put it back, or restart the gateway" in ready.text
        assert web().get(f"{printed['url']}/healthz").text == "ok", "it is alive"
        metrics = web().get(f"{url}/metrics").text
        assert "contextfold_gateway_ready 0\n" in metrics
        assert "contextfold_gateway_unkept_requests 2\n" in metrics
        assert re.search(r"^contextfold_gateway_unkept_since_seconds [1-9]", metrics, re.MULTILINE)
        outage = web().get(f"{url}/status").json()["outage"]
        shown = json.loads(read(opener, health))
        assert (outage["requests"], shown["requests"], shown["is_kept"]) == (2, 2, False)
        assert shown["since"] == outage["since"]
        assert re.search(r"NOTHING IS KEPT since \d{4}-.*; requests: 2", top(tmp_path))
        assert "から未保存" in top(tmp_path, "ja_JP.UTF-8")
        assert "nothing is kept since=" in errors.read_text()
        away.rename(path)
        until(lambda: web().get(f"{url}/readyz").text == "ready", 10)
        assert "NOTHING IS KEPT" not in top(tmp_path)
        assert json.loads(read(opener, health))["is_kept"]
        assert "contextfold_gateway_ready 1\n" in web().get(f"{url}/metrics").text
        assert "kept again since=" in errors.read_text()
        assert ask(url, "kept again") == 200
    check_gap(path, secrets_in(tmp_path / "contextfold").tenant_key, requests=2)


def check_gap(path: Path, key: bytes, *, requests: int) -> None:
    """What passed meanwhile is written down in the thread that went on."""
    space = space_of(Visit("POST", b"/", b"", ((b"x-api-key", KEY.encode()),)), key)
    with cf.open(path, space=space) as store:
        events = [each.event for row in store.threads() for each in store.thread(row.title).events]
        gaps = [each for each in events if isinstance(each, Checkpointed)]
        assert gaps
        assert any(str(requests) in str(each) for each in gaps)
        assert store.verify() == []


def test_a_strict_gateway_takes_requests_again_by_itself_after_a_failed_fsync(
    tmp_path: Path, upstream: PlainUpstream
) -> None:
    kept_in = DiskStore(tmp_path)
    fault = kept_in.faults()["fsync of the WAL fails"]
    with gateway(kept_in.path, upstream.url, open_space=kept_in.open, mode="strict") as house:
        assert ask(house.url, "one") == 200
        fault.begin()
        assert ask(house.url, "two") == 503
        answer = web().get(f"{house.url}/readyz")
        assert (answer.status_code, "requests refused: 1." in answer.text) == (503, True)
        fault.end()
        until(lambda: ask(house.url, "three") == 200, 10)  # nobody asks for readiness
        assert web().get(f"{house.url}/readyz").text == "ready"


def test_a_store_that_was_open_is_not_begun_anew_while_its_file_is_away(
    tmp_path: Path, upstream: PlainUpstream
) -> None:
    """A disk that is not mounted leaves an empty folder: a new store in it would hide what comes back."""
    kept_in = DiskStore(tmp_path)
    fault = kept_in.faults()["the file is moved away"]
    with gateway(kept_in.path, upstream.url, open_space=kept_in.open, mode="strict") as house:
        assert ask(house.url, "one") == 200
        fault.begin()
        assert ask(house.url, "two") == 503
        assert ask(house.url, "hello", key="sk-of-somebody-new") == 503
        assert not kept_in.path.exists()
        fault.end()
        until(lambda: web().get(f"{house.url}/readyz").text == "ready", 10)
        assert ask(house.url, "hello", key="sk-of-somebody-new") == 200


def test_an_answer_is_kept_though_the_store_failed_and_came_back_while_it_was_written(
    tmp_path: Path, upstream: PlainUpstream
) -> None:
    kept_in, half, gate = DiskStore(tmp_path), threading.Event(), threading.Event()

    def pieces() -> Iterator[bytes]:
        whole = json.dumps(SAID).encode()
        yield whole[:20]
        half.set()
        gate.wait(60)
        yield whole[20:]

    fault = kept_in.faults()["fsync of the WAL fails"]
    with gateway(kept_in.path, upstream.url, open_space=kept_in.open, mode="strict") as house:
        upstream.answer(Answer(pieces()))
        statuses: list[int] = []
        asking = threading.Thread(target=lambda: statuses.append(ask(house.url, "one")))
        asking.start()
        assert half.wait(60)
        fault.begin()
        until(lambda: web().get(f"{house.url}/readyz").status_code == 503)
        fault.end()
        until(lambda: web().get(f"{house.url}/readyz").text == "ready", 10)
        gate.set()
        asking.join(60)
        assert statuses == [200]
        house.settle()
        space = space_of(Visit("POST", b"/", b"", ((b"x-api-key", KEY.encode()),)), b"k" * 32)
        with kept_in.open(space) as store:
            assert [each["role"] for each in said(store.thread("named/talk"))] == ["user", "assistant"]


def test_readiness_of_an_idle_gateway_does_not_make_its_store_grow(tmp_path: Path, upstream: PlainUpstream) -> None:
    path = tmp_path / "store.db"
    with gateway(path, upstream.url) as house:
        assert web().get(f"{house.url}/readyz").text == "ready"
        ledger = house.gateway.tenants.in_use[0]
        before = path.stat().st_size
        for _ in range(3_000):
            ledger.store.heartbeat()
        assert path.stat().st_size == before
        assert (tmp_path / "store.db-wal").stat().st_size < 8_000_000
        with cf.open(path) as store:
            assert list(store.threads()) == []
            assert list(store.changes()) == []
