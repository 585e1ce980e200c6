"""`contextfold fold --summarizer`: a real SDK asks a strict provider; when that fails, the digest takes over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.cli import main
from contextfold.testing import histories
from contextfold.testing.server import StrictServer, faults
from tests.acceptance.judge import strict_server

SUMMARY = (
    "## Earlier work\nThe nightly job for subscriptions was made fast again; SHOP-3942 is done.\n"
    "## Key technical ideas\nrepository.py holds the query; Decimal is used for money.\n"
    "## Files and code\nsrc/shop/subscriptions/repository.py was edited.\n"
    "## Problems solved\nThe comparison excluded the boundary.\n"
    "## Pending work\nThe nightly job has no test.\n## Current work\nRunning the tests.\n"
)


@pytest.fixture
def folding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store with a thread in it, where commands look for it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LANG", raising=False)
    with cf.Session.open("contextfold.db", thread="t", model="claude-sonnet-5-5") as session:
        for message in histories.session(7, tokens=6_000):
            session.append(message)


def point_at(server: StrictServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", server.token)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", server.token)


@pytest.mark.usefixtures("folding")
@pytest.mark.parametrize("model", ["claude-haiku-5-5", "my-own-llama"])
def test_a_model_of_your_choice_writes_the_summary(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with strict_server() as server:
        point_at(server, monkeypatch)
        server.always(SUMMARY)
        assert main(["fold", "--summarizer", model, "--instructions", "name the tickets", "--to", "3k", "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert "SHOP-3942 is done" in report["folds"][0]["text"]
        assert server.refused == []
        assert "name the tickets" in json.dumps(server.exchanges[0].request)
        assert {attempt["model"] for attempt in report["attempts"]} >= {model}


@pytest.mark.usefixtures("folding")
def test_a_provider_that_fails_costs_nothing_but_a_note(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with strict_server() as server:
        point_at(server, monkeypatch)
        server.always(faults.unauthorized())
        assert main(["fold", "--summarizer", "claude-haiku-5-5", "--to", "3k"]) == 0
        told = capsys.readouterr()
        assert "tokens became" in told.out
        assert server.token not in told.out + told.err


@pytest.mark.usefixtures("folding")
def test_a_model_that_nobody_serves_is_an_error_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert main(["fold", "--summarizer", "my-own-llama"]) == 2
    assert "my-own-llama" in capsys.readouterr().err
