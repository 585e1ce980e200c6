"""The provider's own compaction, over real HTTP: carried untouched, for its model only, and never the only copy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

import contextfold as cf
from contextfold.domain import Appended, Folded, encode
from contextfold.folding import Compacted
from contextfold.testing.server import StrictServer, faults
from tests.acceptance.judge import strict_server

MODEL, OTHER = "claude-sonnet-5-5", "claude-opus-5"
SAID = "The parser in src/parse.py keeps the port 8443 and the flag --strict, says the log of run 1204. " * 100


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server(bind_prefix=False) as running:
        yield running


@pytest.fixture
def claude(server: StrictServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key=server.token, max_retries=0) as client:
        yield client


@pytest.fixture
def gpt(server: StrictServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.token, max_retries=0) as client:
        yield client


@pytest.fixture(autouse=True)
def window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "80000")


class OnDemand:
    """A client that can summarize, and have its provider compact."""

    dialect = "anthropic"

    def __init__(self, client: anthropic.Anthropic) -> None:
        self.client = client
        self.asked: list[Mapping[str, Any]] = []

    def __call__(self, prompt: object) -> str:
        raise AssertionError(f"the provider compacts, nobody summarizes {type(prompt)}")

    def compact(self, body: Mapping[str, Any], dialect: str) -> Compacted:
        assert dialect == self.dialect
        self.asked.append(body)
        answer = self.client.beta.messages.create(**body, betas=["compact-2026-09-04"])
        (block,) = answer.content
        wire = {"role": "assistant", "content": [block.model_dump(mode="json", exclude_unset=True)]}
        return Compacted(encode(wire).decode(), wire["content"][0]["content"], answer.model)


def talk(session: cf.Session, turns: int, start: int = 0) -> None:
    for number in range(start, start + turns):
        session.append({"role": "user", "content": f"Question {number}. {SAID}"})
        session.append({"role": "assistant", "content": [{"type": "text", "text": f"Answer {number}. {SAID}"}]})


def ask(session: cf.Session, client: anthropic.Anthropic, text: str) -> cf.Request:
    session.append({"role": "user", "content": text})
    request = session.prepare(max_tokens=500)
    session.append(client.beta.messages.create(**request.body, betas=list(request.betas)))
    return request


def test_an_answer_with_a_compaction_is_recorded_with_its_fold(claude: anthropic.Anthropic, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with cf.Session.open(path, model=MODEL, policy=cf.recipes.balanced(native="prefer")) as session:
        talk(session, 11)
        request = ask(session, claude, "Go on.")
        assert request.body["context_management"]["edits"][0]["type"] == "compact_20260112"
        assert not request.report.folds
        (info,) = session.folds
        assert info.kind == "native"
        events = [entry.event for entry in session.thread.events]
        assert isinstance(events[-2 if isinstance(events[-1], Folded) else -3], Appended)
        after = ask(session, claude, "And now?")
        assert len(after.json) < len(request.json) / 5
        assert len(session.recall(fold=info.id)) == 23
    with cf.Session.open(path, policy=cf.recipes.balanced(native="prefer")) as session:
        ask(session, claude, "Still there?")
        session.unfold(info.id)
        whole = ask(session, claude, "Everything again.")
        assert len(whole.json) > len(request.json)
        assert b'"compaction"' not in whole.json


def test_another_model_gets_the_originals(claude: anthropic.Anthropic, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with cf.Session.open(path, model=MODEL, policy=cf.recipes.balanced(native="prefer")) as session:
        talk(session, 11)
        ask(session, claude, "Go on.")
        assert [info.kind for info in session.folds] == ["native"]
    with cf.Session.open(path, model=OTHER) as session:
        request = ask(session, claude, "What was the port?")
        assert "native" not in [info.kind for info in session.folds]
        assert b'"type":"compaction"' not in request.json
        assert b"Question 10." in request.json


@pytest.mark.finding("W6")
def test_on_demand_a_tail_stays_and_the_block_comes_first(claude: anthropic.Anthropic) -> None:
    maker = OnDemand(claude)
    with cf.Session.open(model=MODEL, policy=cf.recipes.balanced(summarizer=maker, native="prefer")) as session:
        talk(session, 11)
        request = ask(session, maker.client, "Go on.")
        assert [fold.kind for fold in request.report.folds] == ["native"]
        assert request.betas == ("compact-2026-09-04",)
        blocks = [block["type"] for block in request.body["messages"][0]["content"]]
        assert blocks == ["compaction"]
        assert b"Question 10." in request.json
        assert b"Question 1." not in request.json
        assert maker.asked[0]["compaction"] == {"type": "summarize"}
        (info,) = session.folds
        session.unfold(info.id)
        assert session.view.messages[0].text.startswith("Question 0.")


def test_a_provider_that_fails_leaves_it_to_the_next_stage(server: StrictServer, claude: anthropic.Anthropic) -> None:
    maker = OnDemand(claude)
    server.always(faults.broken())
    policy = cf.recipes.balanced(summarizer=maker, native="prefer").with_(summarizer=None)
    with cf.Session.open(model=MODEL, policy=policy) as session:
        talk(session, 11)
        session.append({"role": "user", "content": "Go on."})
        report = session.prepare(max_tokens=500).report
        assert [fold.kind for fold in report.folds] == ["summary"]
        assert any(attempt.strategy == "native" and attempt.refusal == "failed" for attempt in report.attempts)


def test_responses_compact_inline(gpt: openai.OpenAI) -> None:
    with cf.Session.open(model="gpt-6-sol", policy=cf.recipes.balanced(native="prefer")) as session:
        for number in range(11):
            session.append({"role": "user", "content": f"Question {number}. {SAID}"})
            session.append({"role": "assistant", "content": f"Answer {number}. {SAID}"})
        session.append({"role": "user", "content": "Go on."})
        request = session.prepare(dialect="openai-responses")
        assert request.body["context_management"][0]["type"] == "compaction"
        session.append(gpt.responses.create(**request.body))
        assert [info.kind for info in session.folds] == ["native"]
        session.append({"role": "user", "content": "And now?"})
        after = session.prepare(dialect="openai-responses")
        assert len(after.json) < len(request.json) / 5
        session.append(gpt.responses.create(**after.body))


class Endpoint:
    """The same for OpenAI, by its endpoint."""

    dialect = "openai-responses"

    def __init__(self, client: openai.OpenAI) -> None:
        self.client = client

    def __call__(self, prompt: object) -> str:
        raise AssertionError(f"the provider compacts, nobody summarizes {type(prompt)}")

    def compact(self, body: Mapping[str, Any], dialect: str) -> Compacted:
        assert dialect == self.dialect
        answer = self.client.responses.with_raw_response.compact(**body)
        return Compacted(encode(answer.http_response.json()["output"]).decode())


def test_responses_compact_by_the_endpoint(gpt: openai.OpenAI) -> None:
    maker = Endpoint(gpt)
    policy = cf.recipes.balanced(summarizer=maker, native="prefer")
    with cf.Session.open(model="gpt-6-sol", policy=policy) as session:
        for number in range(11):
            session.append({"type": "message", "role": "user", "content": f"Question {number}. {SAID}"})
            output = [{"type": "output_text", "text": f"Answer {number}. {SAID}", "annotations": []}]
            said = {"type": "message", "id": f"msg_{number}", "status": "completed", "role": "assistant"}
            session.append({**said, "content": output})
        session.append({"type": "message", "role": "user", "content": "Go on."})
        request = session.prepare(dialect="openai-responses")
        assert [fold.kind for fold in request.report.folds] == ["native"]
        assert "compaction" in [item["type"] for item in request.body["input"]]
        session.append(maker.client.responses.create(**request.body))


def test_results_that_the_provider_cleared_are_folded_here_too(claude: anthropic.Anthropic) -> None:
    tools = [{"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}]
    with cf.Session.open(model=MODEL, policy=cf.recipes.balanced(native="clear"), tools=tools) as session:
        session.append({"role": "user", "content": "Read them."})
        for number in range(6):
            call = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": f"{number}.py"}}
            session.append({"role": "assistant", "content": [call]})
            result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"{number}. {SAID * 2}"}
            session.append({"role": "user", "content": [result]})
        request = session.prepare(max_tokens=500)
        assert not request.report.folds, request.report
        assert request.betas == ("context-management-2025-06-27",)
        session.append(claude.beta.messages.create(**request.body, betas=list(request.betas)))
        (info,) = session.folds
        assert (info.kind, len(info.cover.blocks)) == ("native", 3)
        before = session.desk.thread.lens.calibration
        ask(session, claude, "And now?")
        session.unfold(info.id)
        assert before.is_neutral  # a bill for less than was sent says nothing about our counts
        session.append({"role": "user", "content": "All of it."})
        assert b"0. The parser" in session.prepare(max_tokens=500).json
