"""The judge itself: it takes what the SDKs' types take, objects to what they do not know, and nobody goes around it."""

import re
from pathlib import Path
from typing import Any

import pytest

from contextfold.testing.server import Exchange
from tests.acceptance.judge import objections

pytestmark = pytest.mark.finding("W13")

HERE = Path(__file__).parent
SAID = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
BODIES: dict[str, dict[str, Any]] = {
    "anthropic": {"model": "claude-sonnet-5-5", "max_tokens": 5, "messages": SAID},
    "openai-chat": {"model": "gpt-4.1", "messages": SAID},
    "openai-responses": {"model": "gpt-6-sol", "input": [{"role": "user", "content": "Hi"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": {"maxOutputTokens": 5}},
}


@pytest.mark.parametrize("format", BODIES)
def test_what_an_sdk_would_send_is_not_objected_to(format: str) -> None:
    assert objections(Exchange(format, "/", BODIES[format], 200)) == []


@pytest.mark.parametrize("format", BODIES)
def test_a_name_that_no_sdk_knows_is_objected_to(format: str) -> None:
    body = BODIES[format]
    said = next(name for name in ("messages", "input", "contents") if name in body)
    for broken in ({**body, "mood": "good"}, {**body, said: [{**body[said][0], "mood": "good"}]}):
        assert any("mood" in found for found in objections(Exchange(format, "/", broken, 200)))


@pytest.mark.parametrize("format", BODIES)
def test_a_value_of_another_type_is_objected_to(format: str) -> None:
    body = BODIES[format]
    said = next(name for name in ("messages", "input", "contents") if name in body)
    assert objections(Exchange(format, "/", {**body, said: [{"role": "nobody", "content": 7}]}, 200))


def test_every_acceptance_test_has_its_requests_judged() -> None:
    around = re.compile(r"^from contextfold\.testing\.server import .*\bstrict_server\b", re.MULTILINE)
    unjudged = {path.name for path in HERE.glob("test_*.py") if around.search(path.read_text(encoding="utf-8"))}
    assert unjudged == {"test_agents.py", "test_claude_code_plugin.py"}, "what others render is theirs"
