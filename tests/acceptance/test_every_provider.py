"""One agent at each provider's door: answers with reasoning and parallel calls, folds, unfolds, other instructions.

The strict server verifies seals, prefixes, pairs and successors, and shares no rule with our dialects; the official
SDKs carry the requests. Whatever is sent must be taken.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import contextfold as cf
from contextfold.dialects import gemini
from contextfold.testing.server import Call, Clock, Say, StrictServer
from tests.acceptance.judge import strict_server

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")
genai = pytest.importorskip("google.genai")

Ask = Callable[[cf.Request], Any]
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = [{"name": "read", "description": "Read a file.", "input_schema": SCHEMA}]
STEP = Say("I read both.", (Call("read", {"path": "a"}), Call("read", {"path": "b"})), thinking="Both at once.")
DONE = Say("Both are fine.", thinking="Nothing is wrong.")


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server(clock=Clock(), seed=b"every provider", token="sk-test") as server:  # noqa: S106  # nobody's key
        yield server


def claude(server: StrictServer) -> Ask:
    def ask(request: cf.Request) -> Any:
        with anthropic.Anthropic(base_url=server.url, api_key=server.token, max_retries=0) as client:
            return client.messages.create(**request.body)

    return ask


def chat(server: StrictServer) -> Ask:
    def ask(request: cf.Request) -> Any:
        with openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.token, max_retries=0) as client:
            return client.chat.completions.create(**request.body)

    return ask


def responses(server: StrictServer) -> Ask:
    def ask(request: cf.Request) -> Any:
        with openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.token, max_retries=0) as client:
            return client.responses.create(**request.body)

    return ask


def google(server: StrictServer) -> Ask:
    def ask(request: cf.Request) -> Any:
        with genai.Client(api_key=server.token, http_options={"base_url": server.url}) as client:
            return client.models.generate_content(**gemini.arguments(request.body))

    return ask


PROVIDERS: dict[str, tuple[Callable[[StrictServer], Ask], str, dict[str, Any]]] = {
    "anthropic": (claude, "claude-sonnet-5-5", {"thinking": {"type": "adaptive"}}),
    "openai-chat": (chat, "gpt-4.1", {}),
    "openai-responses": (responses, "gpt-6-sol", {"store": False, "include": ["reasoning.encrypted_content"]}),
    "gemini": (google, "gemini-3.8-flash", {}),
}


def result(dialect: str, call: Any, text: str) -> dict[str, Any]:
    match dialect:
        case "anthropic":
            return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": text}]}
        case "openai-chat":
            return {"role": "tool", "tool_call_id": call.id, "content": text}
        case "openai-responses":
            return {"type": "function_call_output", "call_id": call.id, "output": text}
        case _:
            response = {"id": call.id, "name": call.name, "response": {"output": text}}
            return {"role": "user", "parts": [{"functionResponse": response}]}


def turn(session: cf.Session, server: StrictServer, ask: Ask, dialect: str, **settings: Any) -> list[int]:
    """The user asks, the model calls twice and answers; the seqs of the question, the calls and the results."""
    settings = {"dialect": dialect, "max_tokens": 500, **settings}
    seqs = [session.append({"role": "user", "content": f"Look at the files, please. {len(session.thread.events)}"})]
    server.answer(STEP, DONE)
    seqs.append(session.append(ask(session.prepare(tools=TOOLS, **settings))))
    calls = session.thread.message(seqs[-1]).calls
    seqs += [session.append(result(dialect, call, f"the file of {call.arguments}")) for call in calls]
    session.append(ask(session.prepare(**settings)))
    return seqs


@pytest.mark.seed("R7")
@pytest.mark.seed("R8")
@pytest.mark.parametrize("dialect", PROVIDERS)
def test_whatever_happens_to_a_thread_its_requests_are_taken(server: StrictServer, dialect: str) -> None:
    opened, model, settings = PROVIDERS[dialect]
    ask = opened(server)
    with cf.Session.open(model=model) as session:
        _, calls, first, _ = turn(session, server, ask, dialect, system="Be brief.", **settings)
        turn(session, server, ask, dialect, **settings)
        cleared = session.thread.fold([(first, 0)], "[cleared]")
        turn(session, server, ask, dialect, **settings)
        session.unfold(cleared)
        turn(session, server, ask, dialect, **settings)
        turn(session, server, ask, dialect, system="Be long.", **settings)
        session.fold(to=300)
        turn(session, server, ask, dialect, **settings)
        assert session.thread.message(calls).calls  # nothing is lost


def test_a_thread_goes_on_at_every_other_provider_and_comes_back(server: StrictServer) -> None:
    asks = {dialect: opened(server) for dialect, (opened, _, _) in PROVIDERS.items()}
    with cf.open(":memory:") as store:
        for dialect in (*PROVIDERS, *reversed(PROVIDERS)):
            _, model, settings = PROVIDERS[dialect]
            with cf.Session.on(store, "t", model) as session:
                turn(session, server, asks[dialect], dialect, system="Be brief.", **settings)
