"""An exported thread that somebody changed and sealed anew is taken whole and right, or refused whole with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import GENESIS, commitment, link
from contextfold.errors import ContextFoldError, Corrupt
from tests.conftest import SOAK

MODEL = "claude-sonnet-5-5"
NASTY: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 7, 999, 2**31, 2**62, -(2**62), 1.5, -0.0, 1e300, "", "x", "user", "assistant"),
    *("system", "tool", "result", "call", "text", "image", "nonsense", "anthropic", "openai-responses", "gemini"),
    *("\ud800", "\x00", "é" * 300, "summary", "native", [], {}, [[]], [1], [[1, 2]], {"a": 1}, [["text", 1]]),
)


def exported(folder: Path) -> list[dict[str, Any]]:
    """A thread of every kind of event, as lines."""
    path = folder / "honest.jsonl"
    with cf.open(folder / "honest.db") as store:
        session = cf.Session.on(store, "honest", MODEL)
        for turn in range(6):
            session.append({"role": "user", "content": f"question {turn} " * 30})
            session.prepare(system="Be brief.", tools=[])
            use = {"type": "tool_use", "id": f"call_{turn}", "name": "read", "input": {"path": "a.py"}}
            session.append({"role": "assistant", "content": [{"type": "text", "text": "I look."}, use]})
            result = {"type": "tool_result", "tool_use_id": f"call_{turn}", "content": "output " * 60}
            session.append({"role": "user", "content": [result]})
            session.append({"role": "assistant", "content": "It is there."})
        session.checkpoint("here")
        thread = session.thread
        messages = [item.seq for item in thread.view.items]
        thread.pin(messages[0])
        fold = thread.fold(messages[4:8], "four messages")
        thread.fold([(messages[10], 0)], "an output")
        thread.unfold(fold)
        thread.rewind(after=messages[-2])
        thread.append({"role": "user", "content": "another way"})
        store.forget("honest", messages[12])
        store.export("honest", path)
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def resealed(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same lines with links that follow from what they say now, as far as that can be said at all."""
    previous, last = GENESIS, 0
    for line in lines:
        if line.get("line") == "event":
            try:
                previous = (
                    bytes.fromhex(line["link"])
                    if "forgotten" in line and not line["forgotten"]
                    else sealed(previous, line)
                )
                last = line["seq"]
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
                continue
            line["link"] = previous.hex()
        elif line.get("line") == "end":
            line |= {"seq": last, "link": previous.hex()}
    return lines


def sealed(previous: bytes, line: dict[str, Any]) -> bytes:
    body = line.get("body", "").encode()
    hidden = (
        bytes.fromhex(line["forgotten"])
        if "forgotten" in line
        else commitment(bytes.fromhex(line.get("salt", "")), body)
    )
    stored = json.dumps(line["event"], separators=(",", ":"), ensure_ascii=False).encode()
    return link(previous, line["seq"], line["parent"], float(line["at"]), line.get("key", ""), stored, hidden)


def forge(value: Any, chance: Random) -> Any:
    """Somewhere inside, something else."""
    if isinstance(value, list) and value and chance.random() < 0.85:
        at = chance.randrange(len(value))
        match chance.randrange(8):
            case 0:
                return [*value[:at], *value[at + 1 :]]
            case 1:
                return [*value[:at], value[at], *value[at:]]
            case _:
                return [*value[:at], forge(value[at], chance), *value[at + 1 :]]
    if isinstance(value, dict) and value and chance.random() < 0.85:
        name = chance.choice(list(value))
        return value | {name: forge(value[name], chance)}
    if isinstance(value, int) and not isinstance(value, bool) and chance.random() < 0.5:
        return value + chance.choice((-1, 1, 5, -7, 1000))
    return chance.choice(NASTY)


def forged(lines: list[dict[str, Any]], chance: Random) -> list[dict[str, Any]]:
    changed = json.loads(json.dumps(lines))
    for _ in range(chance.choice((1, 1, 2, 3))):
        line = chance.choice(changed[:-1])
        field = chance.choice([name for name in line if name not in ("line", "link")])
        line[field] = forge(line[field], chance)
        if field == "body" and not isinstance(line[field], str):
            line[field] = json.dumps(line[field])
    if chance.random() < 0.1:
        changed.pop(chance.randrange(1, len(changed)))
    return resealed(changed)


def written(path: Path, lines: list[dict[str, Any]]) -> Path:
    texts = (json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)
    path.write_bytes(b"".join(text.encode("utf-8", "surrogatepass") for text in texts))
    return path


def verbs(store: cf.Store, name: str) -> list[Callable[[], object]]:
    thread = store.thread(name)
    return [
        lambda: thread.view.count,
        lambda: [item.seq for item in thread.view.items],
        lambda: thread.folds,
        lambda: thread.body(dialect="openai-chat"),
        lambda: [thread.message(each.seq) for each in thread.events if type(each.event).__name__ == "Appended"],
        lambda: cf.Session.on(store, name, MODEL).stats,
        lambda: cf.Session.on(store, name, MODEL).prepare(),
        lambda: thread.append({"role": "user", "content": "and now?"}),
        lambda: store.forget(name),
    ]


@pytest.mark.finding("K8")
@pytest.mark.parametrize("part", range(4))
def test_a_forged_export_is_refused_with_a_reason_or_works_like_any_other(tmp_path: Path, part: int) -> None:
    honest = exported(tmp_path)
    refused = 0
    with cf.open(tmp_path / "store.db") as store:
        store.thread("other").append({"role": "user", "content": "is still here"})
        for number in range(75 * SOAK):
            path = written(tmp_path / "forged.jsonl", forged(honest, Random(part * 10_000 + number)))
            before = [row.name for row in store.threads()]
            try:
                store.import_(path, name=f"forged {number}")
            except ContextFoldError as error:
                refused += bool(str(error))
                assert [row.name for row in store.threads()] == before
            else:
                attempt_all(store, f"forged {number}")
        later = [line | {"at": line["at"] + 1.0} if "at" in line else line for line in honest]
        store.import_(written(tmp_path / "forged.jsonl", resealed(later)), name="only the times differ")
        attempt_all(store, "only the times differ")
        assert store.verify() == []
        assert store.thread("other").view.length == 1
    assert refused > 20


def attempt_all(store: cf.Store, name: str) -> None:
    for verb in verbs(store, name):
        with suppress(ContextFoldError):  # anything else is a failure
            verb()


@pytest.mark.finding("K8")
def test_an_honest_export_comes_back_with_its_links(tmp_path: Path) -> None:
    honest = exported(tmp_path)
    with cf.open(tmp_path / "store.db") as store:
        store.import_(written(tmp_path / "again.jsonl", honest))
        store.export("honest", tmp_path / "back.jsonl")
    back = [json.loads(line) for line in (tmp_path / "back.jsonl").read_bytes().splitlines()]
    assert back == honest


@pytest.mark.finding("K9")
def test_sizes_are_those_of_the_bytes_whatever_the_outline_says(tmp_path: Path) -> None:
    honest = exported(tmp_path)
    small = next(line for line in honest if line["line"] == "event" and line["event"][0] == "appended")
    small["body"] = json.dumps({"role": "user", "content": "much " * 1_000_000})
    with cf.open(tmp_path / "store.db") as store:
        thread = store.import_(written(tmp_path / "small.jsonl", resealed(honest)))
        assert thread.view.count.tokens > 900_000
        assert store.verify() == []


@pytest.mark.finding("K8")
def test_an_outline_of_something_else_than_the_body_is_not_taken_over(tmp_path: Path) -> None:
    honest = exported(tmp_path)
    call = next(line for line in honest if "tool_use" in line.get("body", ""))
    call["body"] = json.dumps({"role": "assistant", "content": "nothing to call"})
    with cf.open(tmp_path / "store.db") as store:
        thread = store.import_(written(tmp_path / "no_call.jsonl", resealed(honest)))
        assert "call_0" not in [
            block.call for each in thread.view.items for block in each.shape.blocks if block.kind == "call"
        ]


@pytest.mark.finding("K8")
def test_a_file_refused_at_its_last_line_leaves_nothing(tmp_path: Path) -> None:
    honest = exported(tmp_path)
    honest[-2]["event"] = ["rewound", 10**6, 0, "rewind", {}]
    with cf.open(tmp_path / "store.db") as store:
        with pytest.raises(Corrupt, match="speaks of event 1000000"):
            store.import_(written(tmp_path / "late.jsonl", resealed(honest)))
        assert list(store.threads()) == []
        assert store.verify() == []
