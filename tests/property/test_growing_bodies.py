"""A body that goes on from the one before has the bytes of one written anew: in every dialect, whatever happens.

Broken histories, cache marks of callers, tools that ran at the provider, settings changed where they stand, folds and
rewinds.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import contextfold as cf
from contextfold import dialects
from contextfold.dialects import Marks
from contextfold.testing import histories, nasty
from contextfold.thread.request_bytes import Rendering

MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "openai-chat": "gpt-4.1",
    "openai-chat:bedrock": "gpt-4.1",
    "openai-responses": "gpt-4.1",
    "gemini": "gemini-2.5-pro",
}
MARK = {"type": "ephemeral"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "folding"}}


def said(random: Random) -> Iterator[dict[str, Any]]:
    """A history in which callers mark what they send, the provider searches, and somebody begins with instructions."""
    if random.random() < 0.5:
        yield {"role": "system", "content": "Answer in one line."}
    for message in nasty.history(random, length=40, dialect="anthropic"):
        chance = random.random()
        if chance < 0.15:
            yield {"role": "user", "content": [{"type": "text", "text": "marked", "cache_control": MARK}]}
        elif chance < 0.2:
            yield {"role": "assistant", "content": [{"type": "text", "text": "I search."}, SEARCH]}
        yield message


def changed(random: Random, settings: dict[str, Any]) -> None:
    """Something about the request, in place, as a caller's own list of tools would be."""
    match random.randrange(5):
        case 0:
            settings["max_tokens"] = random.randrange(100, 104)
        case 1:
            settings["system"] = random.choice(["", "Be brief.", "Be kind."])
        case 2:
            settings["tools"].append(random.choice(histories.tools("anthropic")))
        case 3:
            settings["tools"].append({**random.choice(histories.tools("anthropic")), "cache_control": MARK})
        case _:
            settings["tools"].clear()


def disturbed(random: Random, thread: cf.Thread) -> None:
    """A fold, or a step back."""
    seqs = [message.seq for message in thread.view.messages if message.kind == "message"]
    if random.random() < 0.5 and len(seqs) > 4:
        thread.rewind(before=seqs[-random.randrange(1, 4)])
    elif thread.view.length > 4:
        stop = thread.view.cut_at_or_after(random.randrange(1, 4))
        covered = {item.seq for item in thread.view.items[:stop] if item.kind in ("message", "stand_in")}
        thread.fold(covered, "Some of it was folded.")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("dialect", MODELS)
def test_a_body_that_goes_on_is_the_body_written_anew(dialect: str, seed: int) -> None:
    random = Random(f"growing {dialect} {seed}")
    settings: dict[str, Any] = {"model": MODELS[dialect], "max_tokens": 100, "tools": []}
    with cf.open() as store:
        thread = store.thread("grown", model=MODELS[dialect])
        rendering = Rendering(dialects.find(dialect), MODELS[dialect])
        for message in said(random):
            thread.append(message)
            if random.random() < 0.1:
                changed(random, settings)
            if random.random() < 0.05:
                disturbed(random, thread)
            view = thread.view
            marks = Marks((view.length // 2,), frame=True, end=True) if random.random() < 0.1 else Marks()
            anew = Rendering(dialects.find(dialect), MODELS[dialect])
            written = anew.body(view, thread.lens, settings, marks)
            assert rendering.body(view, thread.lens, settings, marks) == written


def test_one_more_mark_than_the_provider_takes_is_taken_off_an_earlier_message() -> None:
    tool = {**histories.tools("anthropic")[0], "cache_control": MARK}
    with cf.open() as store:
        thread = store.thread("marked", model=MODELS["anthropic"])
        for number in range(4):
            marked = {"type": "text", "text": f"marked {number}", "cache_control": MARK}
            thread.append({"role": "user", "content": [marked]})
            assert thread.body(max_tokens=100, tools=[tool]).count(b'"cache_control":') == min(4, number + 2)


def test_the_same_bytes_said_by_somebody_else_are_not_gone_on_with() -> None:
    with cf.open() as store:
        thread = store.thread("posing", model=MODELS["anthropic"])
        first = thread.append({"role": "system", "content": "Answer in one line."})
        thread.append({"role": "user", "content": "hello"})
        lifted = thread.body(max_tokens=100)
        rendering = thread.rendering("anthropic")
        (posing, _) = rendering.chunks(thread.view, thread.lens)
        thread.rewind(before=first)
        thread.append(posing)
        thread.append({"role": "user", "content": "hello"})
        assert posing not in lifted
        assert posing in thread.body(max_tokens=100)


def test_an_unchanged_request_is_handed_out_again() -> None:
    with cf.open() as store:
        thread = store.thread("same", model=MODELS["anthropic"])
        thread.append({"role": "user", "content": "hello"})
        assert thread.body(max_tokens=100) is thread.body(max_tokens=100)


def test_what_was_forgotten_is_in_no_body_that_goes_on() -> None:
    with cf.open() as store:
        thread = store.thread("forgetful", model=MODELS["anthropic"])
        leaked = thread.append({"role": "user", "content": "my key is hunter2"})
        assert b"hunter2" in thread.body(max_tokens=100)
        store.forget("forgetful", leaked)
        thread.append({"role": "user", "content": "go on"})
        assert b"hunter2" not in thread.body(max_tokens=100)
