"""Conversations that somebody else runs: objects given back, requests that grow, sessions that are let go and found."""

import asyncio
import threading
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import contextfold as cf
from contextfold.conversations import (
    MOST_AT_ONCE,
    MOST_OPEN,
    Conversations,
    FoldSettings,
    OwnedObjects,
    OwnerFormat,
)
from contextfold.domain import Folded, decode, encode

MODEL = "claude-sonnet-5-5"
Message = dict[str, str]


def said(role: str, text: str) -> Message:
    return {"role": role, "content": text}


@dataclass
class Notes:
    """A format that notes what it was asked to write and to read."""

    written: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)

    @property
    def form(self) -> OwnerFormat:
        return OwnerFormat(self._write, self._read, apart=lambda message: message.get("pieces", [message]))

    def _write(self, message: Message) -> bytes:
        self.written.append(message["content"])
        return encode(message)

    def _read(self, raw: bytes) -> Message:
        message: Message = decode(raw)
        self.read.append(message["content"])
        return message


def test_only_an_object_that_is_another_is_written_again() -> None:
    notes, owned = Notes(), OwnedObjects()
    messages = [said("user", "a"), said("assistant", "b")]
    owned.take(messages, notes.form)
    owned.take([*deepcopy(messages), said("user", "c")], notes.form)
    owned.take([messages[0], said("assistant", "other")], notes.form)
    assert notes.written == ["a", "b", "c", "other"]
    assert owned.bytes == [encode(messages[0]), encode(said("assistant", "other"))]


def test_an_object_in_pieces_is_cut_once_and_written_once() -> None:
    notes, owned = Notes(), OwnedObjects()
    pieces = [said("system", "rules"), said("user", "a")]
    first: dict[str, Any] = {"pieces": pieces}
    owned.take([first], notes.form)
    owned.take([first, said("assistant", "b")], notes.form)
    owned.take([deepcopy(first), said("assistant", "c")], notes.form)
    assert notes.written == ["rules", "a", "b", "c"]
    assert owned.bytes == [*map(encode, pieces), encode(said("assistant", "c"))]


def test_the_owners_own_objects_come_back_and_of_those_alike_the_newest() -> None:
    conversation = Conversations(None, FoldSettings(window=6_000)).of("t", "gpt-4.1", "openai-chat")
    notes, messages, seen = Notes(), list[Message](), set[bool]()
    for number in range(40):
        messages += [said("user", "go on"), said("assistant", f"answer {number} " + "word " * 200)]
        messages.append(said("user", "yes"))
        shown = conversation.folded(messages, notes.form, max_tokens=500)
        at_the_end = sum(one is other for one, other in zip(reversed(shown), reversed(messages), strict=False))
        folded = [message for message in shown if not any(message is each for each in messages)]
        assert at_the_end >= 3
        assert len({id(message) for message in shown}) == len(shown), "no object twice"
        assert all(message["content"] in notes.read for message in folded)
        seen.add(bool(folded))
    assert seen == {False, True}, "requests that grew, and such as were folded"


def test_objects_that_were_loaded_anew_are_those_that_come_back() -> None:
    conversation = Conversations(None).of("t", "gpt-4.1", "openai-chat")
    form = Notes().form
    messages = [said("user", "a"), said("assistant", "b"), said("user", "c")]
    conversation.folded(messages[:1], form)
    loaded = deepcopy(messages)
    assert all(one is other for one, other in zip(conversation.folded(loaded, form), loaded, strict=True))


def test_a_conversation_that_was_let_go_is_found_again(tmp_path: Path) -> None:
    kept = Conversations(tmp_path / "agent.db", FoldSettings(window=9_000))
    first = kept.of("thread 0", MODEL, "anthropic")
    first.turn([said("user", "hello")])
    first.answered(said("assistant", "hi"))
    assert kept.of("thread 0", MODEL, "anthropic") is first
    for number in range(1, MOST_OPEN + 1):
        kept.of(f"thread {number}", MODEL, "anthropic")
    again = kept.of("thread 0", MODEL, "anthropic")
    assert again is not first
    assert again.session.stats.messages == 2
    assert again.session.model.window == 9_000
    kept.close()
    with cf.open(tmp_path / "agent.db") as store:
        held = Conversations(store)
        assert held.of("thread 0", MODEL, "anthropic").session.view.length == 2
        held.close()
        assert "thread 0" in store, "a store that was given stays open"


def test_only_a_refusal_for_length_makes_the_next_request_shorter() -> None:
    kept = Conversations(None)
    conversation = kept.of("t", MODEL, "anthropic")
    conversation.turn([said("user", "hello")])
    assert not conversation.overflowed(ValueError("rate limit exceeded"))
    assert conversation.overflowed(ValueError("prompt is too long: 210000 tokens > 200000 maximum"))
    kept.close()


# -- beside an event loop ---------------------------------------------------------------------------------------------

LONGEST = 60  # seconds, on a machine that has much else to do


class Told:
    """A format that notes which threads write and read with it."""

    def __init__(self) -> None:
        self.threads: set[threading.Thread] = set()
        self.form = OwnerFormat(self._write, decode)

    def _write(self, message: Message) -> bytes:
        self.threads.add(threading.current_thread())
        return encode(message)

    def in_the_loop(self) -> bool:
        """Whether all that was written since the last time was written in the loop's own thread."""
        threads, self.threads = self.threads, set()
        return threads == {threading.current_thread()}


async def test_a_short_turn_in_memory_is_taken_in_the_loop_and_whatever_takes_its_time_beside_it(
    tmp_path: Path,
) -> None:
    told, messages = Told(), [said("user", "a")]

    async def turn(kept: Conversations, *more: Message) -> bool:
        messages.extend(more)
        shown = await kept.promptly(lambda: kept.of("t", "gpt-4.1", "openai-chat").folded(messages, told.form))
        assert shown == messages
        return told.in_the_loop()

    memory, file = Conversations(None), Conversations(tmp_path / "agent.db")
    assert not await turn(memory), "its settings are read first"
    assert await turn(memory, said("assistant", "b"), said("user", "c"))
    assert not await turn(memory, *[said("user", str(number)) for number in range(MOST_AT_ONCE + 1)])
    assert await turn(memory, said("user", "d"))
    conversation, taken, gate = memory.of("t", "gpt-4.1", "openai-chat"), threading.Event(), threading.Event()

    def hold() -> None:
        with conversation.lock:
            taken.set()
            gate.wait(LONGEST)

    held = asyncio.ensure_future(asyncio.to_thread(hold))
    await asyncio.to_thread(taken.wait, LONGEST)
    waiting = asyncio.ensure_future(turn(memory, said("user", "e")))
    await asyncio.sleep(0)  # it has asked, and the loop goes on
    gate.set()
    assert not await waiting, "somebody else was at it"
    await held
    answer = said("assistant", "f")
    assert await memory.promptly(conversation.answered_with, answer, told.form) == conversation.session.view.head
    assert told.in_the_loop()
    assert await turn(memory, answer, said("user", "g"))
    assert not await turn(file)
    assert not await turn(file, said("user", "h")), "a file is waited for"
    for each in (memory, file):
        each.close()


async def test_a_fold_is_made_and_told_beside_the_loop() -> None:
    notices, threads = list[Any](), set[threading.Thread]()

    def on_fold(notice: Any) -> None:
        notices.append(notice)
        threads.add(threading.current_thread())

    kept = Conversations(None, FoldSettings(window=6_000, on_fold=on_fold))
    form, messages, lengths = Notes().form, list[Message](), list[int]()
    for number in range(40):
        messages += [said("user", "go on"), said("assistant", f"answer {number} " + "word " * 200), said("user", "yes")]
        folded = kept.of("t", "gpt-4.1", "openai-chat").folded
        lengths.append(len(await kept.promptly(folded, messages, form, max_tokens=500)))
    conversation = kept.of("t", "gpt-4.1", "openai-chat")
    made = [each for each in conversation.session.thread.events if isinstance(each.event, Folded)]
    assert len(made) == len(notices) > 0, "each of them is told once"
    assert threading.current_thread() not in threads
    assert max(lengths) < len(messages)
    kept.close()
