"""Programs that run at Anthropic and call the caller's tools: their call stays while they wait for results."""

import copy
from itertools import pairwise
from random import Random
from typing import Any

import pytest

import contextfold as cf
from contextfold.dialects.anthropic.turns import settled
from contextfold.domain import encode
from tests.property.test_mutants import Provider
from tests.property.test_repair import DAMAGES

pytestmark = pytest.mark.finding("W4")

ASKED = {"role": "user", "content": "Which region sold most?"}
PROGRAM = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "await query()"}}
CALLER = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
DONE = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {"type": "code_execution_result", "stdout": "West", "stderr": "", "return_code": 0, "content": []},
}
MODEL = "claude-sonnet-5-5"


def query(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "query", "input": {"sql": "select 1"}, "caller": CALLER}


def told(id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": f"rows of {id}"}


def said(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def given(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


TURNS = [
    ASKED,
    said({"type": "text", "text": "I will ask."}, PROGRAM, query("a"), query("b")),
    given(told("a"), told("b")),
    said(query("c")),
    given(told("c")),
    said(DONE, {"type": "text", "text": "West did."}),
    {"role": "user", "content": "Thanks."},
]


def body(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 99, "messages": list(messages)}


@pytest.fixture(scope="module")
def provider() -> Any:
    made = Provider()
    yield made
    made.close()


@pytest.mark.parametrize("length", [3, 5, 7])
def test_a_waiting_program_is_sent_as_it_came_and_taken_by_rule_and_server(length: int, provider: Provider) -> None:
    assert cf.validate(body(*TURNS[:length]), dialect="anthropic") == []
    assert provider.status("anthropic", body(*TURNS[:length])) == 200
    with cf.Session.open(model=MODEL) as session:
        for message in TURNS[:length]:
            session.append(message)
        request = session.prepare(cache=False)
    assert request.body["messages"] == TURNS[:length]
    assert request.report.losses == ()


def test_results_that_come_one_by_one_keep_their_program() -> None:
    with cf.Session.open(model=MODEL) as session:
        session.append(TURNS[0])
        session.append(said(PROGRAM, *(query(str(number)) for number in range(9))))
        for number in range(9):
            session.append(given(told(str(number))))
            session.thread.view  # noqa: B018  # as somebody who looks at it after each
        assert PROGRAM in session.prepare(cache=False).body["messages"][1]["content"]
        session.append(said(DONE))
        session.append(ASKED)
        messages = session.prepare(cache=False).body["messages"]
    assert cf.validate(body(*messages), dialect="anthropic") == []
    assert DONE in messages[-2]["content"]


LOOP = [
    said(PROGRAM, query("a")),
    *(
        each
        for asked, after in pairwise("abcdefg")
        for each in (given(told(asked)), said({**query(after), "input": {"kind": "tool_result"}}))
    ),
    given(told("g")),
    said(DONE),
]
LATER = [each for _ in range(3) for each in (ASKED, said({"type": "text", "text": "West."}))]


@pytest.mark.parametrize("messages", [[ASKED, *LOOP], LOOP, [*LATER, *LOOP, *LATER], LOOP[:-1], LOOP[:-2]])
@pytest.mark.parametrize("empty", [0, 1, 2])
def test_a_program_stays_whole_however_little_of_it_is_new(messages: list[dict[str, Any]], empty: int) -> None:
    """Also with the places of messages that are not sent among its own: they are empty."""
    for gap in range(len(messages) + 1):
        chunks = [encode(message) for message in messages]
        chunks[gap:gap] = [b""] * empty
        for since in range(len(chunks) + 1):
            assert settled(list(chunks), since) == chunks


def test_words_among_the_results_end_the_program_and_its_calls_are_the_models_own(provider: Provider) -> None:
    broken = [ASKED, said(PROGRAM, query("a")), given(told("a"), {"type": "text", "text": "Stop."})]
    assert {each.rule for each in cf.validate(body(*broken), dialect="anthropic")} == {
        "unanswered-server-call",
        "dangling-caller",
    }
    assert provider.status("anthropic", body(*broken)) == 400
    with cf.Session.open(model=MODEL) as session:
        for message in broken:
            session.append(message)
        sent = session.prepare(cache=False).body
    assert [block["type"] for block in sent["messages"][1]["content"]] == ["tool_use"]
    assert "caller" not in sent["messages"][1]["content"][0]
    assert provider.status("anthropic", {**body(), "messages": sent["messages"]}) == 200


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_program_is_repaired_as_the_server_takes_it(seed: int, provider: Provider) -> None:
    random = Random(f"program {seed}")
    broken: dict[str, Any] = copy.deepcopy(body(*TURNS[: random.choice([3, 5, 7])]))
    for _ in range(random.randint(1, 3)):
        inner = [each["content"] for each in broken["messages"] if isinstance(each, dict)]
        lists = [broken["messages"], *(each for each in inner if isinstance(each, list) and each)]
        random.choice(DAMAGES[:3])(random.choice(lists), random)
    repaired = cf.repair(broken, dialect="anthropic")
    assert repaired.problems == ()
    assert cf.repair(repaired.body, dialect="anthropic").repairs == ()
    assert provider.status("anthropic", repaired.body) == 200
