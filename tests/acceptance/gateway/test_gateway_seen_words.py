"""Summaries by the client's own model stand only where all that the model saw is sent again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.gateway.house import House, gateway, web
from tests.acceptance.gateway.plain_upstream import Answer, PlainUpstream, plain_upstream

pytestmark = pytest.mark.finding("K9")

LONG = "alpha beta gamma delta epsilon " * 150
TOOLS = [{"name": "ls", "input_schema": {"type": "object"}}]
MOST_ASKED = 4
Message = dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str, *before: Message) -> Message:
    return {"role": "assistant", "content": [*before, {"type": "text", "text": text}]}


BEGINNING = [each for at in range(11) for each in (user(f"Part {at}. {LONG}"), assistant(f"Noted {at}."))]


class Talker:
    """A client whose model names every heron and osprey of what it reads in its summary."""

    def __init__(self, house: House, upstream: PlainUpstream) -> None:
        self.house, self.upstream = house, upstream

    def _answer(self) -> Iterator[bytes]:
        body = self.upstream.arrived[-1].body.decode()
        named = " ".join(sorted(set(re.findall(r"(?:heron|osprey)\w*", body))))
        text = f"## Summary\nThe user talks of {named} and of alpha. Parts were noted." if is_summary(body) else "Done."
        content = assistant(text)["content"]
        yield json.dumps({"id": "m", "type": "message", "role": "assistant", "content": content}).encode()

    def ask(self, messages: list[Message], headers: Message | None = None, **fields: Any) -> list[str]:
        """Everything that was sent for a request."""
        known = len(self.upstream.arrived)
        self.upstream.answer(*(Answer(self._answer()) for _ in range(MOST_ASKED)))
        body = {"model": "claude-sonnet-5-5", "max_tokens": 1_000, "messages": messages, "tools": TOOLS} | fields
        sent = {"x-api-key": "k"} if headers is None else headers
        reply = web().post(f"{self.house.url}/v1/messages", json=body, headers=sent)
        assert reply.status_code == 200, reply.text
        self.house.settle()
        self.upstream.script.clear()
        return [each.body.decode() for each in self.upstream.arrived[known:]]


def is_summary(body: str) -> bool:
    return "summar" in json.dumps(json.loads(body)["messages"][-1]).lower()


@pytest.fixture
def upstream() -> Iterator[PlainUpstream]:
    with plain_upstream() as upstream:
        yield upstream


@pytest.fixture
def talker(tmp_path: Path, upstream: PlainUpstream) -> Iterator[Talker]:
    with gateway(tmp_path / "store.db", upstream.url, window=20_000, limit=8_000, summarizer="same") as house:
        yield Talker(house, upstream)


def thinking(words: str) -> Message:
    return {"type": "thinking", "thinking": words, "signature": "s"}


HERON = [{"type": "text", "text": "You watch the heron."}]
OSPREY = [{"type": "text", "text": "You watch the osprey."}]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            ([user("My heron."), assistant("A heron."), user("Go on.")], {}),
            ([user("My osprey."), assistant("An osprey."), user("Go on.")], {}),
            id="behind what is folded",
        ),
        pytest.param(([user("Go on.")], {"system": HERON}), ([user("Go on.")], {"system": OSPREY}), id="system"),
        pytest.param(
            ([user("Go on.")], {"tools": [{**TOOLS[0], "description": "heron"}]}), ([user("Go on.")], {}), id="tools"
        ),
        pytest.param(
            ([user("Hm."), assistant("Yes.", thinking("The heron.")), user("Go on.")], {}),
            ([user("Hm."), assistant("Yes."), user("Go on.")], {}),
            id="reasoning that is left out",
        ),
    ],
)
def test_no_word_that_only_the_writer_of_a_summary_saw_reaches_another_conversation(
    talker: Talker, one: tuple[list[Message], Message], other: tuple[list[Message], Message]
) -> None:
    summary, sent = talker.ask([*BEGINNING, *one[0]], **one[1])
    assert is_summary(summary), "the model is asked, and reads everything"
    assert "talks of heron" in sent
    for body in talker.ask([*BEGINNING, *other[0]], **other[1]):
        assert "heron" not in body


def test_no_such_word_reaches_another_credential_that_guessed_the_session(talker: Talker) -> None:
    victim, other = (
        {"authorization": f"Bearer sk-ant-oat-{each}", "x-claude-code-session-id": "s"} for each in ("one", "two")
    )
    talker.ask([*BEGINNING[:2], user("Hm.")], victim)
    talker.ask([*BEGINNING, user("My heron."), assistant("A heron."), user("Go on.")], victim)
    for body in talker.ask([*BEGINNING, user("Mine.")], other):
        assert "heron" not in body


def test_a_summary_of_a_summary_is_bound_to_what_the_first_writer_saw(talker: Talker) -> None:
    longer = [*BEGINNING, user("Hm."), assistant("Done."), *BEGINNING]
    talker.ask([*BEGINNING, user("Hm.")], system=HERON)
    assert "talks of heron" in talker.ask([*longer, user("Go on.")], system=HERON)[-1]
    for body in talker.ask([*longer, user("Go on.")], system=OSPREY):
        assert "heron" not in body


def test_what_a_writer_saw_is_known_after_a_restart(tmp_path: Path, upstream: PlainUpstream) -> None:
    sent: list[str] = []
    for system in (HERON, OSPREY):
        with gateway(tmp_path / "s.db", upstream.url, window=20_000, limit=8_000, summarizer="same") as house:
            sent = Talker(house, upstream).ask([*BEGINNING, user("Go on.")], system=system)
    assert not any("heron" in body for body in sent)


def test_a_summary_stays_while_its_conversation_goes_on(talker: Talker) -> None:
    """The provider's marks, a client's own counts and a new day are no other system prompt."""
    headers = {"x-api-key": "k", "x-claude-code-session-id": "s"}
    history, asked, stood = [*BEGINNING, user("Go on.")], 0, set()
    for turn in range(4):
        counted = {"type": "text", "text": f"x-anthropic-billing-header: cc_version=1; cch={turn};"}
        marked = {"cache_control": {"type": "ephemeral"}} if turn % 2 else {}
        system = [counted, {"type": "text", "text": f"You watch.\nToday's date is 2026-11-1{turn}.", **marked}]
        bodies = talker.ask(history, headers, system=system)
        asked += sum(map(is_summary, bodies))
        stood.add(json.dumps(json.loads(bodies[-1])["messages"][:3]))
        history = [*history, assistant("Done."), user(f"More {turn}.")]
    assert asked == 1
    assert len(stood) == 1


def test_a_client_that_renews_its_system_prompt_pays_for_two_summaries_and_no_more(talker: Talker) -> None:
    history, asked = [*BEGINNING, user("Go on.")], []
    for turn in range(6):
        bodies = talker.ask(history, system=f"It is {turn} past ten.")
        asked.append(sum(map(is_summary, bodies)))
        history = [*history, assistant("Done."), user(f"More {turn}.")]
    assert sum(asked) == 2, asked
