"""Requests broken on purpose, each in one rule: the validators must find every one, the strict server must refuse it,
and the repair must make it whole without losing a word."""

import copy
import json
from collections.abc import Iterator
from http.client import HTTPConnection
from random import Random
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import contextfold as cf
from contextfold import dialects
from contextfold.dialects.wire import RULE, whole
from contextfold.testing.server import Flavour, StrictServer, strict_server
from tests.property import mutants_anthropic, mutants_gemini, mutants_openai_chat, mutants_openai_responses

Body = dict[str, Any]
SEEDS = range(50)
MODULES: dict[str, ModuleType] = {
    "anthropic": mutants_anthropic,
    "openai-chat": mutants_openai_chat,
    "openai-responses": mutants_openai_responses,
    "gemini": mutants_gemini,
}
PATHS = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-2.5-pro:generateContent",
    "gemini:signed": "/v1beta/models/gemini-3.8-flash:generateContent",
}
# Where we are stricter than the strict server: what some servers take and others do not.
STRICTER = {
    "anthropic": set[str](),
    "openai-chat": {"empty-message"},
    "openai-responses": {"empty-message"},
    "gemini": {"duplicate-call", "ends-with-model", "first-from-user"},
}


class Mutant(NamedTuple):
    dialect: str
    rule: str
    seed: int
    body: Body

    @property
    def name(self) -> str:
        return f"{self.dialect} {self.rule} {self.seed}"


def mutants(dialect: str, seeds: range = SEEDS) -> Iterator[Mutant]:
    module = MODULES[dialect]
    for rule, mutate in module.MUTATIONS.items():
        spoken = getattr(module, "FLAVOURS", {}).get(rule, dialect)
        for seed in seeds:
            body = module.build(Random(f"body {seed}"))
            mutate(body, Random(f"{seed} {rule}"))
            yield Mutant(spoken, rule, seed, body)


def rules_of(dialect: str) -> set[str]:
    package = getattr(dialects, dialect.replace("-", "_"))
    return {str(rule.__name__).replace("_", "-") for rule in package.RULES} | {"malformed", RULE}


@pytest.fixture(params=MODULES)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_rule_has_its_mutants(dialect: str) -> None:
    assert rules_of(dialect) <= set(MODULES[dialect].MUTATIONS)
    assert len(SEEDS) >= 50


def test_every_mutant_is_found_by_its_rule_alone_and_repaired_for_good(dialect: str) -> None:
    for mutant in mutants(dialect):
        before = copy.deepcopy(mutant.body)
        assert {each.rule for each in cf.validate(mutant.body, dialect=mutant.dialect)} == {mutant.rule}, mutant.name
        repaired = cf.repair(mutant.body, dialect=mutant.dialect)
        assert mutant.body == before, "the caller's own body stays as it was"
        assert repaired.problems == (), mutant.name
        assert repaired.repairs, "each repair is told"
        assert cf.repair(repaired.body, dialect=mutant.dialect).repairs == (), mutant.name
        assert lost(mutant.body, repaired.body) == [], mutant.name


def lost(before: Any, after: Body) -> list[str]:
    """Words that were said before and are not there any more. Reasoning that lost its proof is not words."""
    shown = json.dumps(after, ensure_ascii=False)
    return [words for words in said(before) if json.dumps(whole(words), ensure_ascii=False)[1:-1] not in shown]


def said(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from said(each)
    elif isinstance(value, dict) and value.get("type") not in ("thinking", "redacted_thinking", "reasoning"):
        for name, each in value.items():
            if name == "input" and not isinstance(each, list):
                continue  # a tool's arguments
            if name in ("text", "content", "output", "parts", "messages", "input", "contents", "response"):
                yield from [each] if isinstance(each, str) and each.strip() else said(each)
            elif isinstance(each, dict):
                yield from said(each)


class Provider:
    """The strict server, asked over one connection for each flavour."""

    def __init__(self) -> None:
        self._entered: list[Any] = []
        self._servers: dict[str, StrictServer] = {}

    def status(self, dialect: str, body: Body) -> int:
        server = self._server(dialect)
        name = dialect if dialect == "gemini:signed" else dialect.partition(":")[0]
        headers = {
            "content-type": "application/json",
            "x-api-key": server.token,
            "x-goog-api-key": server.token,
            "authorization": f"Bearer {server.token}",
            "anthropic-version": "2023-06-01",
        }
        connection = HTTPConnection(server.url.removeprefix("http://"), timeout=60)
        try:
            connection.request("POST", PATHS[name], json.dumps(body).encode(), headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def _server(self, dialect: str) -> StrictServer:
        flavour = {
            "openai-chat:deepseek": Flavour(wants_reasoning=True),
            "openai-chat:bedrock": Flavour(alternates=True),
            "openai-chat:no-tools": Flavour(alternates=True, has_tool_role=False),
            "openai-responses:adjacent": Flavour(adjacent=True),
        }.get(dialect, Flavour())
        key = dialect if dialect.startswith("openai") else ""
        if key not in self._servers:
            context = strict_server(flavour=flavour, trust_foreign_seals=True)
            server = context.__enter__()
            server.always("ok")
            self._entered.append(context)
            self._servers[key] = server
        return self._servers[key]

    def close(self) -> None:
        for context in self._entered:
            context.__exit__(None, None, None)


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.close()


def test_mutants_are_refused_by_the_strict_server_and_taken_once_repaired(dialect: str, provider: Provider) -> None:
    """A tenth of them, over HTTP; `python -m benchmarks wires` sends them all."""
    for mutant in mutants(dialect, SEEDS[::10]):
        is_refused = provider.status(mutant.dialect, mutant.body) == 400
        assert is_refused or mutant.rule in STRICTER[dialect], mutant.name
        repaired = cf.repair(mutant.body, dialect=mutant.dialect).body
        assert provider.status(mutant.dialect, repaired) == 200, mutant.name
