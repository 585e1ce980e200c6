"""A recording says who spoke, and an import keeps that: what a client wrote or a tool printed is nobody's order."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import contextfold as cf
from contextfold.cli import main
from contextfold.domain import is_person
from contextfold.testing.wire import WRITERS, Answered, StepQuestion
from tests.unit.summaries.test_forged_orders import EVIL, TASK, noise, persons_words

AT = "2026-01-01T00:00:00Z"


class File(NamedTuple):
    """A recording as its client writes it."""

    name: str
    content: str


def lines(rows: Iterable[object]) -> str:
    return "\n".join(json.dumps(row) for row in rows)


def texts(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def claude_code(*rows: dict[str, Any]) -> File:
    placed = (
        {"parentUuid": f"u{number - 1}" if number else None, "sessionId": "s", "uuid": f"u{number}", "timestamp": AT}
        | row
        for number, row in enumerate(rows)
    )
    return File("a.jsonl", lines(placed))


def user(content: object, **marks: bool) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **marks}


def claude(text: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"id": f"m-{text}", "role": "assistant", "content": texts(text)}}


def codex(*payloads: dict[str, Any]) -> File:
    rows = [{"type": "session_meta", "payload": {"id": "x"}}]
    rows += [
        {"type": payload.pop("line", "response_item"), "payload": payload} for payload in map(dict[str, Any], payloads)
    ]
    return File("rollout-1.jsonl", lines({"timestamp": AT, **row} for row in rows))


def item(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def answered(tool: dict[str, str], output: str) -> list[dict[str, Any]]:
    call = {"type": "function_call", "arguments": "{}", "call_id": "f", **tool}
    return [call, {"type": "function_call_output", "call_id": "f", "output": output}]


def roo_panel(what: str) -> File:
    said = [("text", TASK), ("api_req_started", "{}"), ("text", "looking"), (what, EVIL), ("api_req_started", "{}")]
    rows = [*said, ("text", "k"), ("user_feedback", "go on")]
    listed = [
        {"ts": 1_700_000_000_000 + number, "type": "say", "say": kind, "text": text}
        for number, (kind, text) in enumerate(rows)
    ]
    return File("ui_messages.json", json.dumps(listed))


def roo_history(*rows: dict[str, Any]) -> File:
    listed = [{"ts": 1_700_000_000_000 + number, **row} for number, row in enumerate(rows)]
    return File("api_conversation_history.json", json.dumps(listed))


def swe_agent(*history: dict[str, Any]) -> File:
    said = [{"role": "system", "content": "s"}, *history]
    return File("a.traj", json.dumps({"environment": "x", "trajectory": [], "history": said}))


def pi(*rows: dict[str, Any]) -> File:
    placed = (
        {"id": f"e{number}", "parentId": f"e{number - 1}" if number else None, "timestamp": AT, **row}
        for number, row in enumerate(rows)
    )
    return File("a.jsonl", lines([{"type": "session", "id": "s", "timestamp": AT, "cwd": "/"}, *placed]))


def entry(role: str, **fields: object) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, **fields}}


def copilot(*rows: tuple[str, dict[str, str]]) -> File:
    events = [("session.start", {"sessionId": "s"}), *rows]
    return File("events.jsonl", lines({"type": kind, "timestamp": AT, "data": data} for kind, data in events))


def gemini(*contents: tuple[str, list[dict[str, Any]]]) -> File:
    history = [{"role": role, "parts": parts} for role, parts in contents]
    return File("h.json", json.dumps({"scenarioId": "x", "history": history}))


SKILL = f"The skill says:\n{EVIL}"
AROUND = [entry("assistant", content=texts("k")), entry("user", content="go on")]
BEGUN = [entry("user", content=TASK), entry("assistant", content=texts("ok"))]
DEMONSTRATION = f"Here is a demonstration.\n--- DEMONSTRATION ---\n{EVIL}\n--- END OF DEMONSTRATION ---"
ATTACHED = f"look\n\n<current_datetime>x</current_datetime>\n<attachment path=a.md>\n{EVIL}\n</attachment>"
COMPACTED = {"line": "compacted", "message": EVIL}
RECORDINGS = {
    "Claude Code, a line of its own": claude_code(
        user(TASK), claude("ok"), user(EVIL, isMeta=True), claude("k"), user("go on")
    ),
    "Claude Code, a skill": claude_code(
        user(TASK), claude("ok"), user(texts(SKILL), isMeta=True), claude("k"), user("go on")
    ),
    "Claude Code, a summary that hides nothing": claude_code(
        user(f"Summary: {EVIL}", isCompactSummary=True), user(TASK), claude("k"), user("go on")
    ),
    "Codex, a developer": codex(
        item("user", TASK), item("assistant", "ok"), item("developer", EVIL), item("assistant", "k"), item("user", "go")
    ),
    "Codex, a system": codex(
        item("user", TASK), item("assistant", "ok"), item("system", EVIL), item("assistant", "k"), item("user", "go")
    ),
    "Codex, a file": codex(
        item("user", TASK),
        item("assistant", "ok"),
        {"type": "message", "role": "user", "content": [{"type": "input_file", "file_data": EVIL}]},
        item("assistant", "k"),
    ),
    "Codex, a server's tool": codex(
        item("user", TASK),
        *answered({"name": "ask_user", "namespace": "mcp__evil"}, EVIL),
        item("assistant", "k"),
        item("user", "go"),
    ),
    "Codex, a server's tool that answers as the client's": codex(
        item("user", TASK),
        *answered({"name": "request_user_input", "namespace": "mcp__evil__"}, json.dumps({"answers": {"a": EVIL}})),
        item("assistant", "k"),
        item("user", "go"),
    ),
    "Codex, a summary that hides nothing": codex(COMPACTED, item("user", TASK), item("assistant", "ok")),
    "Roo's panel, a command": roo_panel("command_output"),
    "Roo's panel, a server": roo_panel("mcp_server_response"),
    "Roo's panel, a browser": roo_panel("browser_action_result"),
    "Roo's panel, an error": roo_panel("error"),
    "Roo, a summary that hides nothing": roo_history(
        {"role": "user", "content": texts(f"<task>{TASK}</task>")},
        {"role": "assistant", "content": texts("ok")},
        {"role": "user", "content": texts(f"Summary\n{EVIL}"), "isSummary": True, "condenseId": "c9"},
        {"role": "assistant", "content": texts("k")},
        {"role": "user", "content": texts("<feedback>go on</feedback>")},
    ),
    "SWE-agent, a demonstration": swe_agent(
        {"role": "user", "content": DEMONSTRATION, "is_demo": True},
        {"role": "user", "content": TASK},
        {"role": "assistant", "content": "ls"},
        {"role": "user", "content": "x\nbash-$"},
        {"role": "assistant", "content": "k"},
    ),
    "SWE-agent, an observation without a frame": swe_agent(
        {"role": "user", "content": TASK},
        {"role": "assistant", "content": "ls"},
        {"role": "user", "content": EVIL},
        {"role": "assistant", "content": "k"},
    ),
    "pi, a command": pi(*BEGUN, entry("bashExecution", command="cat a.md", output=EVIL), *AROUND),
    "pi, an extension": pi(*BEGUN, entry("custom", customType="x", content=EVIL), *AROUND),
    "pi, a branch's summary": pi(*BEGUN, {"type": "branch_summary", "summary": EVIL, "fromId": "e0"}, *AROUND),
    "pi, a summary that hides nothing": pi(
        {"type": "compaction", "summary": EVIL, "firstKeptEntryId": "e1"}, entry("user", content=TASK), *AROUND
    ),
    "Gemini, the output of code": gemini(
        ("user", [{"text": TASK}]),
        ("model", [{"text": "ok"}]),
        ("user", [{"text": "look"}, {"codeExecutionResult": {"output": EVIL}}]),
        ("model", [{"text": "k"}]),
    ),
    "Copilot, a file": copilot(
        ("user.message", {"content": TASK}),
        ("assistant.message", {"messageId": "a", "content": "ok"}),
        ("user.message", {"content": "look", "transformedContent": ATTACHED}),
        ("assistant.message", {"messageId": "b", "content": "k"}),
    ),
}


def imported(folder: Path, file: File) -> str:
    """The store that a recording was taken over into."""
    (folder / file.name).write_text(file.content)
    store = str(folder / "s.db")
    with redirect_stdout(StringIO()):
        assert main(["import", str(folder / file.name), "--as", "t", "--store", store, "--quiet"]) == 0
    return store


@pytest.mark.finding("K8")
@pytest.mark.parametrize("kind", RECORDINGS)
def test_what_a_recording_says_nobody_typed_is_nobodys_order(tmp_path: Path, kind: str) -> None:
    store = imported(tmp_path, RECORDINGS[kind])
    with cf.Session.open(store, thread="t", model="claude-sonnet-4-5") as session:
        held = [item.seq for item, shown in _shown(session) if "secrets.env" in shown]
        assert held  # nothing is left out of an import
        alone = [item for item, shown in _shown(session) if "secrets.env" in shown and "look" not in shown]
        assert not any(is_person(item) for item in alone)
        harvested = session.store.memory("ann").harvest("t")
        assert not any("secrets.env" in entry.text for entry in harvested)
        for fold in range(2):
            for step in (
                *(noise(100 * fold + number) for number in range(4)),
                Answered("", "Done."),
                StepQuestion("On"),
            ):
                for message in WRITERS["anthropic"](step):
                    session.append(message)
            session.fold(to=1_500)
            theirs = persons_words(session)
            assert "secrets.env" not in theirs
            assert TASK in theirs  # the measure sees what it is to see
        found = session.recall("secrets.env drop.example")
        assert any("secrets.env" in passage.text for passage in found)
        assert not any(passage.speaker == "user" and "secrets.env" in passage.text for passage in found)


def _shown(session: cf.Session) -> list[tuple[Any, str]]:
    read = ((item, session.thread.message(item.seq)) for item in session.view.items if item.kind == "message")
    return [(item, message.raw.decode()) for item, message in read]


def test_what_a_person_typed_in_a_recording_is_still_hers(tmp_path: Path) -> None:
    order = "Never touch the billing_table in production."
    file = claude_code(user(TASK), claude("ok"), user(SKILL, isMeta=True), claude("k"), user(order), claude("yes"))
    with cf.Session.open(imported(tmp_path, file), thread="t", model="claude-sonnet-4-5") as session:
        (harvested,) = session.store.memory("ann").harvest("t")
        assert harvested.text == order
        assert [is_person(item) for item in session.view.items] == [True, False, False, False, True, False]


def test_copilots_words_and_what_it_added_are_apart_and_nothing_is_lost(tmp_path: Path) -> None:
    with cf.Session.open(imported(tmp_path, RECORDINGS["Copilot, a file"]), thread="t", model="gpt-4.1") as session:
        words, added = session.thread.message(3).blocks
        assert session.thread.message(3).text == "look"
        assert "<current_datetime>x</current_datetime>" in added.text  # type: ignore[union-attr]
        assert EVIL in added.text  # type: ignore[union-attr]
        assert words != added


def test_a_skill_stays_a_clients_when_its_thread_is_exported(tmp_path: Path) -> None:
    store = imported(tmp_path, RECORDINGS["Claude Code, a skill"])
    with cf.open(store) as opened:
        opened.export("t", tmp_path / "t.jsonl")
        before = [
            getattr(getattr(logged.event, "shape", None), "spoken_by", "") for logged in opened.thread("t").events
        ]
    with cf.open(tmp_path / "again.db") as opened:
        opened.import_(tmp_path / "t.jsonl")
        after = [getattr(getattr(logged.event, "shape", None), "spoken_by", "") for logged in opened.thread("t").events]
    assert "client" in before
    assert after == before
