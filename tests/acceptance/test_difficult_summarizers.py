"""Summarizers that raise what nobody raises, never end, answer too late or far too much: an attempt like any other."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.folding import Policy
from contextfold.summaries import Prompt
from contextfold.testing.server import StrictServer, faults
from tests.acceptance.judge import strict_server
from tests.acceptance.scenario import got

WORDS = "The parser in src/parse.py keeps the port 8443. " * 60


def policy(summarizer: Any, **changes: Any) -> Policy:
    return cf.recipes.summary(summarizer=summarizer).with_(backoff=0.0, **changes)


async def folded(kind: Any, summarizer: Any, **changes: Any) -> cf.Request:
    """A request that had to fold, by a session of either kind."""
    session = await got(kind.open(model="claude-sonnet-4-5", policy=policy(summarizer, **changes)))
    for number in range(16):
        await got(session.append({"role": "user" if number % 2 == 0 else "assistant", "content": f"{number}. {WORDS}"}))
    request: cf.Request = await got(session.prepare(max_tokens=500))
    await got(session.close())
    return request


@pytest.fixture(autouse=True)
def window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "6000")


def raising(error: type[BaseException]) -> Callable[[Prompt], str]:
    def summarize(_: Prompt) -> str:
        raise error

    return summarize


def raising_later(error: type[BaseException]) -> Any:
    async def summarize(_: Prompt) -> str:
        await asyncio.sleep(0)
        raise error

    return summarize


class Stop(BaseException):
    """Something that is no Exception."""


@pytest.mark.finding("K5")
@pytest.mark.parametrize("kind", [cf.Session, cf.aio.Session])
@pytest.mark.parametrize("make", [raising, raising_later])
@pytest.mark.parametrize("error", [asyncio.CancelledError, GeneratorExit, Stop])
async def test_whatever_a_summarizer_raises_is_a_failed_attempt(
    kind: Any, make: Any, error: type[BaseException]
) -> None:
    begun = time.monotonic()
    request = await folded(kind, make(error))
    assert request.report.folds
    assert request.report.attempts[0].error == f"RuntimeError: The summarizer raised {error.__name__}."
    assert time.monotonic() - begun < 60, "nobody waits for a time-out"


@pytest.mark.finding("K5")
@pytest.mark.parametrize("kind", [cf.Session, cf.aio.Session])
async def test_a_summarizer_that_cannot_be_cancelled_is_left_behind(kind: Any) -> None:
    released = asyncio.Event() if kind is cf.aio.Session else threading.Event()

    async def stubborn(_: Prompt) -> str:
        while not released.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        return "Too late."

    try:
        request = await folded(kind, stubborn, timeout=0.05, retries=0)
    finally:
        released.set()
    assert request.report.folds
    assert request.report.attempts[0].error == "TimeoutError: The summarizer did not answer in time."


@pytest.mark.finding("K5")
@pytest.mark.finding("K11")
def test_an_answer_after_the_session_was_closed_reaches_nobody(tmp_path: Path) -> None:
    released, answered = threading.Event(), threading.Event()

    def slow(_: Prompt) -> str:
        released.wait()
        answered.set()
        return "Too late."

    path, hasty = tmp_path / "threads.db", policy(slow, timeout=0.05, retries=0)
    with cf.Session.open(path, model="claude-sonnet-4-5", policy=hasty) as session:
        for number in range(16):
            session.append({"role": "user" if number % 2 == 0 else "assistant", "content": f"{number}. {WORDS}"})
        session.prepare(max_tokens=500)
        session.rewind(to_index=3)
    with cf.open(path) as store:
        before = len(store.thread("main").events)
    released.set()
    assert answered.wait(60)
    with cf.open(path) as store:
        assert len(store.thread("main").events) == before


@pytest.mark.finding("K5")
async def test_a_summarizer_may_use_the_session_that_asks_it() -> None:
    asked: list[cf.Session] = []

    def curious(_: Prompt) -> str:
        (session,) = asked
        session.append({"role": "user", "content": "A remark of the summarizer's."})
        return f"The session knows {len(session.thread.events)} events. src/parse.py keeps the port 8443."

    with cf.Session.open(model="claude-sonnet-4-5", policy=policy(curious, timeout=60)) as session:
        asked.append(session)
        for number in range(15):
            session.append({"role": "user" if number % 2 == 0 else "assistant", "content": f"{number}. {WORDS}"})
        request = session.prepare(max_tokens=500)
        assert request.report.folds
        assert "A remark of the summarizer's." in str(session.prepare(max_tokens=500).body)


@pytest.mark.finding("K5")
async def test_ten_megabytes_of_answer_are_refused() -> None:
    request = await folded(cf.Session, lambda _: "word " * 2_000_000)
    assert request.report.folds
    assert request.report.attempts[0].refusal is not None
    assert len(str(request.body)) < 100_000


@pytest.mark.finding("K11")
def test_a_summarizer_has_two_minutes_unless_told_otherwise() -> None:
    assert cf.recipes.summary(summarizer=lambda _: "").timeout == 120
    assert cf.recipes.balanced().timeout == 120


HANGING = """
import threading
import contextfold as cf

policy = cf.recipes.summary(summarizer=lambda prompt: threading.Event().wait()).with_(timeout=0.05, retries=0)
with cf.Session.open(model="claude-sonnet-4-5", policy=policy) as session:
    for number in range(16):
        role = "user" if number % 2 == 0 else "assistant"
        session.append({"role": role, "content": f"{number}. " + "The parser keeps the port 8443. " * 90})
    print(len(session.prepare(max_tokens=500).report.folds))
"""


@pytest.mark.finding("K5")
def test_a_process_ends_while_a_summarizer_does_not(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False
    )
    assert (ended.stdout.strip(), ended.stderr, ended.returncode) == ("1", "", 0)


# -- providers ------------------------------------------------------------------------------------------------------


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    with strict_server() as server:
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
            monkeypatch.setenv(name, server.token)
        yield server


@pytest.mark.finding("W14")
@pytest.mark.parametrize("budget", [1_000, 20_000])
async def test_a_long_summary_of_claudes_is_streamed(server: StrictServer, budget: int) -> None:
    server.always("A long summary.")
    answer = await cf.providers.anthropic("claude-haiku-5-5", base_url=server.url)(Prompt("Sum up.", "Words.", budget))
    assert (answer.text, answer.finish) == ("A long summary.", "end_turn")
    assert server.last.request["max_tokens"] == 2 * budget + 4_000


@pytest.mark.finding("W15")
async def test_an_account_without_credit_is_not_asked_again(server: StrictServer) -> None:
    server.always(faults.out_of_quota())
    provider = cf.providers.openai("gpt-6-luna", base_url=f"{server.url}/v1")
    request = await folded(cf.Session, provider, retries=2)
    assert len(server.exchanges) == 1
    assert "no credit left" in request.report.attempts[0].error
