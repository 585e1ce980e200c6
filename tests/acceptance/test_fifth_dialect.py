"""A wire format from outside goes all the way without a line elsewhere: said, folded, streamed, replayed, checked."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold import dialects, replay
from contextfold.testing import histories

pytestmark = pytest.mark.finding("H3")

SETTINGS = """
[models.parley-1]
max_input_tokens = 20000
max_output_tokens = 1000
dialect = "parley"
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A distribution that brings the dialect by one entry point, and a model that speaks it."""
    information = tmp_path / "parley-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: parley\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[contextfold.dialects]\nparley = tests.acceptance.parley:Parley\n")
    (tmp_path / "contextfold.toml").write_text(SETTINGS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("CONTEXTFOLD_TRUST", "1")
    monkeypatch.chdir(tmp_path)
    yield
    sys.path_importer_cache.clear()


def human(text: str) -> dict[str, Any]:
    return {"who": "human", "lines": [{"say": text}], "mood": "kept as it is"}


def call(ref: str, path: str) -> dict[str, Any]:
    return {"who": "bot", "lines": [{"say": "I look."}, {"do": "read", "ref": ref, "with": {"path": path}}]}


def result(ref: str, text: str) -> dict[str, Any]:
    return {"who": "human", "lines": [{"did": ref, "got": text}]}


def talk(session: cf.Session, turns: int) -> None:
    for number in range(turns):
        session.append(human(f"Read file {number}."))
        session.append(call("again", f"src/{number}.py"))  # the same id each time: they must come to differ
        session.append(result("again", f"line {number}\n" * 120))


def test_what_was_said_comes_back_byte_for_byte_and_is_sent_as_it_was() -> None:
    raw = json.dumps(human("hello"), separators=(", ", ":")).encode()
    with cf.Session.open(model="parley-1") as session:
        seq = session.append(raw)
        request = session.prepare()
        assert session.thread.message(seq).raw == raw
        assert request.dialect == "parley"
        assert request.body == {"model": "parley-1", "longest": 1000, "talk": [human("hello")]}


def test_a_dialect_that_is_named_reads_what_others_would_claim() -> None:
    chat = {"who": "human", "lines": [{"say": "hi"}], "role": "tool", "tool_call_id": "x", "parts": []}
    with cf.Session.open(model="claude-sonnet-5-5", dialect="parley") as session:
        session.append(chat)
        assert session.prepare().body["talk"] == [chat]
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        session.append(human("hi"), dialect="parley")
        assert session.prepare().body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]


def test_a_long_talk_is_folded_and_passes_its_own_strict_rules() -> None:
    with cf.Session.open(model="parley-1") as session:
        talk(session, 60)
        session.append(human("And now?"))
        request = session.prepare(max_tokens=500)
        assert request.report.folds
        assert cf.validate(request.body, dialect="parley") == []
        assert cf.repair(request.body, dialect="parley").is_sound
        refs = [line["ref"] for said in request.body["talk"] for line in said["lines"] if "do" in line]
        assert len(set(refs)) == len(refs)
        for fold in reversed(session.folds):
            session.thread.unfold(fold.id)
        assert session.view.length == 181


def test_it_is_asked_to_go_on_where_the_bot_spoke_last() -> None:
    with cf.Session.open(model="parley-1") as session:
        session.append(human("hello"))
        session.append({"who": "bot", "lines": [{"say": "hello"}]})
        assert [said["who"] for said in session.prepare().body["talk"]] == ["human", "bot", "human"]


def test_a_streamed_answer_is_recorded_with_its_bill() -> None:
    events = [{"piece": "He"}, {"piece": "llo"}, {"spent": {"in": 40, "out": 2}}]
    with cf.Session.open(model="parley-1") as session:
        session.append(human("hello"))
        session.prepare()
        recording = session.record(events)
        assert list(recording) == events
        assert recording.heard.is_complete
        assert recording.seq is not None
        assert session.thread.message(recording.seq).text == "Hello"
        assert session.stats.billed == 40


def test_its_calls_and_results_are_carried_to_every_other_dialect() -> None:
    with cf.Session.open(model="parley-1") as session:
        talk(session, 2)
        for name in dialects.names():
            request = session.prepare(dialect=name, max_tokens=500)
            assert cf.validate(request.body, dialect=request.dialect) == []


def test_recorded_sessions_are_replayed_in_it(tmp_path: Path) -> None:
    messages = list(histories.session(3, tokens=30_000))
    file = tmp_path / "run.jsonl"
    file.write_text("\n".join(json.dumps(message) for message in messages))
    report = replay.replay([file], replay.Settings(model="parley-1", reference=False, retention=False))
    (row,) = [row for row in report.rows if row.policy == "balanced"]
    assert row.model == "parley-1"
    assert row.folds
    assert (row.invalid, row.unfit) == (0, 0)
