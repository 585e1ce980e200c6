"""What stays in view is measured as the shared harness measures it: same literals, same needs, same scores.

The harness lives beside the repository with the recorded sessions; without it there is nothing to compare with.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from contextfold.domain import Block, Message, Reasoning, Text, ToolCall, ToolResult
from contextfold.replay.measures import ViewSnapshot, needed, retained
from contextfold.replay.notes import Literal, Notes, literals_in, orders_kept, phrases_in, sentences_in, without_gutters

HARNESS = Path(__file__).parents[4] / "shared" / "measure" / "retention"
OUR_WORDS = {"cmdarg": "flag"}

pytestmark = pytest.mark.skipif(
    not (HARNESS / "retention.py").is_file(), reason="needs the harness and the recorded sessions in ../shared"
)


@pytest.fixture(scope="module")
def harness() -> Any:
    sys.path.insert(0, str(HARNESS))
    try:
        import corpus  # type: ignore[import-not-found]  # noqa: PLC0415 - beside the repository, not part of it
        import literals  # type: ignore[import-not-found]  # noqa: PLC0415
        import retention  # type: ignore[import-not-found]  # noqa: PLC0415
    finally:
        sys.path.remove(str(HARNESS))
    corpus.restore_model = lambda *_: []  # needs a downloaded vocabulary, and is not used here
    return corpus, literals, retention


@pytest.fixture(scope="module")
def run(harness: Any) -> Any:
    """One session of a few hundred messages, annotated by the harness."""
    corpus, _, retention = harness
    chosen = next(each for each in corpus.load(["dev"], formats={"codex"}) if 150 < len(each.messages) < 400)
    retention.annotate(chosen)
    return chosen


def ours(found: Any) -> set[Literal]:
    return {Literal(OUR_WORDS.get(kind, kind), key) for kind, key in found}


def message(raw: Any) -> Message:
    return Message(raw["role"], tuple(block(each) for each in raw["content"]))


def block(raw: Any) -> Block:
    match raw["type"]:
        case "tool_use":
            return ToolCall(raw["id"], raw["name"], json.dumps(raw["input"], ensure_ascii=False))
        case "tool_result":
            return ToolResult(raw["tool_use_id"], (Text(raw["content"]),), raw["is_error"])
        case "thinking":
            return Reasoning(raw["thinking"])
        case _:
            return Text(raw["text"])


def notes_of(run: Any) -> Notes:
    typed = [any(each.get("_human") for each in raw["content"]) for raw in run.messages]
    return Notes([message(raw) for raw in run.messages], typed, run.system)


def test_the_same_literals_are_found(harness: Any, run: Any) -> None:
    corpus, literals, _ = harness
    texts = [corpus.literal_text(each) for raw in run.messages for each in raw["content"]]
    for text in texts:
        assert literals_in(without_gutters(text)) == ours(literals.uses(literals.clean(text)))
        assert phrases_in(text) == ours(literals.quoted(text))
    assert len(texts) > 100


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_the_same_literals_are_needed_and_kept(harness: Any, run: Any, share: float) -> None:
    _, _, retention = harness
    start, end = int(len(run.messages) * share), len(run.messages)
    notes = notes_of(run)
    need = retention.needed(run, start, end, set())
    assert needed(notes, start, end, notes.said_before(start)) == ours(need.strict)

    kept = run.messages[start - 20 : start]
    view = [{"role": "user", "content": [{"type": "text", "text": "See `src/a.go` and --force-with-lease."}]}, *kept]
    have, text = retention.view_lits(view)
    strict = retention.score(need.strict, have, text)
    grounded = retention.grounded(need.strict, have, text, need.contexts)
    seen = ViewSnapshot(start, frozenset(ours(have)), text, frozenset(), "")
    found = retained(notes, seen, end)
    assert found is not None
    assert (found.strict.of, found.strict.kept) == (
        sum(pair[0] for pair in strict.values()),
        sum(pair[1] for pair in strict.values()),
    )
    assert [found.grounded.of, found.grounded.kept] == grounded


def test_the_same_orders_are_kept(harness: Any, run: Any) -> None:
    _, _, retention = harness
    start = len(run.messages)
    theirs = retention.sentences(run, start)
    places = {
        id(each): (number, at) for number, raw in enumerate(run.messages) for at, each in enumerate(raw["content"])
    }
    sentences = [
        sentence
        for raw in run.messages
        for each in raw["content"]
        if each.get("_human")
        for sentence in sentences_in(each["text"], places[id(each)])
    ]
    assert [(each.text, each.is_order) for each in sentences][-400:] == [(text, order) for _, text, order in theirs]
    digest = "\n".join(text for _, text, _ in theirs[::2]) + "\nThe user wants something else entirely here."
    view = [{"role": "user", "content": [{"type": "text", "text": digest}]}, *run.messages[-4:]]
    in_view = {places[id(each)] for raw in run.messages[-4:] for each in raw["content"]}
    _, (orders, kept) = retention.sentence_kept(theirs, view)
    assert orders_kept(sentences[-400:], in_view, digest) == (kept, orders)
    assert orders > 0
