"""Requests broken on purpose, each in one way: the validators must find every one."""

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import contextfold as cf
from contextfold import dialects
from contextfold.testing import histories

Body = dict[str, Any]
Mutation = Callable[[Body, Random], bool]  # breaks the body; False when it has no place to

SEEDS = range(30)
LEAST = 200


def blocks(body: Body, kind: str) -> list[tuple[int, int]]:
    """Places of blocks of a kind: (message, block)."""
    return [
        (at, index)
        for at, message in enumerate(body["messages"])
        if isinstance(message["content"], list)
        for index, block in enumerate(message["content"])
        if block["type"] == kind
    ]


def drop_a_result(body: Body, random: Random) -> bool:
    at, index = random.choice(blocks(body, "tool_result"))
    body["messages"][at]["content"][index] = {"type": "text", "text": "something else"}
    return True


def drop_a_call(body: Body, random: Random) -> bool:
    at, index = random.choice(blocks(body, "tool_use"))
    body["messages"][at]["content"][index] = {"type": "text", "text": "I called nothing."}
    return True


def double_a_result(body: Body, random: Random) -> bool:
    at, index = random.choice(blocks(body, "tool_result"))
    body["messages"][at]["content"].insert(index, dict(body["messages"][at]["content"][index]))
    return True


def rename_a_result(body: Body, random: Random) -> bool:
    at, index = random.choice(blocks(body, "tool_result"))
    body["messages"][at]["content"][index]["tool_use_id"] = "toolu_nobody"
    return True


def put_words_before_a_result(body: Body, random: Random) -> bool:
    at, _ = random.choice(blocks(body, "tool_result"))
    body["messages"][at]["content"].insert(0, {"type": "text", "text": "first some words"})
    return True


def empty_a_text(body: Body, random: Random) -> bool:
    at = random.randrange(len(body["messages"]))
    body["messages"][at]["content"] = [{"type": "text", "text": random.choice(["", " ", "\n\t"])}]
    return True


def empty_a_message(body: Body, random: Random) -> bool:
    at = random.randrange(len(body["messages"]) - 1)
    body["messages"][at]["content"] = []
    return True


def begin_with_the_assistant(body: Body, _random: Random) -> bool:
    body["messages"].insert(0, {"role": "assistant", "content": "Shall we?"})
    return True


def unknown_role(body: Body, random: Random) -> bool:
    body["messages"][random.randrange(len(body["messages"]))]["role"] = "moderator"
    return True


def use_an_id_twice(body: Body, random: Random) -> bool:
    calls = blocks(body, "tool_use")
    (at, index), (other, there) = random.sample(calls, 2)
    name = body["messages"][at]["content"][index]["id"]
    old = body["messages"][other]["content"][there]["id"]
    body["messages"][other]["content"][there]["id"] = name
    for place, which in blocks(body, "tool_result"):
        if body["messages"][place]["content"][which]["tool_use_id"] == old:
            body["messages"][place]["content"][which]["tool_use_id"] = name
    return True


def end_with_an_open_call(body: Body, _random: Random) -> bool:
    call = {"type": "tool_use", "id": "toolu_open", "name": "run", "input": {}}
    body["messages"].append({"role": "assistant", "content": [call]})
    return True


MUTATIONS: tuple[Mutation, ...] = (
    drop_a_result,
    drop_a_call,
    double_a_result,
    rename_a_result,
    put_words_before_a_result,
    empty_a_text,
    empty_a_message,
    begin_with_the_assistant,
    unknown_role,
    use_an_id_twice,
    end_with_an_open_call,
)


def requests() -> Iterator[tuple[int, Body]]:
    for seed in SEEDS:
        messages = list(histories.session(seed, tokens=3_000))
        while messages[-1]["role"] == "assistant":
            messages.pop()
        yield seed, cf.fit(messages, model="claude-sonnet-5-5", max_tokens=500).body


def test_every_request_broken_in_one_way_is_found() -> None:
    anthropic = dialects.find("anthropic")
    broken = 0
    for seed, body in requests():
        assert anthropic.check(body) == []
        for mutate in MUTATIONS:
            mutant = copy.deepcopy(body)
            if mutate(mutant, Random(f"{seed} {mutate.__name__}")):
                broken += 1
                assert anthropic.check(mutant), (seed, mutate.__name__)
    assert broken >= LEAST
