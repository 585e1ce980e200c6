"""What was forgotten is in no file, whichever field of whichever wire format it stood in."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from multiprocessing import Pipe
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Sent, decode, encode
from contextfold.folding import Policy
from contextfold.summaries import Prompt
from tests.crash.traces import readable
from tests.crash.writers import Writer, fold_beside_a_forgetter

pytestmark = [pytest.mark.crash, pytest.mark.finding("K4")]

MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "openai-chat": "gpt-5.2",
    "openai-responses": "gpt-5.2",
    "gemini": "gemini-3-pro",
}
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {"role": "user", "content": [{"type": "text", "text": "CANARY"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "CANARY", "signature": "CANARY"},
                {"type": "text", "text": "CANARY"},
                {"type": "tool_use", "id": "CANARY", "name": "CANARY", "input": {"CANARY": "CANARY"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "CANARY", "content": "CANARY"}]},
    ],
    "openai-chat": [
        {"role": "user", "content": "CANARY", "name": "CANARY"},
        {
            "role": "assistant",
            "content": "CANARY",
            "tool_calls": [
                {
                    "id": "CANARY",
                    "type": "function",
                    "function": {"name": "CANARY", "arguments": '{"CANARY": "CANARY"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "CANARY", "content": "CANARY"},
    ],
    "openai-responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "CANARY"}]},
        {
            "type": "function_call",
            "id": "CANARY",
            "call_id": "CANARY",
            "name": "CANARY",
            "arguments": '{"a": "CANARY"}',
        },
        {"type": "function_call_output", "call_id": "CANARY", "output": "CANARY"},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "CANARY"}]},
        {
            "role": "model",
            "parts": [{"functionCall": {"id": "CANARY", "name": "CANARY", "args": {"CANARY": "CANARY"}}}],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "CANARY", "name": "CANARY", "response": {"a": "CANARY"}}}],
        },
    ],
}


def canaries(value: Any, numbers: Iterator[int], calls: dict[str, str]) -> Any:
    """Each field with a canary of its own; a call's id is the same in its result."""
    match value:
        case dict():
            return {
                _marked(name, numbers): calls.setdefault("id", _marked("CANARY", numbers))
                if name in ("id", "call_id", "tool_use_id", "tool_call_id")
                else canaries(inner, numbers, calls)
                for name, inner in value.items()
            }
        case list():
            return [canaries(inner, numbers, calls) for inner in value]
        case str():
            return _marked(value, numbers)
        case _:
            return value


def _marked(text: str, numbers: Iterator[int]) -> str:
    while "CANARY" in text:
        text = text.replace("CANARY", f"canarybird{next(numbers)}z", 1)
    return text


def filled(store: cf.Store, dialect: str) -> tuple[cf.Thread, set[bytes]]:
    """A conversation of canaries among other threads, whose rows come between its own, and all its canaries."""
    numbers, calls = iter(range(10**6)), dict[str, str]()
    thread, other = store.thread("secret", model=MODELS[dialect]), store.thread("other")
    for turn in range(12):
        for message in CONVERSATIONS[dialect]:
            marked = canaries(message, numbers, calls)
            thread.append(marked, key=_marked("CANARY", numbers))
            other.append({"role": "user", "content": f"kept {turn} " * 20}, key=f"{dialect} {other.view.head}")
        calls.clear()
    return thread, {f"canarybird{number}z".encode() for number in range(next(numbers))}


def left_in(folder: Path, words: set[bytes]) -> set[bytes]:
    content = readable(folder)
    return {word for word in words if word in content}


@pytest.mark.parametrize("dialect", list(CONVERSATIONS))
def test_no_field_of_a_forgotten_thread_is_left_in_any_file(tmp_path: Path, dialect: str) -> None:
    with cf.open(tmp_path / "store.db") as store:
        _, words = filled(store, dialect)
        assert len(left_in(tmp_path, words)) > 60
        store.forget("secret")
        assert left_in(tmp_path, words) == set()
        assert store.verify() == []
        assert store.thread("other").view.length == 36
        store.thread("secret").body()
    with cf.open(tmp_path / "store.db") as store:
        assert store.verify() == []
        assert left_in(tmp_path, words) == set()


@pytest.mark.parametrize("dialect", list(CONVERSATIONS))
def test_of_a_forgotten_message_only_the_id_that_its_partner_says_is_left(tmp_path: Path, dialect: str) -> None:
    with cf.open(tmp_path / "store.db") as store:
        thread, _ = filled(store, dialect)
        own, partner = _words(thread.message(2).raw), _words(thread.message(3).raw)
        store.forget("secret", 2)
        assert left_in(tmp_path, own - partner) == set()
        assert store.verify() == []
        store.forget("secret", 3)
        assert left_in(tmp_path, own | partner) == set()
        assert store.verify() == []
        assert decode(thread.body())


def _words(raw: bytes) -> set[bytes]:
    return {b"canarybird" + part.split(b"z")[0] + b"z" for part in raw.split(b"canarybird")[1:]}


@pytest.mark.parametrize("is_whole", [True, False], ids=["thread", "message"])
def test_the_file_of_an_output_put_aside_goes_with_it(tmp_path: Path, is_whole: bool) -> None:
    artifacts, canary = tmp_path / "artifacts", b"canary in an output"
    with cf.open(tmp_path / "store.db") as store:
        session = cf.Session.on(store, "a", "claude-sonnet-5-5", artifacts=artifacts)
        kept = put_aside(session, "kept", "another output, " * 9000)
        seq = put_aside(session, "gone", "canary in an output, " * 9000)
        assert len(list(artifacts.iterdir())) == 2
        store.forget("a", None if is_whole else seq)
        assert left_in(tmp_path, {canary}) == set()
        assert len(list(artifacts.iterdir())) == (0 if is_whole else 1)
        assert is_whole or session.thread.message(kept).raw
        assert store.verify() == []


def put_aside(session: cf.Session, call: str, output: str) -> int:
    session.append({"role": "user", "content": "look"})
    use = {"type": "tool_use", "id": call, "name": "read", "input": {}}
    session.append({"role": "assistant", "content": [use]})
    return session.append(
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": output}]}
    )


def test_a_file_that_another_thread_needs_or_that_is_something_else_stays(tmp_path: Path) -> None:
    artifacts, output = tmp_path / "artifacts", "the same output, " * 9000
    with cf.open(tmp_path / "store.db") as store:
        put_aside(cf.Session.on(store, "a", "claude-sonnet-5-5", artifacts=artifacts), "one", output)
        put_aside(cf.Session.on(store, "b", "claude-sonnet-5-5", artifacts=artifacts), "two", output)
        (path,) = artifacts.iterdir()
        store.forget("a")
        assert path.read_text() == output
        path.write_text("written by somebody else")
        store.forget("b")
        assert path.read_text() == "written by somebody else"


def test_names_of_checkpoints_and_keys_go_with_their_thread_and_a_retry_writes_nothing(tmp_path: Path) -> None:
    canary = b"canary"
    with cf.open(tmp_path / "store.db") as store:
        session = cf.Session.on(store, "a", "claude-sonnet-5-5")
        session.append({"role": "user", "content": "hello"}, key="canary-key")
        session.checkpoint("canary-checkpoint")
        store.forget("a")
        assert left_in(tmp_path, {canary}) == set()
        assert session.thread.append({"role": "user", "content": "hello"}, key="canary-key") == 1
        assert store.verify() == []


def test_what_was_forgotten_is_exported_and_imported_as_such(tmp_path: Path) -> None:
    with cf.open(tmp_path / "store.db") as store:
        thread, _ = filled(store, "anthropic")
        store.forget("secret", 2)
        store.export("secret", tmp_path / "secret.jsonl")
        again = store.import_(tmp_path / "secret.jsonl", name="again")
        assert again.body() == thread.body()
        assert store.verify() == []
        assert encode(again.view.count.tokens) == encode(thread.view.count.tokens)


@pytest.mark.finding("P8")
def test_forgetting_a_thread_looks_at_each_of_its_rows_a_few_times_only(tmp_path: Path) -> None:
    steps = [_steps(tmp_path / f"{length}.db", length) for length in (250, 1000)]
    assert steps[1] < 6 * steps[0]  # the square would be 16


def _steps(path: Path, length: int) -> int:
    """How much SQLite does, in units of a thousand of its instructions."""
    with cf.open(path) as store:
        thread = store.thread("a")
        with store.batch():
            for turn in range(length):
                thread.append(
                    {"role": ("user", "assistant")[turn % 2], "content": f"{turn}" + "." * (9000 * (turn % 5 > 0))}
                )
        count = [0]

        def step() -> bool:
            count[0] += 1
            return False

        store._log.connection.set_progress_handler(step, 1000)  # type: ignore[attr-defined]
        assert store.forget("a") == length
    return count[0]


@pytest.mark.finding("P8")
def test_forgetting_what_many_requests_showed_waits_for_the_disk_a_few_times_only(tmp_path: Path) -> None:
    waits = [_commits(tmp_path / f"{requests}.db", requests) for requests in (5, 40)]
    assert waits[0] == waits[1]


def _commits(path: Path, requests: int) -> int:
    """How often forgetting the first message of a session commits."""
    with cf.open(path, recall=False) as store:
        session = cf.Session.on(store, "a", "claude-sonnet-4-5")
        for number in range(requests):
            session.append({"role": "user", "content": f"What is in step {number}?"}, durable=False)
            session.prepare(max_tokens=100)
            session.append({"role": "assistant", "content": f"Line {number}."}, durable=False)
        commits: list[int] = []

        def commit() -> bool:
            commits.append(1)
            return False

        connection = store._log.connection  # type: ignore[attr-defined]
        connection.set_commit_hook(commit)
        assert store.forget("a", 1) == 1
        connection.set_commit_hook(None)
        shown = [entry.event.body for entry in session.thread.events if isinstance(entry.event, Sent)]
        assert shown == [""] * requests, "no digest is left that would confirm a guess"
    return len(commits)


SUMMARY = "The canarybird1z sings in src/parse.py, and the port is 8443."


@pytest.mark.parametrize("by", ["itself", "another process"])
def test_a_summary_that_was_being_written_is_not_kept(tmp_path: Path, by: str) -> None:
    path = tmp_path / "store.db"
    with cf.open(path) as store, cf.open(path) as elsewhere:

        def summarize(_: Prompt) -> str:
            (store if by == "itself" else elsewhere).forget("secret")
            return SUMMARY

        session = speaking(store, cf.recipes.summary(summarizer=summarize).with_(backoff=0.0))
        report = next(report for report in session if report.folds or report.attempts)
        assert "stale" in [attempt.refusal for attempt in report.attempts]
        assert left_in(tmp_path, {b"canarybird1z"}) == set()


@pytest.mark.parametrize("by", ["itself", "another process"])
def test_a_summary_that_was_being_written_in_the_background_is_not_kept(tmp_path: Path, by: str) -> None:
    path, asked, answer = tmp_path / "store.db", Event(), Event()
    with cf.open(path) as store, cf.open(path) as elsewhere:

        def summarize(_: Prompt) -> str:
            if asked.is_set():
                return "Many turns went by, and nothing of them is worth a word."
            asked.set()
            answer.wait(60)
            return SUMMARY

        session = speaking(store, cf.recipes.summary(summarizer=summarize).with_(backoff=0.0, background=True))
        while not asked.is_set():
            next(session)
        (store if by == "itself" else elsewhere).forget("secret")
        answer.set()
        reports = [next(session) for _ in range(4)]
        assert left_in(tmp_path, {b"canarybird1z sings"}) == set()
        assert not any("canarybird1z sings" in fold.text for report in reports for fold in report.folds)


def test_a_fold_that_another_process_was_about_to_write_is_not_written(tmp_path: Path) -> None:
    path = filled_with_words(tmp_path)
    heard, go_on = Pipe(duplex=False)
    writer = Writer(fold_beside_a_forgetter, path, heard, True)
    said = writer.said()
    with cf.open(path) as store:
        assert next(said) == ("ready",)
        go_on.send_bytes(b"fold")
        assert next(said) == ("halted",)
        store.forget("secret", 1)
        go_on.send_bytes(b"write")
        assert next(said)[:3] == ("folded", "0", "stale")
        assert (writer.end(), store.verify()) == (0, [])
    assert left_in(tmp_path, {b"canarybird1z"}) == set()


def test_a_fold_that_another_process_writes_while_a_message_is_forgotten_goes_with_it(tmp_path: Path) -> None:
    path = filled_with_words(tmp_path)
    heard, go_on = Pipe(duplex=False)
    writer = Writer(fold_beside_a_forgetter, path, heard, False)
    said = writer.said()
    with cf.open(path) as store:
        connection = store._log.connection  # type: ignore[attr-defined]

        def fold_first(_: object, sql: str, __: object) -> bool:
            if sql.startswith("BEGIN IMMEDIATE"):
                connection.exec_trace = None
                go_on.send_bytes(b"fold")
                assert next(said)[:2] == ("folded", "1")
            return True

        assert next(said) == ("ready",)
        connection.exec_trace = fold_first
        assert store.forget("secret", 1) == 2
        assert connection.exec_trace is None
        assert (writer.end(), store.verify()) == (0, [])
    assert left_in(tmp_path, {b"canarybird1z"}) == set()


def filled_with_words(folder: Path) -> Path:
    """A store with a thread whose first message alone holds a canary."""
    with cf.open(folder / "store.db") as store:
        thread = store.thread("secret", model=MODELS["anthropic"])
        for turn in range(30):
            thread.append(
                {"role": "user", "content": f"turn {turn} " + ("words " * 60 if turn else "canarybird1z " * 60)}
            )
            thread.append({"role": "assistant", "content": f"answer {turn} " + "and more " * 40})
    return folder / "store.db"


def speaking(store: cf.Store, policy: Policy) -> Iterator[Any]:
    """The reports of the requests of a conversation that goes on and on."""
    session = cf.Session.on(store, "secret", MODELS["anthropic"], policy=policy, window=12_000)
    for turn in range(400):
        words = f"turn {turn} canarybird1z " + "words and words " * 20
        session.append({"role": "user", "content": words})
        yield session.prepare(max_tokens=500).report
        session.append({"role": "assistant", "content": words})


def test_a_process_that_has_read_it_says_it_no_more_once_another_has_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with cf.open(path) as store, cf.open(path) as elsewhere:
        thread, words = filled(store, "anthropic")
        fork = thread.fork(name="fork")
        assert all(any(word in each.body() for word in words) for each in (thread, fork))
        elsewhere.forget("secret")
        for each in (thread, fork):
            assert not [word for word in words if word in each.body()]
        assert store.recall("canarybird1z", "secret", budget=5_000) == ()


@pytest.mark.parametrize("is_whole", [False, True])
def test_no_digest_is_left_that_a_guess_at_a_forgotten_message_could_be_tried_on(
    tmp_path: Path, is_whole: bool
) -> None:
    with cf.Session.open(tmp_path / "store.db", thread="secret", model=MODELS["anthropic"]) as session:
        for words in ("hello", "the door opens with 7315", "and now"):
            session.append({"role": "user", "content": words})
            session.prepare(max_tokens=50, system="Guard the door.")
            session.append({"role": "assistant", "content": "ok"})
        store, sent = session.store, [each for each in session.thread.events if isinstance(each.event, Sent)]
        fork = session.fork(name="fork")
        fork.append({"role": "user", "content": "elsewhere"})
        shown = [*(session.request_at(each.seq).json for each in sent), fork.prepare(max_tokens=50).json]
        fork.append({"role": "assistant", "content": "ok"})
        guesses = {sha256(body).hexdigest().encode() for body in shown}
        assert left_in(tmp_path, guesses) == guesses
        seq = next(each.seq for each in session.thread.events if each.seq > sent[0].seq + 1)
        store.forget("secret", None if is_whole else seq)
        first = sha256(shown[0]).hexdigest().encode()
        assert left_in(tmp_path, guesses) == (set() if is_whole else {first})
        assert store.verify() == []
        if not is_whole:
            assert session.request_at(sent[0].seq).json == shown[0]
            with pytest.raises(cf.NotFound, match="forgotten"):
                session.request_at(sent[1].seq)
        assert session.prepare(max_tokens=50).json


def test_a_memory_goes_with_the_message_it_was_made_from(tmp_path: Path) -> None:
    with cf.open(tmp_path / "store.db") as store:
        seq = store.thread("secret", model=MODELS["anthropic"]).append({"role": "user", "content": "hello"})
        store.memory("ann").remember("canarybird1z likes seeds", source="secret", seq=seq)
        assert left_in(tmp_path, {b"canarybird1z"})
        store.forget("secret", seq)
        assert left_in(tmp_path, {b"canarybird1z"}) == set()
