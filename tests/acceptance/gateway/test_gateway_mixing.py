"""Two conversations that are easily taken for one, and are not: each way in which they were mixed, once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextfold.domain import Rewound
from tests.acceptance.gateway.house import House, gateway, web
from tests.acceptance.gateway.plain_upstream import Answer, PlainUpstream, plain_upstream

pytestmark = pytest.mark.finding("K9")

KEY = "sk-shared"
LONG = "alpha beta gamma delta epsilon " * 150
RECALL = {"type": "tool_use", "id": "toolu_r", "name": "recall", "input": {"question": "which bird was it"}}
Message = dict[str, Any]


@pytest.fixture
def upstream() -> Iterator[PlainUpstream]:
    with plain_upstream() as upstream:
        yield upstream


@pytest.fixture
def house(tmp_path: Path, upstream: PlainUpstream) -> Iterator[House]:
    with gateway(tmp_path / "store.db", upstream.url, window=20_000, limit=8_000, recall=True) as house:
        yield house


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(*blocks: Message, text: str = "") -> Message:
    return {"role": "assistant", "content": [*([{"type": "text", "text": text}] if text else []), *blocks]}


def called(id: str, path: str, result: str) -> list[Message]:
    call = {"type": "tool_use", "id": id, "name": "read", "input": {"path": path}}
    told = {"type": "tool_result", "tool_use_id": id, "content": result}
    return [assistant(call), {"role": "user", "content": [told]}]


def ask(
    house: House, upstream: PlainUpstream, messages: list[Message], *answers: Message, **headers: str
) -> list[Message]:
    """What was forwarded for a history, in the last round."""
    for answer in answers or (assistant(text="Done."),):
        message = {"id": "m", "type": "message", "role": "assistant", "content": answer["content"]}
        upstream.answer(Answer([json.dumps(message).encode()]))
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    body = {"model": "claude-sonnet-5-5", "max_tokens": 1_000, "messages": messages, "tools": tools}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    reply = web().post(f"{house.url}/v1/messages", json=body, headers={"x-api-key": KEY, **named})
    assert reply.status_code == 200, reply.text
    house.settle()
    upstream.script.clear()
    forwarded: list[Message] = json.loads(upstream.arrived[-1].body)["messages"]
    return forwarded


def talk(first: Message) -> list[Message]:
    """A history that has to be folded, the same behind every beginning."""
    rest = [[user(f"Part {at}. {LONG}"), assistant(text=f"Noted {at}.")] for at in range(12)]
    return [first, assistant(text="Noted."), *(message for pair in rest for message in pair), user("Which bird?")]


def about(bird: str) -> list[Message]:
    """A long history with a long beginning that others share."""
    return [*talk(user("Hello."))[:-1], user(f"The {bird} eats fish, says {bird.upper()}. {LONG}"), *talk(user("Yes."))]


TAGGED = {
    "context": "<context>The bird is a {}.</context>Answer from the context.",
    "env": "<env>The bird is a {}.</env>Answer.",
    "a reminder": "<system-reminder>The bird is a {}.</system-reminder>Answer.",
    "details": "Answer.<environment_details>The bird is a {}.</environment_details>",
    "a date": "Today's date is the day of the {}.\nAnswer.",
}


@pytest.mark.parametrize("headers", [{}, {"x_claude_code_session_id": "s"}], ids=["a program", "Claude Code"])
@pytest.mark.parametrize("kind", TAGGED)
def test_conversations_that_differ_only_inside(
    house: House, upstream: PlainUpstream, kind: str, headers: dict[str, str]
) -> None:
    """Tags and dates hold words like any others: a fold of the one is none of the other."""
    herons, ospreys = (
        [user("Hello."), assistant(text="Yes."), *talk(user(TAGGED[kind].format(bird)))] for bird in ("heron", "osprey")
    )
    for history, other in ((herons, "osprey"), (ospreys, "heron"), (herons, "osprey")):
        forwarded = ask(house, upstream, history, **headers)
        assert len(forwarded) < len(history)
        assert other not in json.dumps(forwarded)
        assert any(history[2] in messages for messages in house.threads(KEY).values()), "what folds hide is its own"


def test_equal_call_ids_do_not_join_conversations(house: House, upstream: PlainUpstream) -> None:
    herons, ospreys = (
        [
            user(f"Look for the {bird}."),
            *called("call_1", f"{bird}.txt", f"{bird} {LONG}"),
            *called("call_2", "b.txt", f"{bird} {LONG}"),
            *called("call_3", "c.txt", LONG * 5),
            user("Which bird?"),
        ]
        for bird in ("heron", "osprey")
    )
    for history, other in ((herons, "osprey"), (ospreys, "heron")):
        assert other not in json.dumps(ask(house, upstream, history))
    assert len(house.threads(KEY)) == 2


def test_what_was_recalled_stands_in_its_own_conversation_only(house: House, upstream: PlainUpstream) -> None:
    """Both models call with the same ids; the one recalled something beside its call, the other did not."""
    own = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.txt"}}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a"}]}
    herons, ospreys = (about(bird) for bird in ("heron", "osprey"))
    ask(house, upstream, herons, assistant({**RECALL, "input": {"question": "heron eats fish"}}, own))
    ask(house, upstream, ospreys, assistant(own))
    theirs = json.dumps(ask(house, upstream, [*ospreys, assistant(own), result]))
    assert "heron" not in theirs
    assert "toolu_r" not in theirs
    ours = json.dumps(ask(house, upstream, [*herons, assistant(own), result]))
    assert "toolu_r" in ours, "where it belongs it is back"


def test_recall_finds_nothing_of_another_branch_though_the_head_stands_there(
    house: House, upstream: PlainUpstream
) -> None:
    """While the model of one conversation asks, a request of another moves the head of the thread they share."""
    herons, ospreys = (about(bird) for bird in ("heron", "osprey"))
    ask(house, upstream, herons)
    question = {**RECALL, "input": {"question": "osprey eats fish"}}

    def moved() -> Iterator[bytes]:
        ask(house, upstream, ospreys)
        upstream.answer(Answer([json.dumps({"type": "message", "role": "assistant", "content": []}).encode()]))
        yield json.dumps({"type": "message", "role": "assistant", "content": [question]}).encode()

    upstream.answer(Answer(moved()))
    body = {"model": "claude-sonnet-5-5", "max_tokens": 1_000, "tools": [{"name": "read"}]}
    longer = [*herons, assistant(text="Done."), user("What eats fish?")]
    reply = web().post(f"{house.url}/v1/messages", json={**body, "messages": longer}, headers={"x-api-key": KEY})
    assert reply.status_code == 200, reply.text
    house.settle()
    recalled = upstream.arrived[-1].body.decode()
    assert "toolu_r" in recalled
    assert "OSPREY" not in recalled


def test_a_request_that_is_refused_as_too_long_is_folded_where_it_stood(house: House, upstream: PlainUpstream) -> None:
    """While the provider refuses the one, a request of the other moves the head of the thread they share."""
    begin = talk(user("Hello."))[:13]
    herons, ospreys = ([*begin, user(f"{bird} {LONG}")] for bird in ("HERON", "OSPREY"))
    ask(house, upstream, begin)

    def refused() -> Iterator[bytes]:
        ask(house, upstream, ospreys)
        upstream.answer(Answer([json.dumps({"type": "message", "role": "assistant", "content": []}).encode()]))
        yield b'{"error": {"type": "invalid_request_error", "message": "prompt is too long: 9000 tokens > 7000"}}'

    upstream.answer(Answer(refused(), 400))
    body = {"model": "claude-sonnet-5-5", "max_tokens": 1_000, "tools": [{"name": "read"}], "messages": herons}
    reply = web().post(f"{house.url}/v1/messages", json=body, headers={"x-api-key": KEY})
    assert reply.status_code == 200, reply.text
    again = upstream.arrived[-1].body.decode()
    assert "HERON" in again
    assert "OSPREY" not in again


def test_a_summary_that_a_client_made_is_no_fold_of_another_branch(house: House, upstream: PlainUpstream) -> None:
    """The summary comes when another request of the same thread has moved the head."""
    session = {"x-claude-code-session-id": "s"}
    begin = talk(user("Hello."))[:5]
    herons, ospreys = ([*begin, user(f"{bird}."), assistant(text="Yes.")] for bird in ("HERON", "OSPREY"))
    ask(house, upstream, herons, x_claude_code_session_id="s")

    def summary() -> Iterator[bytes]:
        ask(house, upstream, [*ospreys, user("Go on.")], x_claude_code_session_id="s")
        content = [{"type": "text", "text": "They spoke of a HERON."}]
        yield json.dumps({"type": "message", "role": "assistant", "content": content}).encode()

    upstream.answer(Answer(summary()))
    wish = user("CRITICAL: Respond with TEXT ONLY. Summarize the conversation.")
    body = {"model": "claude-sonnet-5-5", "max_tokens": 1_000, "messages": [*herons, wish], "tools": [{"name": "read"}]}
    reply = web().post(f"{house.url}/v1/messages", json=body, headers={"x-api-key": KEY, **session})
    assert reply.status_code == 200, reply.text
    house.settle()
    longer = [*ospreys, user("Go on."), assistant(text="Done."), *talk(user("More."))]
    assert "HERON" not in json.dumps(ask(house, upstream, longer, x_claude_code_session_id="s"))
    assert "HERON" not in json.dumps(ask(house, upstream, [*ospreys, user("Go on.")], x_claude_code_session_id="s"))


def test_a_model_that_guesses_the_number_of_a_message_reads_none_of_another_branch(
    house: House, upstream: PlainUpstream
) -> None:
    herons, ospreys = (about(bird) for bird in ("heron", "osprey"))
    ask(house, upstream, herons)
    for seq in range(24, 34):
        guess = {**RECALL, "input": {"seq": seq}}
        forwarded = json.dumps(ask(house, upstream, ospreys, assistant(guess), assistant(text="Done.")))
        assert "toolu_r" in forwarded
        assert "HERON" not in forwarded


def test_an_edited_message_is_sent_as_edited_and_the_old_one_as_it_was_when_the_client_returns(
    house: House, upstream: PlainUpstream
) -> None:
    """The difference stands in a tag, inside what is folded."""
    first, second = (
        [user("Begin."), assistant(text="Yes."), *talk(user(f"<context>{bird}</context>Look."))]
        for bird in ("heron", "osprey")
    )
    for history, other in ((first, "osprey"), (second, "heron"), (first, "osprey"), (second, "heron")):
        assert other not in json.dumps(ask(house, upstream, history))
        (row,) = house.threads(KEY).values()
        assert history[2] in row, "what stands in the thread now are its own words"


def test_a_reminder_that_is_added_to_a_folded_message_does_not_vanish(house: House, upstream: PlainUpstream) -> None:
    session = {"x_claude_code_session_id": "s"}
    history = talk(user("Look."))
    assert len(ask(house, upstream, history, **session)) < len(history)
    changed = [user("Look.<system-reminder>Never push to main.</system-reminder>"), *history[1:]]
    ask(house, upstream, [*changed, assistant(text="Done."), user("Go on.")], **session)
    with house.store(KEY) as store:
        thread = store.thread("claude-code/s")
        (first, *_) = [item.seq for item in thread.branch.items.items if item.kind == "message"]
        assert b"Never push" in thread.message(first).raw, "the fold that hides it was made on these words"


def test_a_reminder_that_moves_costs_no_fold(house: House, upstream: PlainUpstream) -> None:
    """A client that appends a reminder to its newest message and takes it away again keeps its folds, word for word."""
    session = {"x_claude_code_session_id": "s"}
    history, stand_ins = talk(user("Look.")), []
    for turn in range(6):
        newest = user(f"Go on {turn}.<system-reminder>Files changed: {turn}.</system-reminder>")
        forwarded = ask(house, upstream, [*history, newest], **session)
        stand_ins.append(next(text for text in map(json.dumps, forwarded) if "folded" in text))
        assert forwarded[-1] == newest
        history += [user(f"Go on {turn}."), assistant(text="Done.")]
    assert len(set(stand_ins)) == 1
    with house.store(KEY) as store:
        events = store.thread("claude-code/s").events
    assert sum(isinstance(entry.event, Rewound) for entry in events) == 5


OTHER_ANSWERS = {"with other words": "I look at once.", "without words": ""}


@pytest.mark.parametrize("kind", OTHER_ANSWERS)
def test_what_was_recalled_beside_a_call_stands_in_that_answer_only(
    house: House, upstream: PlainUpstream, kind: str
) -> None:
    """The same history was answered twice, with a call of the same id: only one answer asked for what is hidden."""
    history = talk(user("Hello."))
    call = called("toolu_1", "a.txt", "")[0]["content"][0]
    result = called("toolu_1", "a.txt", "found")[1]
    ask(house, upstream, history)
    ask(house, upstream, history, assistant(RECALL, call, text="I recall."))
    ask(house, upstream, history, assistant(call, text=OTHER_ANSWERS[kind]))
    other = ask(house, upstream, [*history, assistant(call, text=OTHER_ANSWERS[kind]), result])
    assert "toolu_r" not in json.dumps(other)
    own = ask(house, upstream, [*history, assistant(call, text="I recall."), result])
    assert "toolu_r" in json.dumps(own)
