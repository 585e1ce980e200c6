"""A summary by the model that is spoken to, asked at the end of its own conversation and read from its cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import decode, encode
from contextfold.summaries import Prompt, Shared
from contextfold.testing.server import Call, Exchange, Say, StrictServer
from tests.acceptance.judge import strict_server
from tests.acceptance.trust import one_authority

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")
genai = pytest.importorskip("google.genai")

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
SAID = "The parser in src/parse.py keeps the port 8443 and the flag --strict. " * 40
SUMMARY = """\
1. Previous conversation: The user asked for question after question about the parser.
2. Current work: The parser in src/parse.py is being changed.
3. Key technical concepts: The port is 8443 and the flag is --strict.
4. Relevant files and code: src/parse.py
5. Problem solving: Nothing is open.
6. Pending tasks and next steps: Answer the next question."""
LEAST_SHARE = 0.9  # of the summary's input, billed as read


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StrictServer]:
    with strict_server() as server:
        for name in KEYS:
            monkeypatch.setenv(name, server.token)
        monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
        monkeypatch.setenv("SSL_CERT_FILE", one_authority())
        monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "24000")
        server.always(lambda asked: Say(SUMMARY) if "six headings" in str(asked.body) else Say("Done.", thinking="Hm."))
        yield server


def summary_of(server: StrictServer, session: cf.Session, send: Any, **settings: Any) -> tuple[cf.Request, Exchange]:
    """Turns until something is folded; the exchange in which the summary was written."""
    for number in range(60):
        session.append({"role": "user", "content": f"Question {number}. {SAID}"})
        request = session.prepare(max_tokens=4_000, **settings)
        if request.report.folds:
            assert server.last.refused is None
            return request, server.last
        session.append(send(request.body))
    raise AssertionError("nothing was folded")


def check_shared(request: cf.Request, exchange: Exchange) -> None:
    made = next(attempt for attempt in request.report.attempts if attempt.model and attempt.folds)
    assert "six headings" in str(exchange.request)
    assert request.report.summary.startswith(SUMMARY)
    assert made.cache_read == exchange.usage.read >= LEAST_SHARE * exchange.usage.input > 10_000


@pytest.mark.parametrize("cache", [{"cache_control": {"type": "ephemeral"}}, {"cache": True}], ids=["own", "ours"])
def test_claude_reads_its_own_conversation_from_cache(server: StrictServer, cache: dict[str, Any]) -> None:
    writer = cf.providers.anthropic("claude-sonnet-5-5", base_url=server.url)
    policy = cf.recipes.balanced(summarizer=writer)
    with (
        cf.Session.open(model="claude-sonnet-5-5", policy=policy, system="You help.") as session,
        anthropic.Anthropic(base_url=server.url, max_retries=0) as client,
    ):
        check_shared(*summary_of(server, session, lambda body: client.messages.create(**body), **cache))


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
def test_gpt_reads_its_own_conversation_from_cache(server: StrictServer, dialect: str) -> None:
    writer = cf.providers.openai("gpt-6-sol", base_url=f"{server.url}/v1")
    policy = cf.recipes.balanced(summarizer=writer)
    with (
        cf.Session.open(model="gpt-6-sol", policy=policy, system="You help.") as session,
        openai.OpenAI(base_url=f"{server.url}/v1", max_retries=0) as client,
    ):
        send = client.chat.completions.create if dialect == "openai-chat" else client.responses.create
        check_shared(*summary_of(server, session, lambda body: send(**body), dialect=dialect))


def test_gemini_reads_its_own_conversation_from_cache(server: StrictServer) -> None:
    writer = cf.providers.gemini("gemini-3.8-flash", base_url=server.url)
    policy = cf.recipes.balanced(summarizer=writer)
    with (
        cf.Session.open(model="gemini-3.8-flash", policy=policy, system="You help.") as session,
        genai.Client(http_options={"base_url": server.url}) as client,
    ):

        def send(body: dict[str, Any]) -> Any:
            options = {"http_options": {"extra_body": {n: v for n, v in body.items() if n != "model"}}}
            return client.models.generate_content(model=body["model"], contents="", config=options)

        check_shared(*summary_of(server, session, send))


def test_another_model_is_asked_with_the_two_texts(server: StrictServer) -> None:
    writer = cf.providers.anthropic("claude-haiku-5-5", base_url=server.url)
    with cf.Session.open(model="claude-sonnet-5-5", policy=cf.recipes.balanced(summarizer=writer)) as session:
        _, exchange = summary_of(server, session, lambda _body: {"role": "assistant", "content": "Done."})
    assert len(exchange.request["messages"]) == 1
    assert exchange.usage.read == 0


# -- the providers' own compaction, as providers offer it --------------------------------------------------------------


async def test_claude_compacts_a_conversation_on_demand(server: StrictServer) -> None:
    writer = cf.providers.anthropic("claude-sonnet-5-5", base_url=server.url)
    body = {"model": "claude-sonnet-5-5", "max_tokens": 500, "messages": [{"role": "user", "content": "Hello there."}]}
    made = await writer.compact(body, "anthropic")
    (block,) = decode(made.wire.encode())["content"]
    assert (block["type"], made.text) == ("compaction", block["content"])
    assert (made.model, made.input_tokens) == ("claude-sonnet-5-5", server.last.usage.input)
    assert server.last.refused is None


async def test_gpt_compacts_a_conversation_by_its_endpoint(server: StrictServer) -> None:
    writer = cf.providers.openai("gpt-6-sol", base_url=f"{server.url}/v1")
    assert writer.dialect == "openai-responses"
    made = await writer.compact({"input": [{"role": "user", "content": "Hello there."}]}, "openai-responses")
    assert [item["type"] for item in decode(made.wire.encode())] == ["message", "compaction"]
    assert made.output_tokens == server.last.usage.output


async def test_a_summary_that_calls_a_tool_or_thinks_first_is_heard_right(server: StrictServer) -> None:
    """`seed:C14`: the first block of an answer need not be its text."""
    asked = Prompt("You summarize.", "Summarize.")
    for writer in (
        cf.providers.anthropic("claude-haiku-5-5", base_url=server.url),
        cf.providers.openai("gpt-6-luna", base_url=f"{server.url}/v1"),
        cf.providers.gemini("gemini-3.8-flash", base_url=server.url),
    ):
        server.answer(Say("Short.", thinking="Hm."), Say("", (Call("read"),)))
        assert (await writer(asked)).text == "Short."
        assert (await writer(asked)).finish in ("tool_use", "tool_calls")


SHARED = {
    "openai-responses": {"model": "gpt-6-sol", "input": [{"role": "user", "content": "Hello there."}]},
    "openai-chat": {"model": "gpt-6-sol", "messages": [{"role": "user", "content": "Hello there."}]},
    "anthropic": {"model": "claude-sonnet-5-5", "max_tokens": 5, "messages": [{"role": "user", "content": "Hello."}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hello there."}]}]},
}


@pytest.mark.parametrize("dialect", SHARED)
async def test_a_shared_question_can_be_heard_as_it_is_answered(server: StrictServer, dialect: str) -> None:
    heard: list[str] = []
    makers: dict[str, Any] = {
        "anthropic": lambda: cf.providers.anthropic("claude-sonnet-5-5", base_url=server.url, on_text=heard.append),
        "gemini": lambda: cf.providers.gemini("gemini-3.8-flash", base_url=server.url, on_text=heard.append),
    }
    gpt = cf.providers.openai("gpt-6-sol", base_url=f"{server.url}/v1", on_text=heard.append)
    writer = makers[dialect]() if dialect in makers else gpt
    shared = Shared(dialect, encode(SHARED[dialect]), "Now summarize under six headings.")
    answer = await writer(Prompt("You summarize.", "Summarize.", shared=shared))
    assert "".join(heard) == answer.text == SUMMARY
    assert "Hello" in str(server.last.request)
    assert server.last.refused is None
    server.answer(Say("No.", stop="refusal"))
    assert (await writer(Prompt("You summarize.", "Summarize.", shared=shared))).finish in (
        "refusal",
        "content_filter",
        "safety",
    )
