"""Why something was folded or sent, as people read it in either language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from contextfold.cli.inspect import translated
from contextfold.inspector.reasons import sentence, with_reasons

from .visitor import inspector_of

THREAD = "/threads/shop%2Frefunds"
RAW = re.compile(r"^[a-z]+(-[a-z0-9]+)*(: |$)")  # a word for programs, alone or in front


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("percent", "the window was filling up"),
        ("ladder-2", "the window was filling up"),
        (
            "percent: 9,000 of 10,000 tokens are used, folding begins at 8,000",
            "9,000 of 10,000 tokens are used, folding begins at 8,000",
        ),
        ("explicit: 9,000 of 10,000 tokens are used, folding begins at 0", "somebody asked for it"),
        ("clearing pays: $0.02 went into results", "clearing pays: $0.02 went into results"),
        ("whatever somebody wrote", "whatever somebody wrote"),
    ],
)
def test_a_reason_is_a_sentence_without_words_for_programs(reason: str, told: str) -> None:
    assert sentence(reason) == told


def test_reasons_are_found_wherever_they_stand_in_an_answer() -> None:
    answer = {"rows": [{"facts": {"reason": "limit", "trigger": "limit"}}], "reason": None, "parts": (1, "percent")}
    assert with_reasons(answer, str.upper) == {
        "rows": [{"facts": {"reason": "THE REQUEST DID NOT FIT", "trigger": "limit"}}],
        "reason": None,
        "parts": [1, "percent"],
    }


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_every_reason_of_a_session_is_said_in_the_readers_language(store_path: Path, language: str) -> None:
    visitor = await inspector_of(store_path, translate=translated).come_in()
    visitor.headers["accept-language"] = language
    rows = (await visitor.get(f"{THREAD}/rows", limit=200)).json["rows"]
    requests = (await visitor.get(f"{THREAD}/requests")).json["requests"]
    last = (await visitor.get(f"{THREAD}/requests/{requests[-1]['number']}")).json
    reasons = [row["facts"]["reason"] for row in rows if row["kind"] == "fold"]
    reasons += [each["reason"] for each in requests] + [each["reason"] for each in last["left_out"]]
    reasons.append((await visitor.get(f"{THREAD}/gauge")).json["reason"])
    assert len(set(reasons)) > 4
    for reason in reasons:
        assert not RAW.match(reason)
        assert (re.search("[ぁ-ん]", reason) is not None) == (language == "ja"), reason
    await visitor.inspector.close()
