"""How requests of one conversation relate, client by client, as they were seen on the wire; what is mended for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextfold.domain import Rewound
from contextfold.testing.server import Call, Say, StrictServer, strict_server
from tests.acceptance.gateway.house import House, gateway, web
from tests.acceptance.gateway.plain_upstream import Answer, PlainUpstream, plain_upstream

Json = dict[str, Any]
TOOL = {"type": "function", "name": "ls", "parameters": {"type": "object"}}


@pytest.fixture(scope="module")
def upstream() -> Iterator[PlainUpstream]:
    with plain_upstream() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, upstream: PlainUpstream) -> Iterator[House]:
    with gateway(tmp_path_factory.mktemp("clients") / "store.db", upstream.url) as house:
        yield house


class Wire:
    """One client of one format, with a key of its own so that no other test's threads are seen."""

    def __init__(self, house: House, upstream: PlainUpstream, key: str) -> None:
        self._house, self._upstream, self.key = house, upstream, key

    def ask(self, path: str, body: Json, answer: Json, headers: dict[str, str] | None = None) -> Json:
        """What was forwarded."""
        self._upstream.answer(Answer([json.dumps(answer).encode()]))
        reply = web().post(self._house.url + path, json=body, headers={**(headers or {}), "x-api-key": self.key})
        assert reply.status_code == 200, reply.text
        self._house.settle()
        sent: Json = json.loads(self._upstream.arrived[-1].body)
        return sent

    def threads(self) -> dict[str, list[Any]]:
        return self._house.threads(self.key)

    def rewinds(self) -> int:
        with self._house.store(self.key) as store:
            names = [row.title for row in store.threads()]
            return sum(isinstance(entry.event, Rewound) for name in names for entry in store.thread(name).events)


def claude(text: str, **more: Any) -> Json:
    said = [{"type": "text", "text": text}]
    return {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": said, **more}


def chat(text: str) -> Json:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "choices": [choice]}


def items(*output: Json) -> Json:
    return {"id": f"resp_{len(output)}", "object": "response", "status": "completed", "output": list(output)}


def spoken(text: str, number: int) -> Json:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content}


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def messages(*said: Json, **fields: Any) -> Json:
    return {"model": "claude-sonnet-5-5", "max_tokens": 100, "messages": list(said), **fields}


def test_claude_code_resumes_under_another_system_prompt_with_a_block_become_a_string(
    house: House, upstream: PlainUpstream
) -> None:
    wire, session = Wire(house, upstream, "row-claude"), {"x-claude-code-session-id": "s1"}
    block = {"role": "user", "content": [{"type": "text", "text": "One.", "cache_control": {"type": "ephemeral"}}]}
    wire.ask("/v1/messages?beta=true", messages(block, system="Sonnet", tools=[TOOL]), claude("A."), session)
    further = messages(user("One."), {"role": "assistant", "content": "A."}, user("Two."), system="Opus", tools=[TOOL])
    wire.ask("/v1/messages?beta=true", further, claude("B."), session)
    assert [len(each) for each in wire.threads().values()] == [4]
    assert wire.rewinds() == 0


def test_codex_grows_by_items_and_goes_on_anew_after_its_compaction(house: House, upstream: PlainUpstream) -> None:
    wire, session = Wire(house, upstream, "row-codex"), {"thread-id": "t1", "session-id": "t1"}
    first = [{"type": "message", "role": "user", "id": "u1", "content": [{"type": "input_text", "text": "One."}]}]
    body = {"model": "gpt-6-sol", "input": first, "tools": [TOOL], "store": False, "prompt_cache_key": "t1"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "ls", "arguments": "{}"}
    think = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    wire.ask("/v1/responses", {**body, "client_metadata": {"a": 1, "b": 2}}, items(think, call), session)
    output = {"type": "function_call_output", "call_id": "call_1", "output": "a.py"}
    history = [*first, think, call, output]
    longer = {**body, "input": history, "client_metadata": {"b": 2, "a": 1}}
    wire.ask("/v1/responses", longer, items(spoken("A file.", 1)), session)
    assert (len(wire.threads()), wire.rewinds()) == (1, 0)
    wish = {**longer, "input": [*history, spoken("A file.", 1), user("Summarize.")]}
    wish.pop("tools")
    kind = {"x-codex-turn-metadata": json.dumps({"request_kind": "compaction"})}
    wire.ask("/v1/responses", wish, items(spoken("They listed files.", 2)), {**session, **kind})
    with house.store(wire.key) as store:
        (fold,) = next(iter(store.thread(row.title) for row in store.threads())).folds
        assert fold.stand_in.text == "They listed files.", "the client's own summary is a fold"
    anew = {**body, "input": [{**first[0]}, user("Summary: they listed files."), user("Go on.")]}
    wire.ask("/v1/responses", anew, items(spoken("Gladly.", 3)), {**session, "x-codex-window-id": "t1:1"})
    assert len(wire.threads()) == 1, "the first message is the same: another branch of the same thread"


def test_llm_continues_without_its_tools_in_the_same_thread(house: House, upstream: PlainUpstream) -> None:
    wire = Wire(house, upstream, "row-llm")
    wire.ask("/v1/messages", messages(user("One."), tools=[TOOL], temperature=1.0), claude("A."))
    further = messages(user("One."), {"role": "assistant", "content": "A."}, user("Two."), temperature=1.0)
    wire.ask("/v1/messages", further, claude("B."))
    assert [len(each) for each in wire.threads().values()] == [4]


def test_mini_swe_agent_drops_an_answer_and_merges_its_reproof(house: House, upstream: PlainUpstream) -> None:
    wire = Wire(house, upstream, "row-mini")
    begin, task = user("You are an agent."), user("Mend it.")
    wire.ask("/v1/messages", messages(begin, claude_said("Yes."), task), claude("No call in here."))
    reproved = user("Mend it. You must call a tool.")
    wire.ask("/v1/messages", messages(begin, claude_said("Yes."), reproved), claude("Sorry."))
    ((name, said),) = wire.threads().items()
    assert said[2] == reproved
    with house.store(wire.key) as store:
        kept = [store.thread(name).message(entry.seq).raw for entry in store.thread(name).events if entry.key]
    assert any(b"No call in here." in raw for raw in kept), "what the model said stays in the log"


def claude_said(text: str) -> Json:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def test_aider_moves_its_reminder_and_rewrites_files_in_the_middle(house: House, upstream: PlainUpstream) -> None:
    wire = Wire(house, upstream, "row-aider")
    remind = {"role": "system", "content": "Answer in diffs only."}

    def asked(version: str, *said: Json) -> Json:
        files = [user(f"The repository: {version}"), {"role": "assistant", "content": "Ok."}]
        return {"model": "gpt-6-sol", "messages": [{"role": "system", "content": "s"}, *files, *said, remind]}

    wire.ask("/v1/chat/completions", asked("v1", user("One.")), chat("A."))
    further = (user("One."), {"role": "assistant", "content": "A."}, user("Two."))
    wire.ask("/v1/chat/completions", asked("v1", *further), chat("B."))
    assert len(wire.threads()) == 1
    sent = wire.ask("/v1/chat/completions", asked("v2", *further), chat("C."))
    assert sent == asked("v2", *further), "the client's own bytes go on whatever we make of them"


def test_pi_renames_ids_and_drops_reasoning_when_the_provider_changes(house: House, upstream: PlainUpstream) -> None:
    wire, session = Wire(house, upstream, "row-pi"), {"session_id": "p1"}
    body = {"model": "gpt-6-sol", "tools": [TOOL], "prompt_cache_key": "p1"}
    first = [{"role": "developer", "content": "rules"}, user("One.")]
    think = {"type": "reasoning", "id": "rs_9", "summary": []}
    wire.ask("/v1/responses", {**body, "input": first}, items(think, spoken("A.", 1)), session)
    renamed = {**spoken("A.", 1), "id": "msg_pi_0"}
    wire.ask("/v1/responses", {**body, "input": [*first, renamed, user("Two.")]}, items(spoken("B.", 2)), session)
    assert (len(wire.threads()), wire.rewinds()) == (1, 0)


def test_openhands_and_opencode_name_a_family_in_their_headers(house: House, upstream: PlainUpstream) -> None:
    for header, name in (("x-litellm-session-id", "litellm"), ("x-session-id", "opencode")):
        wire = Wire(house, upstream, f"row-{name}")
        for at in range(2):
            history = [user("One."), claude_said("A."), user("Two.")][: 1 + 2 * at]
            wire.ask("/v1/messages", messages(*history, tools=[TOOL]), claude("A."), {header: "h1"})
        assert list(wire.threads()) == [f"{name}/h1"]


def test_additional_tools_custom_calls_and_odd_fields_are_kept_as_they_came(
    house: House, upstream: PlainUpstream
) -> None:
    wire = Wire(house, upstream, "row-odd")
    odd = [
        {"type": "additional_tools", "role": "developer", "tools": [TOOL]},
        user("One."),
        {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** Begin"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "ok"}]},
    ]
    sent = wire.ask("/v1/responses", {"model": "gpt-6-sol", "input": odd}, items(spoken("Done.", 1)))
    assert sent["input"] == odd
    (said,) = wire.threads().values()
    assert sum(len(each) if isinstance(each, list) else 1 for each in said) == len(odd) + 1


# -- what is mended -------------------------------------------------------------------------------------------------


@pytest.fixture
def google() -> Iterator[StrictServer]:
    with strict_server() as server:
        yield server


@pytest.mark.parametrize("apart", [False, True], ids=["in one content", "in two"])
def test_function_responses_that_gemini_cli_sends_twice_go_out_once(
    tmp_path: Path, google: StrictServer, apart: bool
) -> None:
    google.answer(Say("", (Call("ls", {}),)), "One file.", "Still one.")
    path = "/v1beta/models/gemini-3-pro:generateContent"
    tools = [{"functionDeclarations": [{"name": "ls", "parametersJsonSchema": {"type": "object"}}]}]
    contents: list[Json] = [{"role": "user", "parts": [{"text": "List them."}]}]
    with gateway(tmp_path / "store.db", google.url) as house:

        def ask() -> Json:
            body, key = {"contents": contents, "tools": tools}, {"x-goog-api-key": google.token}
            reply = web().post(house.url + path, json=body, headers=key)
            assert reply.status_code == 200, reply.text
            said: Json = reply.json()["candidates"][0]["content"]
            return said

        contents.append(ask())
        call = next(part["functionCall"] for part in contents[-1]["parts"] if "functionCall" in part)
        named = {"id": call["id"]} if "id" in call else {}
        response = {"functionResponse": {**named, "name": "ls", "response": {"output": "a.py"}}}
        twice = [{"role": "user", "parts": [response]}] * 2
        contents += twice if apart else [{"role": "user", "parts": [response, response]}]
        contents.append(ask())
        contents.append({"role": "user", "parts": [{"text": "And now?"}]})
        ask()
        assert google.refused == []
        (said,) = house.threads(google.token).values()
        assert said[: len(contents)] == contents, "kept as the client sent it"
