"""Ids used twice: shown under new ones, pairs kept, the log untouched."""

import contextfold as cf
from contextfold import dialects
from contextfold.domain import decode, encode


def call(*ids: str, name: str = "read") -> dict[str, object]:
    blocks = [{"type": "tool_use", "id": each, "name": name, "input": {"id": each}} for each in ids]
    return {"role": "assistant", "content": blocks}


def result(*pairs: tuple[str, str]) -> dict[str, object]:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": id_, "content": text} for id_, text in pairs],
    }


def shown(thread: cf.Thread) -> list[tuple[str, str]]:
    """Ids of calls and results in the order of the request, results with their text."""
    body = decode(thread.body(model="m", max_tokens=1))
    assert dialects.find("anthropic").check(body) == []
    blocks = [block for message in body["messages"] for block in message["content"] if isinstance(block, dict)]
    return [(str(block.get("id") or block.get("tool_use_id")), str(block.get("content", ""))) for block in blocks]


def test_an_id_used_in_two_turns_is_shown_as_two_ids() -> None:
    with cf.open() as store:
        thread = store.thread("t", model="claude-sonnet-5-5")
        said = [{"role": "user", "content": "go"}, call("a"), result(("a", "1")), call("a"), result(("a", "2"))]
        for message in said:
            thread.append(message)
        assert shown(thread) == [("a", ""), ("a", "1"), ("a-2", ""), ("a-2", "2")]
        assert [message.raw for message in thread.view.messages] == [encode(message) for message in said]


def test_an_id_used_twice_in_one_batch_keeps_each_result_with_its_call() -> None:
    with cf.open() as store:
        thread = store.thread("t", model="claude-sonnet-5-5")
        for message in ({"role": "user", "content": "go"}, call("a", "a"), result(("a", "1"), ("a", "2"))):
            thread.append(message)
        assert shown(thread) == [("a", ""), ("a-2", ""), ("a", "1"), ("a-2", "2")]


def test_arguments_that_repeat_an_id_are_left_alone() -> None:
    with cf.open() as store:
        thread = store.thread("t", model="claude-sonnet-5-5")
        for message in (
            {"role": "user", "content": "go"},
            call("a"),
            result(("a", "1")),
            call("a"),
            result(("a", "2")),
        ):
            thread.append(message)
        body = thread.body(model="m", max_tokens=1)
        assert body.count(b'"input":{"id":"a"}') == 2


def test_an_id_left_behind_by_a_rewind_is_free_again() -> None:
    with cf.open() as store:
        thread = store.thread("t", model="claude-sonnet-5-5")
        thread.append({"role": "user", "content": "go"})
        first = thread.append(call("a"))
        thread.append(result(("a", "1")))
        thread.rewind(before=first)
        thread.append(call("a"))
        thread.append(result(("a", "2")))
        assert shown(thread) == [("a", ""), ("a", "2")]
        fork = thread.fork()
        fork.append(call("a"))
        fork.append(result(("a", "3")))
        assert shown(fork)[-1] == ("a-2", "3")


def test_the_same_holds_for_chat_completions() -> None:
    with cf.open() as store:
        thread = store.thread("t", model="gpt-6-sol")
        thread.append({"role": "user", "content": "go"})
        for text in ("1", "2"):
            function = {"name": "read", "arguments": '{"id":"a"}'}
            calls = [{"id": "a", "type": "function", "function": function}]
            thread.append({"role": "assistant", "content": None, "tool_calls": calls})
            thread.append({"role": "tool", "tool_call_id": "a", "content": text})
        body = decode(thread.body(dialect="openai-chat", model="m"))
        assert dialects.find("openai-chat").check(body) == []
        assert [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"] == ["a", "a-2"]


def test_a_call_without_an_id_gets_one() -> None:
    with cf.open() as store:
        thread = store.thread("t", model="claude-sonnet-5-5")
        for message in ({"role": "user", "content": "go"}, call(""), {"role": "user", "content": "never mind"}):
            thread.append(message)
        assert [item.kind for item in thread.view.items] == ["message", "message", "completion", "message"]
        assert thread.view.items[2].shape.results == thread.view.items[1].shape.calls != ("",)
