"""Folds of a history that its client sent again with something changed: they hide what they hid, or are not there."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.gateway.house import House, gateway, web
from tests.acceptance.gateway.plain_upstream import Answer, PlainUpstream, plain_upstream
from tests.property.conversation_pairs import FORMATS, Format

pytestmark = pytest.mark.finding("K9")

LONG = "word " * 700
LONGER = "word " * 1500
Message = dict[str, Any]
BY_NAME = {format.name: format for format in FORMATS}


@pytest.fixture
def upstream() -> Iterator[PlainUpstream]:
    with plain_upstream() as upstream:
        yield upstream


@pytest.fixture
def house(tmp_path: Path, upstream: PlainUpstream) -> Iterator[House]:
    with gateway(tmp_path / "store.db", upstream.url, window=20_000, limit=12_000, recall=True) as house:
        yield house


@pytest.fixture(params=BY_NAME)
def format(request: pytest.FixtureRequest) -> Format:
    return BY_NAME[request.param]


def ask(
    house: House, upstream: PlainUpstream, format: Format, messages: list[Message], *answers: Message, **headers: str
) -> str:
    """What was forwarded for a history, in the last round."""
    for answer in answers or (format.answer("Done."),):
        upstream.answer(Answer([json.dumps(answer).encode()]))
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    reply = web().post(house.url + format.path, json=format.body(messages), headers={"x-api-key": "sk-one", **named})
    assert reply.status_code == 200, reply.text
    house.settle()
    upstream.script.clear()
    return upstream.arrived[-1].body.decode()


def thoughtful(format: Format, first: str, reminder: str = "", *, thinks: bool) -> list[Message]:
    """Eight long answers behind long thoughts."""
    history = [*format.user(f"Build it. {reminder}"), *format.said("Yes."), *format.user(f"Go {first}")]
    for at in range(8):
        history += format.said(f"ANSWER{at}END {LONG}", f"thought {at} {LONG}" if thinks else "")
        history += format.user(f"go {at}")
    return history


@pytest.mark.parametrize("headers", [{}, {"x_session_id": "s"}], ids=["no session", "a session"])
def test_answers_stay_where_their_reasoning_is_dropped_and_an_early_message_changes(
    house: House, upstream: PlainUpstream, format: Format, headers: dict[str, str]
) -> None:
    before = ask(house, upstream, format, thoughtful(format, "one", thinks=True), **headers)
    assert "thought 0" not in before, "the reasoning was folded"
    forwarded = ask(house, upstream, format, thoughtful(format, "two", thinks=False), **headers)
    assert [at for at in range(8) if f"ANSWER{at}END" not in forwarded] == []


def test_a_reminder_that_changes_takes_no_answer_with_it(house: House, upstream: PlainUpstream) -> None:
    format, headers = BY_NAME["anthropic"], {"x_claude_code_session_id": "s", "user_agent": "claude-cli/2.1"}
    one, two = (f"<system-reminder>{reminder}</system-reminder>" for reminder in ("one", "two"))
    ask(house, upstream, format, thoughtful(format, "", one, thinks=True), **headers)
    forwarded = ask(house, upstream, format, thoughtful(format, "", two, thinks=False), **headers)
    assert [at for at in range(8) if f"ANSWER{at}END" not in forwarded] == []


def test_a_text_that_comes_in_pieces_is_not_taken_for_the_result_behind_it(
    house: House, upstream: PlainUpstream
) -> None:
    format = BY_NAME["anthropic"]

    def history(first: str, pieces: tuple[str, ...], calls: int) -> list[Message]:
        messages = [*format.user("Hello."), *format.said("Yes."), *format.called("c0", first, "small")]
        for at in range(1, calls):
            asked, told = format.called(f"c{at}", f"f{at}", f"{at} {LONGER}")
            notes = [{"type": "text", "text": piece.format(at)} for piece in pieces]
            messages += [asked, {"role": "user", "content": [*notes, *told["content"]]}]
        return [*messages, *format.user("go")]

    ask(house, upstream, format, history("first", ("Note NOTE{}END",), 8), x_session_id="s")
    forwarded = ask(house, upstream, format, history("edited", ("Note ", "NOTE{}END"), 5), x_session_id="s")
    assert [at for at in range(1, 5) if f"NOTE{at}END" not in forwarded] == []


def reading(format: Format, first: str, path: str, calls: int = 8) -> list[Message]:
    """Long results of calls, of which the first reads a path."""
    history = [
        *format.user(f"Hello. {first}"),
        *format.called("c0", "a.py", "small"),
        *format.called("c1", path, LONGER),
    ]
    for at in range(2, calls):
        history += format.called(f"c{at}", f"f{at}", f"{at} UNIQUE{at}END {LONGER}")
    return [*history, *format.user("Go on.")]


@pytest.mark.parametrize("headers", [{}, {"x_session_id": "s"}], ids=["no session", "a session"])
def test_a_result_that_is_cleared_is_named_by_its_own_call(
    house: House, upstream: PlainUpstream, format: Format, headers: dict[str, str]
) -> None:
    ask(house, upstream, format, reading(format, "", "heron.txt"), **headers)
    assert "heron" not in ask(house, upstream, format, reading(format, "", "osprey.txt"), **headers)


def recalled(format: Format, **handle: int) -> Message:
    return format.answer("Look.", ("recall", handle))


def test_handles_in_folds_that_were_made_again_lead_to_what_they_hide(house: House, upstream: PlainUpstream) -> None:
    format = BY_NAME["anthropic"]
    history = reading(format, "", "heron.txt")
    ask(house, upstream, format, history)
    edited = [*history[:1], *format.called("c0", "b.py", "small"), *history[3:]]
    handles = re.findall(r"recall\(seq=(\d+)\)", ask(house, upstream, format, edited))
    assert handles, "results were cleared"
    answers = recalled(format, seq=int(handles[-1])), format.answer("Done.")
    assert "UNIQUE" in ask(house, upstream, format, edited, *answers).rpartition('"tool_use_id":"r')[2]


def test_the_handle_of_a_digest_holds_on_every_branch_that_shows_it(tmp_path: Path, upstream: PlainUpstream) -> None:
    format = BY_NAME["anthropic"]
    shared = [*format.user("Hello."), *format.said("Yes.")]
    for at in range(10):
        shared += [*format.user(f"Part {at}. {LONG}"), *format.said(f"Noted {at}.")]
    with gateway(tmp_path / "store.db", upstream.url, window=20_000, limit=6_000, recall=True) as house:
        ask(house, upstream, format, [*shared, *format.user("one"), *format.said("x"), *format.user("go")])
        history = [*shared, *format.user("two"), *format.said("x"), *format.user("go")]
        (handle, *_) = re.findall(r"recall\(fold=(\d+)\)", ask(house, upstream, format, history))
        answers = recalled(format, fold=int(handle)), format.answer("Done.")
        assert "Part 0" in ask(house, upstream, format, history, *answers).rpartition('"tool_use_id":"r')[2]
