"""Tools as a session's user works with them: shown by state, gated on arrival, on record, and easy on the cache.

Each scenario is written once and run with `Session` and with `aio.Session`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contextfold import layers as L
from contextfold import toolbox as T
from contextfold.domain import ToolsProjected, decode
from contextfold.errors import Refused
from tests.acceptance.scenario import Open, assistant, exchanges, got, rejected, say, shown, user
from tests.unit.toolbox.scene import SEED


def calls(*pairs: tuple[str, str], **arguments: Any) -> dict[str, Any]:
    uses = [{"type": "tool_use", "id": call, "name": name, "input": arguments} for call, name in pairs]
    return {"role": "assistant", "content": uses}


def results(*pairs: tuple[str, str]) -> dict[str, Any]:
    content = [{"type": "tool_result", "tool_use_id": call, "content": text} for call, text in pairs]
    return {"role": "user", "content": content}


async def projected(session: Any) -> list[Any]:
    entries = await got(session.thread.events)
    return [entry for entry in entries if isinstance(entry.event, ToolsProjected)]


async def ready(opened: Open, *options: Any, **more: Any) -> Any:
    session = await opened(50_000, *options, **more)
    await got(session.enter("executing"))
    await got(session.enter(L.Environment.DEV))
    await got(session.grant("write"))
    await say(session, [user("go")])
    return session


async def prepare(session: Any, **options: Any) -> Any:
    return await got(session.prepare(tools=T.project(SEED, await got(session.state), **options)))


# -- audit --------------------------------------------------------------------------------------------------------


async def test_what_was_visible_when_and_why_not_is_on_record(opened: Open) -> None:
    session = await ready(opened)
    for text in ("one", "two"):
        await prepare(session)
        await say(session, [assistant(text), user("on")])
    await got(session.grant("deploy"))
    await prepare(session)
    await say(session, [assistant("three")])
    first, second = await projected(session)
    assert first.event.visible == ("search", "readFile", "writeFile")
    assert second.event.visible == ("search", "readFile", "writeFile", "deploy")
    assert (first.event.details["phase"], first.event.details["environment"]) == ("executing", "dev")
    told = decode(_body(session, first.seq))["hidden"]
    assert told["deploy"] == ["permission", "it requires deploy, which was not granted"]


def _body(session: Any, seq: int) -> bytes:
    body = session.desk.thread.lens.words(seq)
    assert isinstance(body, bytes)
    return body


async def test_a_request_that_was_never_answered_leaves_no_trace(opened: Open) -> None:
    session = await ready(opened)
    await prepare(session)
    assert await projected(session) == []


# -- the gate -----------------------------------------------------------------------------------------------------


@pytest.mark.seed("E21")
async def test_a_call_that_is_not_allowed_is_refused_when_it_arrives(opened: Open) -> None:
    session = await ready(opened)
    await prepare(session)
    await say(session, [calls(("c1", "deploy"), ("c2", "writeFile"), path="x")])
    _, refusal = await projected(session)
    assert refusal.event.details == {"refused": "c1", "tool": "deploy", "rule": "permission"}
    assert "was not granted" in decode(_body(session, refusal.seq))["text"]


@pytest.mark.seed("E21")
async def test_the_result_of_a_refused_call_is_refused_and_the_refusal_is_taken(opened: Open) -> None:
    session = await ready(opened)
    await prepare(session)
    await say(session, [calls(("c1", "deploy"), ("c2", "writeFile"), path="x")])
    before = (await got(session.view)).head
    with pytest.raises(Refused) as told:
        await say(session, [results(("c1", "deployed!"), ("c2", "written"))])
    assert (await got(session.view)).head == before
    ruling = T.enforce({"id": "c1", "name": "deploy", "input": {}}, await got(session.state), SEED)
    assert (told.value.call, told.value.text) == ("c1", ruling.text)
    await say(session, [results(("c1", ruling.text), ("c2", "written"))])
    request = await prepare(session)
    assert "deploy was not run" in shown(request)
    assert rejected([request]) == []


@pytest.mark.seed("E21")
async def test_a_refusal_holds_after_a_restart(opened: Open, tmp_path: Path) -> None:
    session = await ready(opened, tmp_path / "store.db")
    await prepare(session)
    await say(session, [calls(("c1", "deploy"))])
    await got(session.close())
    again = await opened(50_000, tmp_path / "store.db")
    with pytest.raises(Refused):
        await say(again, [results(("c1", "deployed!"))])


async def test_the_same_id_may_be_used_again_by_a_call_that_is_allowed(opened: Open) -> None:
    session = await ready(opened)
    await prepare(session)
    (seq,) = await say(session, [calls(("c1", "deploy"))])
    await got(session.thread.rewind(before=seq))
    await prepare(session)
    await say(session, [calls(("c1", "writeFile"), path="x"), results(("c1", "written"))])


async def test_a_refusal_found_when_the_tool_was_about_to_run_is_put_on_record(opened: Open) -> None:
    session = await ready(opened)
    await prepare(session)
    await say(session, [calls(("c1", "writeFile"), path="x")])
    await got(session.revoke("write"))
    ruling = T.enforce({"id": "c1", "name": "writeFile", "input": {"path": "x"}}, await got(session.state), SEED)
    assert ruling.rule == "permission"
    for _ in range(2):
        await got(session.refuse(ruling))
    assert [entry.event.details.get("refused") for entry in await projected(session)] == [None, "c1"]
    with pytest.raises(Refused):
        await say(session, [results(("c1", "written"))])
    await say(session, [results(("c1", ruling.text))])


async def test_tools_that_were_not_declared_here_are_nobodys_business(opened: Open) -> None:
    session = await ready(opened)
    plain = [{"name": "deploy", "input_schema": {"type": "object", "properties": {}}}]
    request = await got(session.prepare(tools=plain))
    await say(session, [calls(("c1", "deploy")), results(("c1", "deployed!"))])
    assert request.report.tools is None
    assert await projected(session) == []


# -- stable and projected -----------------------------------------------------------------------------------------


@pytest.mark.seed("E24", "X10")
async def test_stable_tools_keep_every_byte_in_front_while_phases_change(opened: Open) -> None:
    session = await ready(opened)
    first = await prepare(session)
    await say(session, [assistant("ok"), user("now verify")])
    await got(session.enter("verifying"))
    second = await prepare(session)
    assert second.body["tools"] == first.body["tools"]
    assert second.body["messages"][: len(first.body["messages"])] == first.body["messages"]
    assert "<tools>search readFile writeFile</tools>" in shown(first)
    assert "<tools>search readFile</tools>" in shown(second)
    assert second.report.tools.stable.rewritten == 0
    assert second.report.tools.projected.rewritten > 0


@pytest.mark.seed("E24", "X10")
async def test_a_projected_list_waits_for_a_fold_and_says_so(opened: Open) -> None:
    session = await ready(opened)
    first = await prepare(session, mode="projected")
    await say(session, [assistant("ok"), *exchanges(6), assistant("ok"), user("now verify")])
    await got(session.enter("verifying"))
    second = await prepare(session, mode="projected")
    assert second.body["tools"] == first.body["tools"]
    assert second.report.tools.waits_for_fold
    assert second.report.tools.projected.rewritten > second.report.tools.stable.rewritten == 0
    assert "<tools>search readFile</tools>" in shown(second)
    await got(session.overflowed(4_000))
    third = await prepare(session, mode="projected")
    assert third.report.folds
    assert [each["name"] for each in third.body["tools"]] == ["search", "readFile"]
    assert not third.report.tools.waits_for_fold
    assert third.report.tools.is_changed
    assert rejected([first, second, third]) == []


async def test_a_projected_list_is_sent_at_once_when_forced(opened: Open) -> None:
    session = await ready(opened)
    await prepare(session, mode="projected")
    await say(session, [assistant("ok"), user("now verify")])
    await got(session.enter("verifying"))
    request = await prepare(session, mode="projected", force=True)
    assert [each["name"] for each in request.body["tools"]] == ["search", "readFile"]
    assert request.report.tools.is_changed


@pytest.mark.parametrize(("by_option", "model"), [(True, "gpt-4o"), (False, "gpt-4o"), (True, "claude-sonnet-4-5")])
async def test_a_provider_with_an_option_for_it_is_told_when_asked(opened: Open, by_option: bool, model: str) -> None:
    session = await ready(opened, model=model)
    body = (await prepare(session, by_option=by_option)).body
    if by_option and model == "gpt-4o":
        allowed = str(body["tool_choice"])
        assert "writeFile" in allowed
        assert "deploy" not in allowed
    else:
        assert "tool_choice" not in body


async def test_a_tool_that_waits_for_its_result_is_known_to_the_state(opened: Open) -> None:
    session = await ready(opened)
    await prepare(session)
    await say(session, [calls(("c1", "writeFile"), path="x")])
    assert (await got(session.state)).open_tools == ("writeFile",)


async def test_an_empty_list_never_replaces_one_that_the_history_refers_to(opened: Open) -> None:
    session = await ready(opened)
    only = [tool for tool in SEED if tool.name == "writeFile"]
    first = await got(session.prepare(tools=T.project(only, await got(session.state), mode="projected")))
    await say(session, [calls(("c1", "writeFile"), path="x"), results(("c1", "written"))])
    await got(session.revoke("write"))
    tools = T.project(only, await got(session.state), mode="projected", force=True)
    second = await got(session.prepare(tools=tools))
    assert second.body["tools"] == first.body["tools"]
    assert "<tools>none</tools>" in shown(second)
    assert rejected([second]) == []


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "openai-responses", "gemini"])
async def test_layers_and_tools_are_sent_in_every_dialect(opened: Open, dialect: str) -> None:
    session = await ready(opened)
    await got(session.define(system=L.System(policies=["no secrets"])))
    await got(session.note(L.Fact("the port is 8443")))
    tools = T.project(SEED, await got(session.state))
    request = await got(session.prepare(tools=tools, dialect=dialect))
    assert [each for each in ("no secrets", "8443", "writeFile") if each not in shown(request)] == []
    assert rejected([request]) == []


async def test_tools_are_gated_in_a_session_that_has_no_notes(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, [user("go")])
    request = await prepare(session)
    assert "<tools>search readFile</tools>" in shown(request)
    assert (await prepare(session)).json == request.json
    await say(session, [calls(("c1", "writeFile"), path="x")])
    with pytest.raises(Refused):
        await say(session, [results(("c1", "written"))])
