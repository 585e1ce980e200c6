"""A conversation written for others: every event as it is, or what Roo Code would have of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.errors import BadConfiguration, StoreError

API, PANEL = "api_conversation_history.json", "ui_messages.json"


@pytest.fixture
def session() -> Iterator[cf.Session]:
    with cf.Session.open(thread="talk", model="claude-sonnet-4-5") as opened:
        for number in range(6):
            opened.append({"role": ("user", "assistant")[number % 2], "content": f"saying {number}"})
        yield opened


def exported(session: cf.Session, place: Path) -> list[dict[str, Any]]:
    session.export(place, format="roo")
    found: list[dict[str, Any]] = json.loads((place / API).read_text())
    return found


def texts(task: list[dict[str, Any]]) -> list[str]:
    return [each["content"] if isinstance(each["content"], str) else each["content"][0]["text"] for each in task]


def test_every_event_is_written_as_a_line(session: cf.Session, tmp_path: Path) -> None:
    session.export(tmp_path / "talk.jsonl")
    lines = (tmp_path / "talk.jsonl").read_text().splitlines()
    assert sum("saying" in line for line in lines) == 6
    assert len(lines) >= len(session.thread.events)


def test_a_format_that_nobody_knows_is_refused(session: cf.Session, tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match="jsonl, roo"):
        session.export(tmp_path / "x", format="pdf")  # type: ignore[arg-type]


@pytest.mark.parametrize("format", ["jsonl", "roo"])
def test_a_place_that_cannot_be_written_is_told(session: cf.Session, tmp_path: Path, format: Any) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"cannot be (written|made)"):
        session.export(tmp_path / "file" / "x", format=format)


def test_messages_stand_in_their_order_without_a_tag_where_nothing_is_folded(
    session: cf.Session, tmp_path: Path
) -> None:
    task = exported(session, tmp_path / "task")
    assert texts(task) == [f"saying {number}" for number in range(6)]
    assert not [each for each in task if {"condenseParent", "truncationParent"} & each.keys()]
    assert [each["role"] for each in task] == ["user", "assistant"] * 3


@pytest.mark.parametrize(
    ("kind", "role", "mark", "own", "parent"),
    [
        ("summary", "assistant", "isSummary", "condenseId", "condenseParent"),
        ("window", "user", "isTruncationMarker", "truncationId", "truncationParent"),
    ],
)
def test_a_stand_in_stands_behind_what_it_hides_and_in_front_of_what_stays(
    session: cf.Session, tmp_path: Path, kind: Any, role: str, mark: str, own: str, parent: str
) -> None:
    seqs = [item.seq for item in session.view.items]
    session.thread.fold(seqs[1:4], "What was said.", kind=kind)
    task = exported(session, tmp_path / "task")
    assert texts(task) == ["saying 0", "saying 1", "saying 2", "saying 3", "What was said.", "saying 4", "saying 5"]
    stand_in = task[4]
    assert (stand_in["role"], stand_in[mark]) == (role, True)
    assert [each.get(parent) for each in task] == [None, *[stand_in[own]] * 3, None, None, None]


def test_a_stand_in_goes_before_a_pinned_message_among_what_it_hides(session: cf.Session, tmp_path: Path) -> None:
    seqs = [item.seq for item in session.view.items]
    session.thread.fold([seqs[1], seqs[3]], "What was said.", kind="summary")
    task = exported(session, tmp_path / "task")
    assert texts(task) == ["saying 0", "saying 1", "What was said.", "saying 2", "saying 3", "saying 4", "saying 5"]


def test_a_fold_that_was_taken_back_leaves_no_trace(session: cf.Session, tmp_path: Path) -> None:
    seqs = [item.seq for item in session.view.items]
    session.thread.unfold(session.thread.fold(seqs[1:4], "What was said.", kind="summary"))
    assert len(exported(session, tmp_path / "task")) == 6


def test_the_panel_tells_of_a_fold_with_its_sizes_and_of_what_an_answer_was_billed(tmp_path: Path) -> None:
    with cf.Session.open(thread="talk", model="claude-sonnet-4-5") as session:
        session.append({"role": "user", "content": "saying 0"})
        session.prepare()
        usage = {
            "input_tokens": 10,
            "cache_read_input_tokens": 20,
            "cache_creation_input_tokens": 30,
            "output_tokens": 40,
        }
        answer = {"role": "assistant", "content": [{"type": "text", "text": "saying 1"}]}
        session.append({**answer, "type": "message", "id": "m", "model": "m", "usage": usage})
        session.append({"role": "user", "content": "saying 2"})
        seqs = [item.seq for item in session.view.items]
        session.thread.fold(seqs[:2], "What was said.", kind="summary")
        session.export(tmp_path / "task", format="roo")
    panel = (tmp_path / "task" / PANEL).read_text()
    billed = [json.loads(each["text"]) for each in json.loads(panel) if each.get("say") == "api_req_started"]
    assert {"tokensIn": 10, "tokensOut": 40, "cacheReads": 20, "cacheWrites": 30}.items() <= billed[0].items()
    assert "What was said." in panel
