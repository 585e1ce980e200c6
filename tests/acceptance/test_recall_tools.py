"""A model that calls `recall` and `unfold` at each provider's door finishes a task that it could not finish without.

The scripted model knows only what its requests show: it says the port if it sees it, else it asks with the tools that
it was offered. The strict server verifies every request on the way.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import contextfold as cf
from benchmarks.recall import hidden_in, reached_in
from contextfold.folding.recipes import RECIPES
from contextfold.recall import passages
from contextfold.testing import histories
from contextfold.testing.server import Call, Clock, Question, Say, StrictServer
from tests.acceptance.judge import strict_server
from tests.acceptance.test_every_provider import PROVIDERS

# The SDKs' clients close their sockets when they are collected: here, and not in another test.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

FACT = "We chose port 8443 for the proxy."
QUESTION = "Which port did we choose for the proxy?"
UNKNOWN = "I do not know."


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server(clock=Clock(), seed=b"recall", token="sk-test") as server:  # noqa: S106  # nobody's key
        yield server
    gc.collect()


def model(how: str) -> Any:
    """A model that answers from what it sees, and asks in its own way for what it does not."""

    def answer(asked: Question) -> Say:
        seen = json.dumps(asked.body, ensure_ascii=False)
        if "8443" in seen:
            return Say("It is 8443.")
        fold = re.search(r"recall\(fold=(\d+)\)", seen)
        if fold is None or '"unfold"' not in seen:
            return Say(UNKNOWN)
        match how:
            case "question":
                return Say(calls=(Call("recall", {"question": QUESTION}),))
            case "handle":
                return Say(calls=(Call("recall", {"fold": int(fold[1])}),))
            case _:
                return Say(calls=(Call("unfold", {"fold": int(fold[1]), "confirm": True}),))

    return answer


def conversation(session: cf.Session) -> None:
    for number in range(12):
        said = FACT if number == 3 else f"Chapter {number} speaks of nothing in particular."
        session.append({"role": "user", "content": said})
        session.append({"role": "assistant", "content": "Noted."})
    seqs = [message.seq for message in session.view.messages][:20]
    fold = len(session.thread.events) + 1
    assert session.thread.fold(seqs, f"[20 messages are folded away; recall(fold={fold}) shows them]") == fold
    session.append({"role": "user", "content": QUESTION})


def finished(session: cf.Session, ask: Any, dialect: str, settings: dict[str, Any], tools: Any) -> str:
    """The agent's loop: ask, carry out calls of ours, until the model says something."""
    for _ in range(4):
        seq = session.append(ask(session.prepare(dialect=dialect, max_tokens=500, tools=tools, **settings)))
        message = session.thread.message(seq)
        if not message.calls:
            return message.text
        for call in message.calls:
            answered = session.answer(call)
            assert answered is not None
            session.append(answered)
    return ""


@pytest.mark.finding("N16")
@pytest.mark.parametrize("how", ["question", "handle", "unfold"])
@pytest.mark.parametrize("dialect", PROVIDERS)
def test_a_model_with_the_tools_finishes_what_it_could_not(server: StrictServer, dialect: str, how: str) -> None:
    opened, name, settings = PROVIDERS[dialect]
    ask = opened(server)
    answers = []
    for is_offered in (False, True):
        with cf.Session.open(model=name) as session:
            conversation(session)
            server.always(model(how))
            tools = session.recall_tools(dialect=dialect) if is_offered else None
            answers.append(finished(session, ask, dialect, settings, tools))
    assert answers == [UNKNOWN, "It is 8443."]


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_every_folded_message_is_reached_by_the_tool_through_the_handle_its_stand_in_shows(recipe: str) -> None:
    with cf.Session.open(model="claude-sonnet-5-5", policy=recipe, window=9_000) as session:
        for message in histories.session(3, tokens=11_000):
            session.append(message)
            if message["role"] == "user":
                session.prepare(max_tokens=500)
        folded, read = hidden_in(session), reached_in(session)
        assert folded
        assert [seq for seq in folded if session.thread.message(seq).raw not in read] == []
        told = "\n".join(pages_of(session, fold.id) for fold in session.folds if fold.is_showing)
        by_handle = {int(seq) for seq in re.findall(r"seq (\d+) ·", told)}
        assert [seq for seq in folded if seq not in by_handle and words_of(session, seq)] == []


def pages_of(session: cf.Session, fold: int) -> str:
    """What the model reads behind a handle when it asks for one page after another."""
    told, page, last = "", 0, False
    while not last:
        page += 1
        call = {"type": "tool_use", "id": f"r{fold}_{page}", "name": "recall", "input": {"fold": fold, "page": page}}
        answer = json.dumps(session.answer(call), ensure_ascii=False)
        told, last = told + answer, "to read on" not in answer
    return told


def words_of(session: cf.Session, seq: int) -> bool:
    return any(piece.text.strip() for piece in passages(session.thread.message(seq)))
