"""A gateway that is killed in the middle of an answer: the thread is consistent, and the conversation goes on."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

import contextfold as cf
from contextfold.gateway import secrets_in
from contextfold.gateway.door import Visit
from contextfold.gateway.tenants import space_of
from tests.acceptance.gateway.house import said
from tests.acceptance.gateway.plain_upstream import EVENTS, Answer, PlainUpstream, plain_upstream
from tests.acceptance.gateway.shapes import ANSWERS

KEY = "sk-crash"


@contextmanager
def serving(tmp_path: Path, upstream: PlainUpstream) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`contextfold serve` as a user runs it, and its base URL."""
    config = tmp_path / "settings.toml"
    config.write_text(f'[gateway.upstreams]\nanthropic = "{upstream.url}"\n', "utf-8")
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "CONTEXTFOLD_CONFIG": str(config)}
    command = [sys.executable, "-m", "contextfold", "serve", "--port", "0", "--store", str(tmp_path / "store.db")]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        assert process.stdout is not None
        where = process.stdout.readline().split()[-1]
        token = secrets_in(tmp_path / "state" / "contextfold").token
        yield process, f"{where}/{token}"
    finally:
        process.terminate()
        process.wait(60)
        if process.stdout is not None:
            process.stdout.close()


def body(*texts: str) -> bytes:
    turns = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]
    asked = {"model": "claude-sonnet-5-5", "max_tokens": 100, "messages": turns, "stream": True}
    return json.dumps(asked).encode()


def test_a_gateway_killed_in_mid_stream_leaves_a_sound_thread_that_goes_on(tmp_path: Path) -> None:
    stream = ANSWERS["/v1/messages"]
    released = threading.Event()

    def halting() -> Iterator[bytes]:
        yield stream[:300]
        released.wait(60)

    with plain_upstream() as upstream:
        with serving(tmp_path, upstream) as (process, url):
            upstream.answer(Answer([stream], headers={"content-type": EVENTS}))
            first = httpx.post(f"{url}/v1/messages", content=body("One."), headers={"x-api-key": KEY}, timeout=60)
            assert first.content == stream
            upstream.answer(Answer(halting(), headers={"content-type": EVENTS}))
            request = {"content": body("One.", "はい", "Two."), "headers": {"x-api-key": KEY}, "timeout": 60}
            with httpx.stream("POST", f"{url}/v1/messages", **request) as answer:  # type: ignore[arg-type]
                assert next(answer.iter_raw())
                process.send_signal(signal.SIGKILL)
                process.wait(60)
            released.set()
        with serving(tmp_path, upstream) as (process, url):
            upstream.answer(Answer([stream], headers={"content-type": EVENTS}))
            again = httpx.post(f"{url}/v1/messages", **request)  # type: ignore[arg-type]
            assert again.content == stream
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
    key = secrets_in(tmp_path / "state" / "contextfold").tenant_key
    space = space_of(Visit("POST", b"/", b"", ((b"x-api-key", KEY.encode()),)), key)
    with cf.open(tmp_path / "store.db", space=space) as store:
        assert store.verify() == []
        (row,) = store.threads()
        assert [each["role"] for each in said(store.thread(row.title))] == ["user", "assistant", "user", "assistant"]
