"""Whatever name the caller gives a model is what every provider sees: the strict server serves these names alone."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import contextfold as cf
from contextfold.dialects import gemini
from contextfold.domain import Measured, Sent
from contextfold.testing.server import StrictServer
from tests.acceptance.judge import strict_server

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")
genai = pytest.importorskip("google.genai")

CHAT = (
    "llama3.3",
    "llama3.3:70b-instruct-q4_K_M",
    "meta-llama/Llama-3.3-70B-Instruct",
    "deepseek-chat",
    "deepseek-reasoner",
    "deepseek/deepseek-r1:free",
    "gpt-oss:20b",
    "openai/gpt-oss-120b",
    "gpt-4o-2024-08-06",
    "GPT-4o",
    "gpt-4o-mini",
    "azure/gpt-4o",
    "ft:gpt-4o:acme::abc123",
    "anthropic/claude-sonnet-4.5",
    "openrouter/anthropic/claude-opus-4.1",
    "kimi-k2.5",
    "moonshotai/kimi-k2",
    "glm-4.5",
    "qwen3:8b",
    "mistral-large-2407",
    "my-own-model",
)
RESPONSES = ("gpt-6-sol", "gpt-5-2025-08-07", "openai/gpt-5.1", "openai:gpt-5.4", "gpt-5.2", "o3")
CLAUDE = (
    "claude-sonnet-5-5",
    "claude-sonnet-4-5-20250929",
    "claude-sonnet-4-5@20250929",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "global.anthropic.claude-haiku-4-5-20251001-v1:0",
    "anthropic.claude-opus-4-6-v1",
    "anthropic:claude-sonnet-5-5",
    "vertex_ai/claude-opus-4-6",
    "claude-3-7-sonnet-latest",
    "claude-opus-4-1",
    "CLAUDE_OPUS_5_5",
)
GEMINI = ("gemini-2.5-pro", "gemini-2.5-flash", "gemini-3.8-flash", "gemini-3.1-pro-preview", "gemini-4-argon")
SPELLINGS = {
    **dict.fromkeys(CHAT, "openai-chat"),
    **dict.fromkeys(RESPONSES, "openai-responses"),
    **dict.fromkeys(CLAUDE, "anthropic"),
    **dict.fromkeys(GEMINI, "gemini"),
}
Ask = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def server() -> Iterator[StrictServer]:
    with strict_server(models=SPELLINGS, token="sk-test") as server:  # noqa: S106  # nobody's key
        server.always("Done.")
        yield server


@pytest.fixture(scope="module")
def asks(server: StrictServer) -> Iterator[dict[str, Ask]]:
    with (
        anthropic.Anthropic(base_url=server.url, api_key=server.token, max_retries=0) as claude,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.token, max_retries=0) as gpt,
        genai.Client(api_key=server.token, http_options={"base_url": server.url}) as google,
    ):
        yield {
            "anthropic": lambda body: claude.messages.create(**body),
            "openai-chat": lambda body: gpt.chat.completions.create(**body),
            "openai-responses": lambda body: gpt.responses.create(**body),
            "gemini": lambda body: google.models.generate_content(**gemini.arguments(body)),
        }


@pytest.mark.finding("N1")
def test_there_are_forty_spellings() -> None:
    assert len(SPELLINGS) >= 40


@pytest.mark.finding("N1")
@pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")  # the SDK's word, not ours
@pytest.mark.parametrize(("name", "dialect"), SPELLINGS.items())
def test_a_provider_sees_the_name_that_was_given(
    server: StrictServer, asks: dict[str, Ask], name: str, dialect: str, tmp_path: Path
) -> None:
    store = tmp_path / "names.db"
    with cf.Session.open(store, model=name) as session:
        session.append({"role": "user", "content": "Rename the parser, please."})
        request = session.prepare(dialect=dialect, max_tokens=500)
        session.append(asks[dialect](request.body))
        assert (request.model, request.body["model"]) == (name, name)
    with cf.Session.open(store) as again:
        again.append({"role": "user", "content": "And the lexer."})
        again.append(asks[dialect](again.prepare(dialect=dialect, max_tokens=500).body))
        fork = again.thread.fork()
        named = [entry.event.model for entry in again.thread.events if isinstance(entry.event, Sent | Measured)]
        assert (again.model.name, fork.model.name, set(named)) == (name, name, {name})
    assert server.last.status == 200


@pytest.mark.finding("N1")
def test_a_name_that_is_not_served_is_not_found(server: StrictServer, asks: dict[str, Ask]) -> None:
    with pytest.raises(openai.NotFoundError):
        asks["openai-chat"]({"model": "llama-3.3", "messages": [{"role": "user", "content": "Hello."}]})
    assert server.last.status == 404


@pytest.mark.finding("N1")
@pytest.mark.parametrize("name", ["llama3.3", "gpt-4o-2024-08-06", "anthropic:claude-sonnet-5-5"])
def test_summaries_are_asked_of_the_very_name(server: StrictServer, name: str) -> None:
    is_claude = "claude" in name
    speak = cf.providers.anthropic if is_claude else cf.providers.openai
    kind, url = (anthropic.AsyncAnthropic, server.url) if is_claude else (openai.AsyncOpenAI, f"{server.url}/v1")
    writer = speak(name, client=lambda: kind(base_url=url, api_key=server.token, max_retries=0))
    policy = cf.recipes.summary(summarizer=writer)
    before = len(server.exchanges)
    with cf.Session.open(model=name, policy=policy) as session:
        for number in range(30):
            session.append({"role": "user" if number % 2 == 0 else "assistant", "content": f"Line {number}. " * 60})
        session.fold(to=1_500)
    asked = server.exchanges[before:]
    assert asked
    assert {(each.model, each.status) for each in asked} == {(name, 200)}


@pytest.mark.finding("N1")
def test_a_sub_agent_a_count_and_an_export_keep_the_name(tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "s.db", model="deepseek-chat") as session:
        session.append({"role": "user", "content": "Hello."})
        child = session.child("helper")
        assert (child.model.name, cf.model("deepseek-chat").name) == ("deepseek-chat", "deepseek-chat")
        assert cf.fit([{"role": "user", "content": "Hello."}], model="llama3.3").body["model"] == "llama3.3"
        exported = session.thread.body(model=session.model.name)
        assert msgspec.json.decode(exported)["model"] == "deepseek-chat"
