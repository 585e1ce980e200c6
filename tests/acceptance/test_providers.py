"""Summaries by real SDKs over real HTTP: ten ways to fail, three providers, three ways to ask; and keys kept secret."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.folding import Policy
from contextfold.summaries import Refusal
from contextfold.testing.server import Fault, StrictServer, faults
from tests.acceptance.judge import strict_server
from tests.acceptance.scenario import got
from tests.acceptance.trust import one_authority
from tests.crash.traces import readable

pytest.importorskip("anthropic")
pytest.importorskip("openai")
pytest.importorskip("google.genai")

CANARY = "sk-canary-7f3e91d2b64c"
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
MODELS = {"anthropic": "claude-haiku-5-5", "openai": "gpt-6-luna", "gemini": "gemini-3.8-flash"}
SUMMARY = """\
1. Previous conversation: The user asked for question after question about the parser.
2. Current work: The parser in src/parse.py is being changed.
3. Key technical concepts: The port is 8443 and the flag is --strict.
4. Relevant files and code: src/parse.py
5. Problem solving: Nothing is open.
6. Pending tasks and next steps: Answer the next question."""
SAID = "The parser in src/parse.py keeps the port 8443 and the flag --strict. " * 10

FAULTS: dict[str, tuple[Callable[[], Fault], set[Refusal]]] = {
    "rate limited": (lambda: faults.rate_limited(retry_after=0), {Refusal.TRANSIENT}),
    "broken": (faults.broken, {Refusal.TRANSIENT}),
    "overloaded": (faults.overloaded, {Refusal.TRANSIENT}),
    "unauthorized": (faults.unauthorized, {Refusal.AUTH}),
    "overflow": (faults.overflow, {Refusal.OVERFLOW}),
    "reset": (faults.reset, {Refusal.TRANSIENT}),
    "cut": (faults.cut, {Refusal.TRANSIENT}),
    "garbage": (faults.garbage, {Refusal.FAILED, Refusal.TRANSIENT}),
    "drip": (lambda: faults.drip(0.01), {Refusal.TIMED_OUT}),
    "hang": (faults.hang, {Refusal.TIMED_OUT}),
}


@pytest.fixture(scope="module")
def running() -> Iterator[StrictServer]:
    with strict_server(token=CANARY) as server:
        yield server


@pytest.fixture
def server(running: StrictServer, monkeypatch: pytest.MonkeyPatch) -> StrictServer:
    running.forget()
    running.always(SUMMARY)
    for name in KEYS:
        monkeypatch.setenv(name, CANARY)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", one_authority())
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "6000")
    return running


def provider(server: StrictServer, name: str, **options: Any) -> cf.providers.Provider:
    base = f"{server.url}/v1" if name == "openai" else server.url
    made: cf.providers.Provider = getattr(cf.providers, name)(MODELS[name], base_url=base, **options)
    return made


def policy(summarizer: Any, **changes: Any) -> Policy:
    return cf.recipes.summary(summarizer=summarizer).with_(backoff=0.0, retries=1, **changes)


def messages(count: int, start: int = 0) -> list[dict[str, str]]:
    pairs = [("user", f"Question {number}. {SAID}") for number in range(start, start + count)]
    return [{"role": role, "content": text} for _, text in pairs for role in ("user", "assistant")]


async def check_whole(session: Any, said: list[dict[str, str]]) -> None:
    """Everything that was said can be read, in order."""
    events = await got(session.thread.events)
    kept = [entry.seq for entry in events if type(entry.event).__name__ == "Appended"][: len(said)]
    assert [(await got(session.thread.message(seq))).text for seq in kept] == [each["content"] for each in said]


def check_report(request: cf.Request, refusals: set[Refusal]) -> None:
    tried = [attempt for attempt in request.report.attempts if attempt.strategy == "summarizer"]
    assert {attempt.refusal for attempt in tried} <= refusals
    assert tried
    assert all(attempt.model and CANARY not in attempt.error for attempt in tried)
    assert request.report.folds
    assert not cf.validate(request.body, dialect=request.dialect)


@pytest.mark.seed("R4")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("way", ["sync", "async", "stream"])
async def test_no_failure_of_a_summarizer_is_felt(server: StrictServer, name: str, fault: str, way: str) -> None:
    make, refusals = FAULTS[fault]
    heard: list[str] = []
    options = {"on_text": heard.append} if way == "stream" else {}
    chosen = policy(provider(server, name, **options), timeout=0.25 if Refusal.TIMED_OUT in refusals else 60)
    said = [*messages(16), {"role": "user", "content": "Go on."}]
    server.always(make())
    kind = cf.aio.Session if way == "async" else cf.Session
    session: Any = await got(kind.open(model="claude-sonnet-4-5", policy=chosen))
    try:
        first = await turn(session, said)
        check_report(first, refusals)
        await check_whole(session, said)
        server.always(SUMMARY)
        second = await turn(session, messages(12, 16))
    finally:
        await got(session.close())
    assert second.report.folds
    if Refusal.TIMED_OUT not in refusals:  # so short a time may be too short for a healthy server on a busy machine
        assert "port is 8443" in second.report.summary
        assert "".join(heard).endswith(SUMMARY) is (way == "stream")


async def turn(session: Any, said: list[dict[str, str]]) -> cf.Request:
    for message in said:
        await got(session.append(message))
    request: cf.Request = await got(session.prepare(max_tokens=500))
    return request


@pytest.mark.seed("X7")
@pytest.mark.parametrize("name", MODELS)
def test_a_summary_says_who_wrote_it_and_what_it_cost(server: StrictServer, name: str, tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    with cf.Session.open(path, model="claude-sonnet-4-5", policy=policy(provider(server, name))) as session:
        for message in messages(16):
            session.append(message)
        request = session.prepare(max_tokens=500)
        made = next(attempt for attempt in request.report.attempts if attempt.folds)
        billed = server.last.usage
        assert (made.model, made.input_tokens, made.output_tokens) == (MODELS[name], billed.input, billed.output)
        assert made.cost == pytest.approx(server.last.cost)
        details = session.thread.events[request.report.folds[-1].id - 1].event.details  # type: ignore[union-attr]
        assert details["writer"] == MODELS[name]
        assert details["writer_input"] == billed.input
        assert details["writer_cost"] == pytest.approx(server.last.cost)


@pytest.mark.parametrize("name", MODELS)
def test_a_key_is_never_kept_logged_or_reported(
    server: StrictServer, name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("httpcore").setLevel(logging.WARNING)  # the transports are not ours, and log headers if asked to
    path, told = tmp_path / "threads.db", ""
    chosen = policy(provider(server, name), fallback=["claude-haiku-5-5", "extractive"], timeout=60).with_(retries=0)
    with cf.Session.open(path, model="claude-sonnet-4-5", policy=chosen) as session:
        for number, fault in enumerate([*list(FAULTS)[:8], ""]):
            server.always(FAULTS[fault][0]() if fault else SUMMARY)
            for message in messages(8, 8 * number):
                session.append(message)
            session.desk.breaker.worked()  # each fault is tried, whatever came before
            told += repr(session.prepare(max_tokens=500).report) + repr(session.policy)
        stored = readable(tmp_path)
    stored += readable(tmp_path)
    assert CANARY.encode() not in stored
    assert CANARY not in told
    assert CANARY not in "".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)


def test_a_transient_failure_is_tried_again_and_both_are_reported(server: StrictServer) -> None:
    server.answer(faults.overloaded())
    with cf.Session.open(model="claude-sonnet-4-5", policy=policy(provider(server, "anthropic"))) as session:
        for message in messages(16):
            session.append(message)
        attempts = session.prepare(max_tokens=500).report.attempts
    assert [(attempt.strategy, attempt.refusal) for attempt in attempts] == [
        ("summarizer", Refusal.TRANSIENT),
        ("summary", None),
    ]
    assert attempts[1].model == MODELS["anthropic"]


def test_after_an_overflow_less_is_asked_for(server: StrictServer) -> None:
    server.answer(faults.overflow(), faults.overflow())
    with cf.Session.open(model="claude-sonnet-4-5", policy=policy(provider(server, "openai"))) as session:
        for message in messages(16):
            session.append(message)
        report = session.prepare(max_tokens=500).report
    sizes = [len(str(exchange.request)) for exchange in server.exchanges]
    assert sizes[0] > sizes[1] > sizes[2]
    assert report.summary.startswith(SUMMARY[:40])


def test_a_model_takes_over_from_another_and_then_the_digest(server: StrictServer) -> None:
    chosen = policy(provider(server, "anthropic"), fallback=["claude-haiku-5-5", "main", "extractive"])
    server.answer(faults.unauthorized(), SUMMARY)
    with cf.Session.open(model="claude-sonnet-5", policy=chosen) as session:
        for message in messages(16):
            session.append(message)
        report = session.prepare(max_tokens=500).report
        assert [(each.model, each.refusal) for each in report.attempts] == [
            ("claude-haiku-5-5", Refusal.AUTH),
            ("claude-sonnet-5", None),
        ]
        server.always(faults.unauthorized())
        for message in messages(12, 16):
            session.append(message)
        report = session.prepare(max_tokens=500).report
        assert [each.model for each in report.attempts] == ["claude-haiku-5-5", "claude-sonnet-5", ""]
        assert report.folds


def test_a_model_may_be_named_and_its_sdk_configures_itself(
    server: StrictServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    chosen = cf.recipes.summary().with_(fallback=["nobody-knows-it", "claude-haiku-5-5", "main"], backoff=0.0)
    server.answer(faults.unauthorized())
    with cf.Session.open(model="claude-sonnet-5", policy=chosen) as session:
        for message in messages(16):
            session.append(message)
        report = session.prepare(max_tokens=500).report
    assert [(each.model, each.refusal) for each in report.attempts] == [
        ("nobody-knows-it", Refusal.FAILED),
        ("claude-haiku-5-5", Refusal.AUTH),
        ("claude-sonnet-5", None),
    ]
    assert "base_url" in report.attempts[0].error


def test_a_model_that_nobody_knows_is_asked_at_the_address_that_the_user_set(
    server: StrictServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    chosen = cf.recipes.summary().with_(fallback=["nobody-knows-it"], backoff=0.0)
    with cf.Session.open(model="claude-sonnet-5", policy=chosen) as session:
        for message in messages(16):
            session.append(message)
        report = session.prepare(max_tokens=500).report
    assert [(each.model, each.refusal) for each in report.attempts] == [("nobody-knows-it", None)]
