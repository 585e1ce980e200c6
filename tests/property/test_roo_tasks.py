"""A thousand tasks, folded, nested and rewound, exported and compared with the seed's own two lists."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest

import contextfold as cf
from contextfold import transcripts
from contextfold.domain import decode
from contextfold.errors import BadMessage
from contextfold.session.export import roo_task
from contextfold.transcripts.roo_task import API_FILE, UI_FILE
from tests.property.roo_model import EVENTS, Entry, RooModel, cleanup_after_truncation

TASKS = 1_000
MODEL = "claude-sonnet-5-5"
KINDS: tuple[Literal["summary", "window"], ...] = ("summary", "window")


class Both:
    """A session and the model of the seed, told the same."""

    def __init__(self, session: cf.Session, random: Random) -> None:
        self.session, self.random, self.model = session, random, RooModel()
        self.seqs: dict[int, int] = {}  # by the model's time
        self.done: set[str] = set()

    def say(self) -> None:
        said = [entry for entry in self.model.api if not entry.get("isSummary") and not entry.get("isTruncationMarker")]
        role = "user" if not said or said[-1]["role"] == "assistant" else "assistant"
        role = self.random.choice(["user", role])  # two of a kind in a row, as in life
        text = f"{role} {self.random.randrange(10**6)}"
        seq = self.session.thread.append({"role": role, "content": text})
        self.seqs[self.model.say(role, text)] = seq

    def hide(self) -> None:
        """A run of what shows, stand-ins included, but not all of it: something is kept behind."""
        visible = self.model.effective()
        if len(visible) < 3:
            return self.say()
        first = self.random.randrange(len(visible) - 2)
        last = self.random.randrange(first, len(visible) - 1)
        kind = self.random.choice(KINDS)
        text = f"{kind} of {last - first + 1}"
        covered = [self._name(entry) for entry in visible[first : last + 1]]
        fold = self.session.thread.fold(covered, text, kind=kind)
        self.model.hide(kind, first, last, str(fold), text)
        self.done.add("nested" if any(entry.get("isSummary") for entry in visible[first : last + 1]) else kind)
        return None

    def rewind(self) -> None:
        """To before any message the panel still shows."""
        targets = [entry["ts"] for entry in self.model.ui if entry["say"] not in EVENTS]
        if len(targets) < 2:
            return self.say()
        ts = self.random.choice(targets[1:])
        had = {entry.get("condenseId") for entry in self.model.api}
        self.session.rewind(before=self.seqs[ts])
        self.model.rewind_to(ts)
        self.done.add("rewound" if had == {entry.get("condenseId") for entry in self.model.api} else "rewound a fold")
        return None

    def _name(self, entry: Entry) -> int:
        own = entry.get("condenseId") or entry.get("truncationId")
        return int(own) if own else self.seqs[entry["ts"]]


def without_times(entries: list[Entry]) -> list[Entry]:
    return [{name: value for name, value in entry.items() if name != "ts"} for entry in entries]


def panel(entries: list[Entry]) -> list[tuple[str, Any]]:
    """What an entry says and names; how large things were is not the model's business."""
    return [
        (entry["say"], entry[EVENTS[entry["say"]][0]][EVENTS[entry["say"]][1]])
        if entry["say"] in EVENTS
        else (entry["say"], entry["text"])
        for entry in entries
        if entry["say"] != "api_req_started"
    ]


def check(both: Both) -> None:
    task = roo_task(both.session.desk)
    api, ui = decode(task.api_list()), decode(task.ui_list())
    assert without_times(api) == without_times(both.model.api)
    assert cleanup_after_truncation(api) == api
    assert panel(ui) == panel(both.model.ui)
    assert [entry["ts"] for entry in api] == sorted({entry["ts"] for entry in api})
    assert [entry["ts"] for entry in ui] == sorted({entry["ts"] for entry in ui})
    told = {entry["ts"] for entry in api}
    assert {entry["ts"] for entry in ui if "text" in entry and entry["say"] != "api_req_started"} <= told


@pytest.mark.seed("R28", "R29", "R39", "E29")
def test_a_thousand_tasks_are_exported_as_the_seed_would_have_them() -> None:
    done: set[str] = set()
    for number in range(TASKS):
        with cf.Session.open(model=MODEL) as session:
            both = Both(session, Random(number))
            for _ in range(both.random.randrange(4, 28)):
                both.random.choice([both.say, both.say, both.say, both.hide, both.rewind])()
            check(both)
            done |= both.done
    assert done == {"summary", "window", "nested", "rewound", "rewound a fold"}


def test_tasks_come_back_as_threads_that_show_the_same_and_are_written_the_same(tmp_path: Path) -> None:
    with cf.open() as store:
        for number in range(60):
            with cf.Session.open(model=MODEL) as session:
                both = Both(session, Random(number))
                for _ in range(24):
                    both.random.choice([both.say, both.say, both.hide, both.rewind])()
                task = tmp_path / f"task-{number}"
                session.export(task, format="roo")
                shown = [message.text for message in session.view.messages]
            back = cf.Session.on(store, store.import_(task).name, MODEL)
            assert [message.text for message in back.view.messages] == shown
            back.export(tmp_path / "again" / f"{number}", format="roo")
            for name in (API_FILE, UI_FILE):
                first, second = (
                    decode((place / name).read_bytes()) for place in (task, tmp_path / "again" / f"{number}")
                )
                assert without_ids(first) == without_ids(second)


def without_ids(entries: list[Entry]) -> list[Entry]:
    """Ids by the order in which they are first named; sizes and times are of the day."""
    text = json.dumps([{key: each[key] for key in each if key != "ts"} for each in entries])
    ids = dict.fromkeys(re.findall(r'"(?:condenseId|truncationId|condenseParent|truncationParent)": "(\d+)"', text))
    for number, id in enumerate(ids):
        text = re.sub(rf'(Id|Parent)": "{id}"', rf'\1": "n{number}"', text)
    return list(json.loads(text))


def test_what_roo_left_half_said_is_refused_with_its_place(tmp_path: Path) -> None:
    with cf.open() as store:
        with pytest.raises(cf.NotFound, match=API_FILE):
            store.import_(tmp_path)
        (tmp_path / API_FILE).write_text("{}")
        with pytest.raises(BadMessage, match="no list"):
            store.import_(tmp_path)
        (tmp_path / API_FILE).write_text('[{"role": "user", "content": "x"}, {"role": "nobody"}]')
        with pytest.raises(BadMessage, match="Entry 2"):
            store.import_(tmp_path)
        assert store.threads() == []


def test_a_tag_that_would_part_a_pair_hides_nothing_and_loses_nothing(tmp_path: Path) -> None:
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "read", "input": {}}]}
    back = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "b"}]}
    marker = {"role": "user", "content": "[1 hidden]", "isTruncationMarker": True, "truncationId": "t"}
    entries = [{"role": "user", "content": "go"}, call | {"truncationParent": "t"}, marker, back]
    (tmp_path / API_FILE).write_text(json.dumps(entries))
    with cf.open() as store:
        thread = store.import_(tmp_path, name="task")
        assert [message.seq for message in thread.view.messages] == [1, 2, 3]
        assert thread.message(2).calls[0].id == "a"


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    with cf.Session.open(model=MODEL) as session:
        said = [{"role": role, "content": f"{role} {number}"} for number in range(6) for role in ("user", "assistant")]
        for message in said:
            session.append(message)
        session.thread.fold([3, 4, 5, 6], "what happened so far")
        session.thread.fold([1, 2], "[2 messages are hidden]", kind="window")
        session.export(tmp_path / "task", format="roo")
    (api,) = transcripts.read(tmp_path / "task" / API_FILE)
    assert [turn.message for turn in api.turns] == said
    assert [(each.kind, each.summary) for each in api.compactions] == [
        ("window", ""),
        ("summary", "what happened so far"),
    ]
    (ui,) = transcripts.read(tmp_path / "task" / UI_FILE)
    assert [turn.message["content"][0]["text"] for turn in ui.turns] == [message["content"] for message in said]
    assert [each.kind for each in ui.compactions] == ["summary", "window"]


def test_calls_images_and_bills_are_exported_as_they_were(tmp_path: Path) -> None:
    call = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "a", "name": "read", "input": {"n": 12345678901234567890}}],
    }
    back = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "b"}]}
    usage = {"input_tokens": 40, "output_tokens": 7, "cache_read_input_tokens": 3}
    with cf.Session.open(model=MODEL) as session:
        for message in ({"role": "user", "content": "go"}, call, back):
            session.append(message)
        session.prepare()
        session.append(
            {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "ok"}], "usage": usage}
        )
        session.export(tmp_path / "task", format="roo")
    api = decode((tmp_path / "task" / API_FILE).read_bytes())
    ui = decode((tmp_path / "task" / UI_FILE).read_bytes())
    assert [{"role": each["role"], "content": each["content"]} for each in api[1:3]] == [call, back]
    billed = [decode(each["text"]) for each in ui if each["say"] == "api_req_started"]
    assert billed[-1] == {"tokensIn": 40, "tokensOut": 7, "cacheReads": 3}


def test_messages_of_another_dialect_are_written_as_roo_has_them() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "x"}'}}
    with cf.Session.open(model="gpt-5") as session:
        session.append({"role": "user", "content": "go"})
        session.append({"role": "assistant", "content": None, "tool_calls": [call]})
        session.append({"role": "tool", "tool_call_id": "c1", "content": "found"})
        api = decode(roo_task(session.desk).api_list())
    assert api[1]["content"][0] == {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "x"}}
    assert api[2]["content"][0]["tool_use_id"] == "c1"


def test_a_pinned_message_among_hidden_ones_keeps_its_place_behind_what_stands_for_them() -> None:
    """Roo has no pins: the order in which things show is what counts."""
    with cf.Session.open(model=MODEL) as session:
        for number in range(6):
            session.append({"role": "user", "content": f"m{number}"})
        session.thread.fold([2, 3, 4], "gone")
        session.thread.pin(3)
        api = decode(roo_task(session.desk).api_list())
        shown = [each["content"] for each in api if "condenseParent" not in each]
        assert shown == [message.text for message in session.view.messages]
