"""A damaged file answers right, or says what is damaged: never wrong words, never a raw error."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from contextfold.domain import decode
from contextfold.errors import ContextFoldError, Corrupt, NotFound
from contextfold.logs import open_sqlite, rescue
from tests.conftest import SOAK
from tests.crash.damages import KINDS, copy_over, damaged, hearing, make, opened, verbs
from tests.crash.disk import UNSYNCED
from tests.crash.traces import stored_piece

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.finding("K3")]

PARTS = 2 if SOAK == 1 else 4
AT_ONCE = KINDS if SOAK == 1 else 50 * SOAK  # of every part: each kind of damage, or 2,000 in all when soaking


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "store.db"
    make(path)
    return path


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The WAL of another store, as it stands while that one is open."""
    path = tmp_path_factory.mktemp("foreign") / "store.db"
    kept = path.with_name("kept-wal")
    make(path, "foreign")
    with opened(path) as store:
        thread = store.thread("long")
        for turn in range(60):
            thread.append({"role": "user", "content": f"foreign {turn} " * 90})
        shutil.copyfile(path.with_name("store.db-wal"), kept)
    return kept


def answers(path: Path, folder: Path) -> Iterator[tuple[str, Any]]:
    """What each verb answers: a value, the error it tells, or the raw one."""
    for verb, ask in verbs(folder).items():
        with hearing() as told:
            try:
                with opened(path) as store:
                    answer = ask(store)
            except ContextFoldError as error:
                yield verb, error
            except Exception as error:  # noqa: BLE001  # this is what is looked for
                yield verb, f"RAW {type(error).__name__}: {error}"
            else:
                yield verb, f"LEFT OUT {told.count}" if verb == "threads" and told.count else answer


@pytest.fixture(scope="module")
def expected(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each verb answers as long as nothing is damaged."""
    folder = tmp_path_factory.mktemp("expected")
    shutil.copyfile(sound, folder / "sound.db")
    said = dict(answers(folder / "sound.db", folder))
    assert not [answer for answer in said.values() if isinstance(answer, ContextFoldError)]
    return said


def is_right(answer: Any, expected: Any) -> bool:
    """Right, or told; a thread that is there may not be said to be missing."""
    if isinstance(answer, NotFound):
        return False
    return isinstance(answer, ContextFoldError) or str(answer).startswith("LEFT OUT") or answer == expected


@pytest.mark.parametrize("part", range(PARTS))
def test_every_verb_on_a_damaged_store_answers_right_or_tells(
    sound: Path, foreign: Path, expected: dict[str, Any], tmp_path: Path, part: int
) -> None:
    path = tmp_path / "store.db"
    wrong: list[str] = []
    told = 0
    for number in range(AT_ONCE):
        what = damaged(sound, path, foreign, number, part)
        for verb, answer in answers(path, tmp_path):
            told += isinstance(answer, ContextFoldError)
            if not is_right(answer, expected[verb]):
                wrong.append(f"{what}: {verb} answered {str(answer)[:200]}")
    assert wrong == []
    assert told > AT_ONCE


@pytest.mark.finding("K14")
def test_a_flip_in_the_wal_leaves_an_earlier_whole_store_as_the_storage_promise_says(tmp_path: Path) -> None:
    whole, path = tmp_path / "whole.db", tmp_path / "store.db"
    said = [f"turn {turn} " * 50 for turn in range(40)]
    with opened(whole) as store:
        thread = store.thread("long")
        for words in said:
            thread.append({"role": "user", "content": words})
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{whole}{suffix}", f"{path}{suffix}")
    wal = path.with_name("store.db-wal")
    content = bytearray(wal.read_bytes())
    content[len(content) * 2 // 3] ^= 1
    wal.write_bytes(content)
    with opened(path) as store:
        left = [message.text for message in store.thread("long").view.messages]
        assert store.verify() == []
    assert left == said[: len(left)]
    assert 0 < len(left) < len(said)
    promise = (Path(__file__).parents[2] / "docs/storage.md").read_text("utf-8")
    assert (
        "Bytes that flip in the WAL\n  before it was moved into the file therefore take acknowledged events" in promise
    )


TREES = ("names", "threads", "events", "bodies", "forgotten", "activity", "activity_in_order", "threads_by_name")
PAIRS = [(source, target) for source in TREES for target in TREES if source != target]
KNOWN = [("names", "events"), ("activity_in_order", "threads_by_name"), ("threads_by_name", "activity_in_order")]
KNOWN += [("events", "forgotten"), ("forgotten", "activity"), ("forgotten", "events"), ("activity", "forgotten")]


@pytest.mark.parametrize(("source", "target"), KNOWN if SOAK == 1 else PAIRS)
def test_no_tree_of_pages_is_taken_for_another(
    sound: Path, expected: dict[str, Any], tmp_path: Path, source: str, target: str
) -> None:
    path = tmp_path / "store.db"
    shutil.copyfile(sound, path)
    with closing(apsw.Connection(str(path))) as file:
        roots = dict(file.execute("SELECT name, rootpage FROM sqlite_schema"))
    content = bytearray(sound.read_bytes())
    copy_over(content, roots[source] - 1, roots[target] - 1)
    path.write_bytes(content)
    wrong = {verb: answer for verb, answer in answers(path, tmp_path) if not is_right(answer, expected[verb])}
    assert wrong == {}


def test_a_list_row_that_changed_is_left_out_and_told(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    shutil.copyfile(sound, path)
    with closing(apsw.Connection(str(path))) as file:
        file.execute("UPDATE activity SET messages = messages + 1 WHERE thread = 2")
    with hearing() as told, opened(path) as store:
        assert [row.name for row in store.threads()] == ["long", "other", "fork"]
        with pytest.raises(Corrupt, match="list of threads"):
            store.thread("tools").append({"role": "user", "content": "more"})
    assert told.count == 1


@pytest.mark.parametrize("part", range(PARTS))
def test_what_verifies_is_saved_into_a_new_store_and_the_rest_is_listed(
    sound: Path, foreign: Path, tmp_path: Path, part: int
) -> None:
    saved = 0
    for number in range(AT_ONCE):
        path, new = tmp_path / "store.db", tmp_path / f"{number}.db"
        damaged(sound, path, foreign, number, part)
        try:
            with (
                closing(open_sqlite(path, vfs=UNSYNCED.name)) as source,
                closing(open_sqlite(new, vfs=UNSYNCED.name)) as target,
            ):
                rescued = rescue(source, target)
                assert target.verify() == []
        except ContextFoldError:
            continue  # not even a list of threads can be read
        with opened(sound) as before, opened(new) as after:
            for each in rescued:
                saved += each.saved
                kept = [event for event in after.thread(each.thread).events if event.seq not in each.without_words]
                there = before.thread(each.thread).events
                assert [event.event for event in kept] == [there[event.seq - 1].event for event in kept]
    assert saved > AT_ONCE


@pytest.mark.parametrize("language", ["en", "ja"])
def test_doctor_saves_what_verifies_and_says_what_was_lost(sound: Path, tmp_path: Path, language: str) -> None:
    path, new = tmp_path / "store.db", tmp_path / "new.db"
    with closing(open_sqlite(sound, read_only=True)) as log:
        piece = stored_piece(log, "long", 61)
    assert sound.read_bytes().count(piece) == 1
    path.write_bytes(sound.read_bytes().replace(piece, piece[::-1]))
    command = [sys.executable, "-m", "contextfold", "doctor", "--store", str(path)]
    command += ["--lang", language, "--rescue", str(new)]
    done = subprocess.run([*command, "--json"], capture_output=True, check=False)
    told = decode(done.stdout)
    assert done.returncode == 1
    assert [each["without_words"] for each in told["threads"] if each["thread"] == "long"] == [[61]]
    assert [problem["path"] for problem in told["problems"]] == ["long/61"]
    with opened(new) as store:
        assert store.verify() == []
        assert store.thread("long").message(60).raw
    new.unlink()
    shown = subprocess.run(command, capture_output=True, check=False).stdout.decode()
    assert "long" in shown
    assert ("without their words" in shown) is (language == "en")
