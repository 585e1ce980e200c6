"""The inspector as it is started: one link on standard output, beside the gateway too, and ended by Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.cli import main

pytest.importorskip("uvicorn", reason="needs uvicorn")


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    with cf.open(path) as store:
        store.thread("one", model="claude-sonnet-5-5").append({"role": "user", "content": "hello"})
    return path


@contextmanager
def started(state: Path, *arguments: str) -> Iterator[dict[str, Any]]:
    """What a command printed as JSON, while it runs."""
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    command = [sys.executable, "-m", "contextfold", *arguments, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        told = ""
        try:
            for line in process.stdout:
                told += line
                if line.startswith("}"):
                    break
            yield json.loads(told)
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0


def browser() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))


def read(opener: urllib.request.OpenerDirector, address: str) -> bytes:
    with opener.open(address, timeout=60) as answer:
        body: bytes = answer.read()
        return body


def test_inspect_prints_one_link_that_opens_the_page(store_path: Path, tmp_path: Path) -> None:
    with started(tmp_path, "inspect", str(store_path), "--no-open", "--window", "24k") as told:
        opener, base = browser(), told["link"].partition("/launch")[0]
        with pytest.raises(urllib.error.HTTPError, match="401"):
            read(opener, f"{base}/")
        assert b"refresh" in read(opener, told["link"])
        assert b"app.js" in read(opener, f"{base}/")
        gauge = json.loads(read(opener, f"{base}/api/v1/threads/one/gauge"))
        assert gauge["window"] == 24_000
        with pytest.raises(urllib.error.HTTPError, match="401"):
            read(browser(), told["link"])


def test_an_inspector_that_may_only_read_changes_nothing(store_path: Path, tmp_path: Path) -> None:
    with started(tmp_path, "inspect", str(store_path), "--no-open", "--read-only") as told:
        opener, base = browser(), told["link"].partition("/launch")[0]
        read(opener, told["link"])
        about = json.loads(read(opener, f"{base}/api/v1/about"))
        assert about["is_read_only"]
        sent = {"x-contextfold-csrf": about["csrf"], "content-type": "application/json"}
        change = urllib.request.Request(f"{base}/api/v1/threads/one/pin", b'{"seq": 1}', sent)  # noqa: S310  # our own
        with pytest.raises(urllib.error.HTTPError, match="403"):
            opener.open(change, timeout=60)


def test_serve_shows_what_it_keeps_beside_the_gateway(store_path: Path, tmp_path: Path) -> None:
    with started(tmp_path, "serve", "--port", "0", "--store", str(store_path)) as told:
        opener = browser()
        read(opener, told["inspector"])
        base = told["inspector"].partition("/launch")[0]
        assert b"app.js" in read(opener, f"{base}/")
        listed = json.loads(read(opener, f"{base}/api/v1/threads"))
        assert [each["name"] for each in listed["sessions"]] == ["one"]
        assert read(opener, f"{told['url']}/healthz") == b"ok"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            read(opener, f"{told['url']}/api/v1/threads")


def test_what_cannot_be_looked_at_is_said_before_anything_is_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(tmp_path / "nowhere.db")]) == 3
    assert "There is no store" in capsys.readouterr().err
    other = tmp_path / "other.db"
    other.write_bytes(b"not a store at all" * 100)
    assert main(["inspect", str(other)]) == 5
    assert capsys.readouterr().out == ""


def test_a_port_that_is_taken_is_named(store_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with started(tmp_path, "inspect", str(store_path)) as told:
        port = told["link"].partition("127.0.0.1:")[2].partition("/")[0]
        assert main(["inspect", str(store_path), "--port", port]) == 2
        assert f"127.0.0.1:{port}" in capsys.readouterr().err
