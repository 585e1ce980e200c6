"""Importing loses nothing: every word of every message and summary is in the store afterwards, at its own time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest

import contextfold as cf
from contextfold.cli import main
from contextfold.domain import Appended, decode
from contextfold.transcripts import read
from contextfold.transcripts.roo_task import API_FILE, UI_FILE
from tests.conftest import SOAK

MODEL = "claude-sonnet-5-5"
FILES = 8 * SOAK  # of those kept beside the repository
TASKS = 60 * SOAK


def strings(value: Any) -> Iterator[str]:
    """Every text in a value, however deep; names of fields are not words."""
    if isinstance(value, str):
        yield value
    if isinstance(value, dict):
        value = [each for name, each in value.items() if name not in ("type", "role")]
    for each in value if isinstance(value, list) else ():
        yield from strings(each)


def kept(store: cf.Store, thread: str) -> list[str]:
    """Every text that the thread keeps, from its bodies, in order."""
    live = store.thread(thread)
    texts: list[str] = []
    for logged in live.events:
        if isinstance(logged.event, Appended):
            texts += strings(decode(live.message(logged.seq).raw))
    return texts + [fold.stand_in.text for fold in live.folds]


def imported(place: Path, *arguments: str) -> list[dict[str, Any]]:
    """What the command line says it read, and the store beside it."""
    with redirect_stdout(StringIO()) as out:
        code = main(["import", *arguments, "--store", str(place / "s.db"), "--json", "--quiet"])
    assert code == 0, out.getvalue()
    return list(json.loads(out.getvalue()))


@pytest.mark.finding("S1", "S2")
def test_every_word_and_time_of_recorded_sessions_is_in_the_store(shared_data: Path, tmp_path: Path) -> None:
    files = sorted(shared_data.glob("*/*.gz"))
    by_format = {path.parent.name: path for path in reversed(files)}
    more = Random(SOAK).sample(files, min(FILES, len(files)))
    for number, path in enumerate(dict.fromkeys([*by_format.values(), *more])):
        place = tmp_path / str(number)
        place.mkdir()
        said = imported(place, str(path))
        recordings = list(read(path))
        with cf.open(place / "s.db") as store:
            threads = [each["thread"] for each in said if each["thread"]]
            texts = {text for name in threads for text in kept(store, name)}
            times = {round(each.at, 3) for name in threads for each in store.thread(name).events}
        for recording in recordings:
            whole = recording.whole()
            for turn in whole.turns:
                missing = [text for text in strings(turn.message) if text not in texts]
                assert not missing, (path.name, turn.lines, missing[:1])
                assert turn.at is None or round(turn.at, 3) in times, (path.name, turn.lines)
            if whole.turns:
                assert all(each.summary in texts for each in whole.compactions if each.summary.strip()), path.name


# -- tasks of Roo Code ------------------------------------------------------------------------------------------------


def a_task(random: Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A task as Roo leaves it, older forms and oddities included: both lists."""
    now = 1_739_987_234_778
    api: list[dict[str, Any]] = []
    ui: list[dict[str, Any]] = []
    for number in range(random.randrange(3, 14)):
        now += random.randrange(150, 90_000)
        api.append({"role": "user", "content": f"question {number} {random.randrange(10**9)}", "ts": now})
        ui.append({"ts": now, "type": "say", "say": "user_feedback" if number else "text", "text": api[-1]["content"]})
        now += random.randrange(150, 90_000)
        cost = random.randrange(1, 900) / 1000
        bill = {"tokensIn": random.randrange(1, 9_000), "tokensOut": random.randrange(1, 900), "cost": cost}
        ui.append({"ts": now - 1, "type": "say", "say": "api_req_started", "text": json.dumps(bill)})
        words = f"answer {number} {random.randrange(10**9)}"
        if random.random() < 0.5:
            call = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"path": f"p{number}"}}
            api.append({"role": "assistant", "content": [{"type": "text", "text": words}, call], "ts": now})
            now += 500
            result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"result {number}"}
            api.append({"role": "user", "content": [result], "ts": now})
        else:
            api.append({"role": "assistant", "content": words, "ts": now})
        ui.append({"ts": api[-1]["ts"], "type": "say", "say": "text", "text": words})
    hide(random, api, ui)
    if random.random() < 0.5:
        hide(random, api, ui)
    return api, ui


def hide(random: Random, api: list[dict[str, Any]], ui: list[dict[str, Any]]) -> None:
    """Condense or cut as Roo does, at a place that may part a call from its result."""
    keep = random.randrange(2, len(api))
    id = f"id-{random.randrange(10**9)}"
    condenses = random.random() < 0.7
    tag = "condenseParent" if condenses else "truncationParent"
    ts = api[keep]["ts"] - 1 if keep < len(api) else api[-1]["ts"] + 1
    if condenses:
        text = {"type": "text", "text": f"summary {random.randrange(10**9)}"}
        blocks = [text]
        if random.random() < 0.4:  # calls grafted onto the summary
            blocks += [block for each in api[:keep] for block in content(each) if block.get("type") == "tool_use"][-1:]
        stand_in = {"role": "assistant", "content": blocks, "ts": ts, "isSummary": True}
        if random.random() < 0.8:
            stand_in["condenseId"] = id
        about = {
            "condenseId": id,
            "summary": text["text"],
            "cost": 0.25,
            "prevContextTokens": 900,
            "newContextTokens": 90,
        }
        ui.append({"ts": api[-1]["ts"] + 7, "type": "say", "say": "condense_context", "contextCondense": about})
    else:
        stand_in = {"role": "user", "content": "[hidden]", "ts": ts, "isTruncationMarker": True, "truncationId": id}
        about = {"truncationId": id, "messagesRemoved": keep - 1, "prevContextTokens": 9}
        ui.append({"ts": ts, "type": "say", "say": "sliding_window_truncation", "contextTruncation": about})
    if "condenseId" in stand_in or not condenses:
        for each in api[1:keep]:
            if "condenseParent" not in each and "truncationParent" not in each:
                each[tag] = id
    api.insert(keep, stand_in)


def content(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return entry["content"] if isinstance(entry["content"], list) else []


def written(place: Path, api: list[dict[str, Any]], ui: list[dict[str, Any]]) -> Path:
    place.mkdir(parents=True)
    (place / API_FILE).write_text(json.dumps(api))
    (place / UI_FILE).write_text(json.dumps(ui))
    return place


@pytest.mark.finding("S1", "S2", "S3")
def test_every_word_and_time_of_generated_tasks_is_in_the_store_by_library_and_command_line(tmp_path: Path) -> None:
    for seed in range(TASKS):
        api, ui = a_task(Random(seed))
        task = written(tmp_path / f"task-{seed}", api, ui)
        imported(tmp_path / f"task-{seed}", str(task))
        with cf.open() as store, cf.open(task / "s.db") as other:
            thread = store.import_(task)
            (row,) = other.threads()
            twin = other.thread(row.name)
            assert [(each.event, each.at) for each in twin.events] == [(each.event, each.at) for each in thread.events]
            texts = kept(store, thread.name)
            for entry in api:
                if not entry.get("isTruncationMarker"):
                    missing = [text for text in strings(entry["content"]) if text not in texts]
                    assert not missing, (seed, entry)
            times = [round(each.at * 1000) for each in thread.events if isinstance(each.event, Appended)]
            spoken = [each["ts"] for each in api if not each.get("isSummary") and not each.get("isTruncationMarker")]
            assert [each for each in spoken if each not in times] == []
            assert cf.Session.on(store, thread.name, MODEL).prepare() is not None


@pytest.mark.finding("S1", "S2", "S3", "S8")
def test_the_round_trip_keeps_messages_tags_folds_times_and_costs(tmp_path: Path) -> None:
    folded = 0
    for seed in range(TASKS):
        api, ui = a_task(Random(seed))
        task = written(tmp_path / f"task-{seed}", api, ui)
        with cf.open() as store:
            first = cf.Session.on(store, store.import_(task).name, MODEL)
            first.export(tmp_path / f"{seed}-once", format="roo")
            assert (
                main(["import", str(tmp_path / f"{seed}-once"), "--store", str(tmp_path / f"{seed}.db"), "--quiet"])
                == 0
            )
            shown = [message.text for message in first.view.messages]
            folded += len(first.folds)
            bills = [json.loads(each["text"]) for each in ui if each["say"] == "api_req_started"]
            entries = decode((tmp_path / f"{seed}-once" / UI_FILE).read_bytes())
            assert [
                b for each in entries if each["say"] == "api_req_started" and (b := json.loads(each["text"]))
            ] == bills
            costs = [each["contextCondense"]["cost"] for each in entries if each["say"] == "condense_context"]
            assert costs == [0.25] * len(costs)
        with cf.open(tmp_path / f"{seed}.db") as store:
            (row,) = store.threads()
            second = cf.Session.on(store, row.name, MODEL)
            assert [message.text for message in second.view.messages] == shown, seed
            second.export(tmp_path / f"{seed}-twice", format="roo")
        once, twice = (decode((tmp_path / f"{seed}-{n}" / API_FILE).read_bytes()) for n in ("once", "twice"))
        assert [(each["role"], each["content"], each["ts"]) for each in once] == [
            (each["role"], each["content"], each["ts"]) for each in twice
        ]
        assert [hidden(each) for each in once] == [hidden(each) for each in twice]
        kept_times = {each["ts"] for each in once} | {each["ts"] - 1 for each in once}  # later where two would collide
        spoken = [each for each in api if "isSummary" not in each and "isTruncationMarker" not in each]
        assert all(each["ts"] in kept_times for each in spoken)
    assert folded > TASKS / 3


def hidden(entry: dict[str, Any]) -> tuple[bool, ...]:
    return tuple(name in entry for name in ("condenseParent", "truncationParent", "isSummary", "isTruncationMarker"))


@pytest.mark.finding("S1")
def test_a_cover_that_would_part_a_pair_is_shrunk_and_its_summary_stays(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "found"}
    summary = {"role": "assistant", "content": [{"type": "text", "text": "so far"}, call], "isSummary": True}
    api = [
        {"role": "user", "content": "go", "ts": 1_000},
        {"role": "assistant", "content": "first", "ts": 2_000, "condenseParent": "x"},
        {"role": "user", "content": "on", "ts": 3_000, "condenseParent": "x"},
        {"role": "assistant", "content": [call], "ts": 4_000, "condenseParent": "x"},
        summary | {"condenseId": "x", "ts": 4_999},
        {"role": "user", "content": [result], "ts": 5_000},
    ]
    with cf.open() as store:
        thread = store.import_(written(tmp_path / "task", api, []))
        assert [message.text for message in thread.view.messages][:2] == ["go", "so far"]
        assert [message.calls[0].id for message in map(thread.message, (4,)) if message.calls] == ["a"]
        assert [fold.cover.ranges for fold in thread.folds] == [((2, 3),)]
        assert len(thread.view.messages) == 4


@pytest.mark.finding("S1")
def test_a_call_that_stands_only_on_the_summary_stays_before_its_result(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "found"}
    api = [
        {"role": "user", "content": "go", "ts": 1_000},
        {"role": "assistant", "content": [{"type": "text", "text": "so far"}, call], "isSummary": True, "ts": 4_999},
        {"role": "user", "content": [result], "ts": 5_000},
    ]
    with cf.open() as store:
        session = cf.Session.on(store, store.import_(written(tmp_path / "task", api, [])).name, MODEL)
        assert [message.text for message in session.view.messages][:2] == ["go", "so far"]
        answered = [each for each in strings(session.prepare().body) if each == "a"]
        assert len(answered) == 2


@pytest.mark.finding("S1")
def test_the_import_says_what_it_could_not_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    api = [
        {"role": "user", "content": "go", "ts": 1_000},
        {"role": "assistant", "content": "so far", "isSummary": True},
    ]
    task = written(tmp_path / "task", api, [])
    (said,) = imported(tmp_path, str(task))
    assert "stands for nothing" in said["unplaced"][0]
    assert main(["import", str(task), "--store", str(tmp_path / "t.db"), "--lang", "ja", "--as", "x"]) == 0
    assert "元のままではありません" in capsys.readouterr().out


@pytest.mark.finding("S2")
def test_an_imported_task_can_be_rewound_to_a_time(tmp_path: Path) -> None:
    api = [
        {"role": ("user", "assistant")[n % 2], "content": f"m{n}", "ts": 1_739_987_000_000 + n * 1000} for n in range(6)
    ]
    with cf.open() as store:
        session = cf.Session.on(store, store.import_(written(tmp_path / "task", api, [])).name, MODEL)
        session.rewind(to_time=1_739_987_004)
        assert [message.text for message in session.view.messages] == ["m0", "m1", "m2", "m3"]


@pytest.mark.finding("S3")
def test_reading_a_task_again_adds_only_what_is_new(tmp_path: Path) -> None:
    api, ui = a_task(Random(3))
    task = written(tmp_path / "task", api, ui)
    assert imported(tmp_path, str(task))[0]["new"] > 0
    assert imported(tmp_path, str(task))[0]["new"] == 0
    api.append({"role": "user", "content": "one more", "ts": api[-1]["ts"] + 5_000})
    (task / API_FILE).write_text(json.dumps(api))
    (again,) = imported(tmp_path, str(tmp_path / "task"))
    assert again["new"] == 1
