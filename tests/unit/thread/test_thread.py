"""A thread through its public verbs, over a real file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import contextfold as cf
from contextfold import dialects
from contextfold.domain import Projection, Text, ToolResult, decode, encode
from contextfold.errors import BadConfiguration, BadMessage, CannotCover, Conflict, KeyConflict, NotFound, StoreError
from contextfold.thread import FORGOTTEN

CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.py"}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "print(1)"}]}


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, object]:
    return {"role": "assistant", "content": text}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[cf.Store]:
    with cf.open(tmp_path / "agent.db") as opened:
        yield opened


@pytest.fixture
def thread(store: cf.Store) -> cf.Thread:
    return store.thread("refactor-42", model="claude-sonnet-5-5")


def seqs(thread: cf.Thread) -> list[int]:
    return [message.seq for message in thread.view.messages]


def test_a_message_is_shown_with_its_original_bytes(thread: cf.Thread) -> None:
    given = b'{ "role" : "user", "content":"\\u00e9", "vendor_field": [1] }'
    seq = thread.append(given)
    assert thread.view.messages[0].raw == given
    assert thread.message(seq).raw == given


def test_a_retry_with_the_same_key_never_duplicates(thread: cf.Thread) -> None:
    first = thread.append(user("hello"), key="turn-1")
    thread.append(assistant("hi"))
    assert thread.append(user("hello"), key="turn-1") == first
    assert len(thread.view) == 2


def test_a_key_used_for_other_bytes_is_refused(thread: cf.Thread) -> None:
    thread.append(user("hello"), key="turn-1")
    with pytest.raises(KeyConflict):
        thread.append(user("something else"), key="turn-1")


def test_an_expected_head_that_moved_is_a_conflict(thread: cf.Thread) -> None:
    head = thread.append(user("one"))
    thread.append(user("two"), expected=head)
    with pytest.raises(Conflict, match="moved on"):
        thread.append(user("three"), expected=head)
    assert len(thread.view) == 2


@pytest.mark.parametrize("given", ["hello", 3, None, [user("x")], b"[1]", b"not json", {"content": "no role"}])
def test_what_is_no_message_is_refused_with_a_reason(thread: cf.Thread, given: object) -> None:
    with pytest.raises(BadMessage):
        thread.append(given)
    assert len(thread.view) == 0


def test_a_fold_hides_messages_and_unfolding_brings_the_same_bytes_back(thread: cf.Thread) -> None:
    for message in (user("a"), assistant("b"), user("c"), assistant("d")):
        thread.append(message)
    before = thread.body(model="m", max_tokens=1)
    fold = thread.fold([2, 3], "two messages about b and c")
    assert seqs(thread) == [1, fold, 4]
    assert thread.view.messages[1].text == "two messages about b and c"
    assert [info.id for info in thread.folds] == [fold]
    thread.unfold(fold)
    assert thread.body(model="m", max_tokens=1) == before
    assert thread.folds == ()


def test_a_fold_may_take_over_a_stand_in_by_its_id(thread: cf.Thread) -> None:
    for message in (user("a"), assistant("b"), user("c"), assistant("d")):
        thread.append(message)
    inner = thread.fold([1, 2], "first half")
    outer = thread.fold([inner, 3], "all of it")
    assert seqs(thread) == [outer, 4]
    assert [info.is_showing for info in thread.folds] == [False, True]
    thread.unfold(outer)
    assert seqs(thread) == [inner, 3, 4]


def test_a_folded_result_stays_the_result_of_its_call(thread: cf.Thread) -> None:
    thread.append(user("look"))
    thread.append(CALL)
    seq = thread.append(RESULT)
    before = thread.view.count.tokens
    thread.fold([(seq, 0)], "[cleared: read a.py]", kind="clear")
    assert b'"tool_use_id":"t1","content":"[cleared: read a.py]"' in thread.body(model="m", max_tokens=1)
    assert thread.message(seq).raw == encode(RESULT)
    assert thread.view.count.tokens != before


def test_a_folded_block_is_read_as_the_model_sees_it_a_result_as_one_and_words_as_words(thread: cf.Thread) -> None:
    thread.append(user("look"))
    thread.append(CALL)
    seq = thread.append({"role": "user", "content": [*RESULT["content"], {"type": "text", "text": "Long words."}]})
    thread.fold([(seq, 0), (seq, 1)], cf.StandIn(blocks=("short result", "short words")), kind="clear")
    shown = thread.lens.shown(thread.view.items[-1])
    assert shown.blocks == (ToolResult("t1", (Text("short result"),)), Text("short words"))


def test_a_fold_that_would_part_a_call_from_its_result_is_refused(thread: cf.Thread) -> None:
    thread.append(user("look"))
    thread.append(CALL)
    thread.append(RESULT)
    with pytest.raises(CannotCover, match="stand or fall together"):
        thread.fold([1, 2], "half a pair")
    with pytest.raises(CannotCover, match="Make two folds"):
        thread.fold(cf.Cover(((1, 1),), ((3, 0),)), "both")
    with pytest.raises(CannotCover, match="one text for each block"):
        thread.fold([(3, 0)], cf.StandIn(blocks=("a", "b")))


def test_a_pinned_message_shows_inside_a_fold_and_cannot_be_folded(thread: cf.Thread) -> None:
    for message in (user("a"), assistant("b"), user("c")):
        thread.append(message)
    fold = thread.fold([1, 2], "folded")
    thread.pin(1)
    assert seqs(thread) == [fold, 1, 3]
    with pytest.raises(CannotCover, match="pinned"):
        thread.fold([1], "again")
    thread.unpin(1)
    assert seqs(thread) == [fold, 3]
    with pytest.raises(NotFound, match="not pinned"):
        thread.unpin(1)


def test_rewinding_hides_what_came_after_and_redo_returns_to_it(thread: cf.Thread) -> None:
    for message in (user("a"), assistant("b"), user("c")):
        thread.append(message)
    report = thread.rewind(before=3)
    assert (report.head, report.left, report.messages) == (2, 3, (3,))
    assert seqs(thread) == [1, 2]
    assert thread.redo().head == 3
    assert seqs(thread) == [1, 2, 3]
    thread.rewind(after=1)
    new = thread.append(user("another way"))
    assert seqs(thread) == [1, new]
    with pytest.raises(NotFound, match="nothing to redo"):
        thread.redo()
    assert thread.message(3).text == "c"


def test_a_view_of_the_past_shows_what_was_seen_then_also_on_a_branch_that_was_left(thread: cf.Thread) -> None:
    first, second = thread.append(user("a")), thread.append(assistant("b"))
    fold = thread.fold([first, second], "a and b")
    rewound = thread.rewind(before=second)
    thread.append(assistant("c"))
    assert [message.seq for message in thread.view_at(second).messages] == [first, second]
    assert [message.text for message in thread.view_at(fold).messages] == ["a and b"]
    assert [message.seq for message in thread.view_at(fold + 1).messages] == [first]  # the rewind itself
    assert thread.view_at(fold + 1).head == rewound.head
    with pytest.raises(NotFound, match="newest is"):
        thread.view_at(99)


def test_rewinding_to_what_is_not_there_names_the_neighbours(thread: cf.Thread) -> None:
    thread.append(user("a"))
    with pytest.raises(NotFound, match="nearest are 1 before and none after"):
        thread.rewind(before=9)
    with pytest.raises(TypeError):
        thread.rewind()
    with pytest.raises(TypeError):
        thread.rewind(before=1, after=1)


def test_a_fork_shares_the_past_and_goes_its_own_way(store: cf.Store, thread: cf.Thread) -> None:
    for message in (user("a"), assistant("b"), user("c")):
        thread.append(message)
    fork = thread.fork(at=2)
    fork.append(user("elsewhere"))
    thread.append(assistant("here"))
    assert [m.text for m in fork.view.messages] == ["a", "b", "elsewhere"]
    assert [m.text for m in thread.view.messages] == ["a", "b", "c", "here"]
    again = fork.fork(name="third")
    again.append(assistant("deeper"))
    assert [m.text for m in again.view.messages] == ["a", "b", "elsewhere", "deeper"]
    assert store.verify() == []
    with pytest.raises(BadConfiguration, match="already"):
        thread.fork(name="third")


def test_a_second_opening_sees_what_the_first_wrote(tmp_path: Path) -> None:
    with cf.open(tmp_path / "a.db") as one, cf.open(tmp_path / "a.db") as two:
        here, there = one.thread("t", model="gpt-6-sol"), two.thread("t")
        here.append(user("from here"))
        there.append(user("from there"))
        assert [m.text for m in here.view.messages] == ["from here", "from there"]
        fold = there.fold([1], "folded by the other")
        assert seqs(here) == [fold, 2]


def test_a_view_keeps_what_it_was_while_the_thread_goes_on(thread: cf.Thread) -> None:
    thread.append(user("a"))
    view = thread.view
    tokens = view.count.tokens
    thread.append(assistant("b"))
    thread.fold([1], "gone")
    assert [message.seq for message in view.messages] == [1]
    assert view.count.tokens == tokens


def test_counts_follow_the_model_a_thread_is_opened_with(store: cf.Store) -> None:
    thread = store.thread("t", model="claude-sonnet-5-5")
    thread.append(user("The quick brown fox jumps over the lazy dog. " * 20))
    assert not thread.view.count.exact
    exact = store.thread("t", model="gpt-6-sol").view.count
    assert exact.exact
    assert exact.method == "o200k"
    thread.append(CALL)
    thread.append(user("interrupted"))
    assert store.thread("t", model="gpt-6-sol").view.count.tokens > exact.tokens


def test_forgetting_a_message_leaves_a_thread_that_verifies_and_renders(store: cf.Store, thread: cf.Thread) -> None:
    thread.append(user("my key is CANARY-1"))
    thread.append(CALL)
    thread.append(RESULT)
    thread.fold([1], "the user told the key CANARY-1")
    fork = thread.fork()
    assert store.forget("refactor-42", 1) == 2
    assert b"CANARY" not in thread.body(model="m", max_tokens=1) + fork.body(model="m", max_tokens=1)
    assert thread.message(1).text == FORGOTTEN
    assert store.verify() == []
    store.forget("refactor-42")
    assert b"a.py" not in thread.body(model="m", max_tokens=1)
    assert b'"tool_use_id":"forgotten_2_0"' in thread.body(model="m", max_tokens=1)
    with pytest.raises(NotFound):
        store.forget("nobody")


def test_a_thread_survives_export_import_and_backup(store: cf.Store, thread: cf.Thread, tmp_path: Path) -> None:
    thread.append(user("a"))
    thread.fold([1], "folded")
    store.export("refactor-42", tmp_path / "t.jsonl")
    store.backup(tmp_path / "copy.db")
    copy = store.import_(tmp_path / "t.jsonl", name="copy")
    assert copy.body(model="m", max_tokens=1) == thread.body(model="m", max_tokens=1)
    with cf.open(tmp_path / "copy.db") as other:
        assert other.verify() == []
        assert [row.name for row in other.threads()] == ["refactor-42"]
    with cf.open() as memory, pytest.raises(BadConfiguration, match="file"):
        memory.backup(tmp_path / "x.db")


def test_an_sdk_object_and_a_whole_answer_are_understood(thread: cf.Thread) -> None:
    class Object:
        def model_dump(self, **_options: object) -> dict[str, object]:
            return assistant("from an object")

    thread.append(Object())
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5-5",
        "content": [{"type": "text", "text": "whole"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    thread.append(answer)
    assert [message.text for message in thread.view.messages] == ["from an object", "whole"]


def test_an_empty_thread_is_a_view_of_nothing(thread: cf.Thread) -> None:
    assert len(thread.view) == 0
    assert thread.view.count.tokens == 0
    assert isinstance(thread.events, tuple)
    assert Projection().head == 0


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = cf.open(tmp_path / "a.db")
    thread = store.thread("t")
    store.close()
    with pytest.raises(StoreError):
        thread.append(user("x"))


def test_a_batch_that_fails_leaves_the_thread_as_it_was(store: cf.Store, thread: cf.Thread) -> None:
    thread.append(user("before"))
    fork = thread.fork()

    def failing() -> None:
        with store.batch():
            thread.append(user("never written"))
            fork.append(user("nor this"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert [message.text for message in thread.view.messages] == ["before"]
    assert [message.text for message in fork.view.messages] == ["before"]
    thread.append(user("after"))
    assert [message.text for message in thread.view.messages] == ["before", "after"]
    assert store.verify() == []


def test_only_the_newest_cache_marks_are_sent(thread: cf.Thread) -> None:
    for number in range(8):
        role = "assistant" if number % 2 else "user"
        block = {"type": "text", "text": f"{number}", "cache_control": {"type": "ephemeral"}}
        thread.append({"role": role, "content": [block]})
    assert thread.body(model="m", max_tokens=1).count(b'"cache_control":') == 4
    marked = [{"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}}]
    body = decode(thread.body(model="m", max_tokens=1, system=marked))
    assert encode(body).count(b'"cache_control":') == 4
    assert "cache_control" in body["messages"][-1]["content"][0]
    assert "cache_control" not in body["messages"][0]["content"][0]
    assert b'"cache_control":' in thread.view.messages[0].raw


def test_memory_has_two_names_and_makes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (None, ":memory:"):
        with cf.open(path) as store:
            store.thread("t").append(user("x"))
    assert list(tmp_path.iterdir()) == []


def test_a_system_message_whose_user_message_is_folded_away_is_rendered_anew(thread: cf.Thread) -> None:
    thread.append(user("one"))
    thread.append(assistant("two"))
    thread.append(user("three"))
    thread.append({"role": "system", "content": "From now on answer in verse."})
    thread.append(assistant("four"))
    thread.append(user("five"))
    assert b'"role":"system"' in thread.body(model="m", max_tokens=1)
    thread.fold([1, 3], "[two messages]")
    body = decode(thread.body(model="m", max_tokens=1))
    assert dialects.find("anthropic").check(body) == []
    assert "From now on answer in verse." in encode(body).decode()


def test_words_are_read_again_where_there_is_little_room_to_keep_them(tmp_path: Path) -> None:
    said = [f"{number} " + "word " * 200 for number in range(40)]
    with cf.open(tmp_path / "store.db") as store:
        thread = store.thread("t")
        for text in said:
            thread.append({"role": "user", "content": text})
        thread.lens.keep_at_most(3_000)  # fewer than are read along, once they are asked for one after another
        assert [message.text for message in thread.view.messages] == said


def test_who_takes_back_a_fold_that_is_not_there_is_told_which_ones_are(store: cf.Store) -> None:
    thread = store.thread("t")
    first = thread.append(user("one"))
    with pytest.raises(NotFound, match=r"The live ones are none\."):
        thread.unfold(99)
    fold = thread.fold([first], "gone")
    with pytest.raises(NotFound, match=rf"The live ones are \[{fold}\]\."):
        thread.unfold(99)
