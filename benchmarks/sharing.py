"""What a summary by the model that is spoken to costs when it is asked at the end of its own conversation.

Runs against the strict server over real HTTP: its bill, not ours. Beside it the same question as a prompt of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

import contextfold as cf
from benchmarks.frame import Row, at_least, at_most
from contextfold.testing.server import Exchange, Say, StrictServer, strict_server

WINDOW, KEYS = 24_000, ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
SAID = "The parser in src/parse.py keeps the port 8443 and the flag --strict, says line 1204. " * 30
HEADINGS = (
    "Previous conversation",
    "Current work",
    "Key technical concepts",
    "Relevant files and code",
    "Problem solving",
    "Pending tasks and next steps",
)
SUMMARY = "\n".join(
    f"{number}. {heading}: The parser in src/parse.py keeps its port and its flag, and the tests pass again."
    for number, heading in enumerate(HEADINGS, 1)
)
MODELS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "Claude": ("anthropic", "claude-sonnet-5-5", "/v1/messages", {"cache": True}),
    "GPT, Chat Completions": ("openai", "gpt-6-sol", "/v1/chat/completions", {"dialect": "openai-chat"}),
    "GPT, Responses": ("openai", "gpt-6-sol", "/v1/responses", {"dialect": "openai-responses"}),
    "Gemini": ("gemini", "gemini-3.8-flash", "/v1beta/models/gemini-3.8-flash:generateContent", {}),
}


def run() -> list[Row]:
    rows: list[Row] = []
    for name, (provider, model, path, settings) in MODELS.items():
        shared, alone = (
            _summary(provider, model, path, settings, True),
            _summary(provider, model, path, settings, False),
        )
        rows.append(at_least(f"{name}: summary's input read from cache", shared.usage.read / shared.usage.input, 0.9))
        rows.append(at_most(f"{name}: its cost / the same asked by itself", shared.cost / alone.cost, 0.5))
    return rows


def _summary(provider: str, model: str, path: str, settings: dict[str, Any], is_shared: bool) -> Exchange:
    """Turns until something is folded; the exchange in which the summary was written."""
    with strict_server() as server, _environment(server), httpx.Client(trust_env=False) as client:
        server.always(lambda asked: Say(SUMMARY) if "six headings" in str(asked.body) else Say("Done."))
        base = f"{server.url}/v1" if provider == "openai" else server.url
        writer = getattr(cf.providers, provider)(model, base_url=base)
        summarizer = writer if is_shared else writer.__call__  # a method has no model's name, so nothing is shared
        with cf.Session.open(model=model, policy=cf.recipes.balanced(summarizer=summarizer)) as session:
            for number in range(60):
                session.append({"role": "user", "content": f"Question {number}. {SAID}"})
                request = session.prepare(max_tokens=4_000, **settings)
                if request.report.folds:
                    return server.last
                session.append(_sent(client, server, path, request))
    raise AssertionError("nothing was folded")


def _sent(client: httpx.Client, server: StrictServer, path: str, request: cf.Request) -> Any:
    headers = {"authorization": f"Bearer {server.token}", "x-goog-api-key": server.token}
    headers |= {"anthropic-version": "2023-06-01", "content-type": "application/json"}
    body = {name: value for name, value in request.body.items() if name != "model" or "/models/" not in path}
    answer = client.post(server.url + path, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


@contextmanager
def _environment(server: StrictServer) -> Iterator[None]:
    wanted = {**dict.fromkeys(KEYS, server.token), "CONTEXTFOLD_MAX_INPUT_TOKENS": str(WINDOW)}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
