"""A session as its user sees it: turns through several windows, every verb, limits, bills, keys, sub-agents.

Each scenario is written once and run twice, with `Session` and with `aio.Session`: the same calls, the same outcome.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import contextfold as cf
from contextfold import layers, testing, toolbox
from contextfold.errors import CannotFit, KeyConflict, NotFound
from tests.acceptance.scenario import (
    MODEL,
    SUMMARY,
    WORD,
    Open,
    Used,
    answer,
    assistant,
    exchanges,
    got,
    picture,
    rejected,
    result,
    run,
    say,
    shown,
    user,
)

# -- several windows ------------------------------------------------------------------------------------------------


async def test_a_session_of_many_windows_stays_valid_and_within_each(opened: Open) -> None:
    session = await opened(24_000)
    conversation = testing.session(7, tokens=90_000, language="en")
    made = await run(session, conversation, system=testing.SYSTEM, tools=testing.tools())
    assert sum(bool(request.report.folds) for request in made) >= 4
    assert rejected(made) == []
    assert [request.report.after for request in made if request.report.after > request.report.usable] == []


async def test_everything_hidden_is_recalled_by_the_handles_that_the_model_reads(opened: Open) -> None:
    session = await opened(24_000)
    seqs = await say(session, testing.session(3, tokens=60_000, language="en"))
    await say(session, [user("and now?")])
    text = shown(await got(session.prepare()))
    folds = {int(number) for number in re.findall(r"recall\(fold=(\d+)\)", text)}
    recalled = {message.raw for fold in folds for message in await got(session.recall(fold=fold))}
    view = await got(session.view)
    whole = {item.seq for item in view if item.kind == "message"}
    hidden = [seq for seq in seqs if seq not in whole]
    originals = {seq: (await got(session.recall(seq=seq)))[0].raw for seq in seqs}
    assert len(hidden) > 20
    assert [seq for seq in hidden if originals[seq] not in recalled] == []
    touched = {item.seq for item in view if any(item.shape.blocks[part.block].kind == "result" for part in item.folded)}
    assert touched <= {int(number) for number in re.findall(r"recall\(seq=(\d+)\)", text)}


async def test_what_will_be_folded_is_known_before_it_happens(opened: Open) -> None:
    session = await opened(10_000)
    foretold = []
    for message in exchanges(40, 100):
        await say(session, [message])
        if message["role"] == "user":
            expected = await got(session.will_fold)
            folded = bool((await got(session.prepare())).report.folds)
            foretold.append((expected, folded))
    assert {expected for expected, _ in foretold} == {True, False}
    assert [pair for pair in foretold if pair[0] != pair[1]] == []


async def test_every_public_verb_works_and_none_is_left_out(opened: Open, tmp_path: Path) -> None:
    session = Used(await opened(16_000, tmp_path / "agent.db", thread="refactor-42"))
    assert len((await got(session.follow(exchanges(12)))).new) == 25
    request = await got(session.prepare(system="Be brief.", max_tokens=500, service_tier="auto"))
    assert (request.body["model"], request.body["max_tokens"], request.body["service_tier"]) == (MODEL, 500, "auto")
    await say(session, [assistant("done"), user("fold now, please")])
    answered = (await got(session.view)).item(-2).seq
    assert (await got(session.request_at(answered))).json == request.json
    report = await got(session.fold(instructions="focus on the API changes", to=2_500))
    assert report.after < report.before
    (fold,) = [each for each in await got(session.folds) if each.is_showing]
    assert len(await got(session.recall(fold=fold.id))) == fold.details["messages"]
    assert [each["name"] for each in session.recall_tools(dialect="anthropic")] == ["recall", "unfold"]
    assert await got(session.answer({"id": "1", "name": "bash", "input": {}})) is None
    assert (await got(session.preview_unfold(fold.id))).hides.stand_ins == (fold.id,)
    await got(session.unfold(fold.id))
    assert await got(session.folds) == ()
    assert (await got(session.preview_fold(to=3_000))).folds
    assert (await got(session.preview())).action == "send"
    assert await got(session.will_fold) is False
    await got(session.overflowed(9_000))
    assert await got(session.will_fold) is True
    child = await got(session.child("search", model="gpt-6-luna"))
    await say(child, [user("find it"), assistant("it is in service.py")])
    assert await got(child.result()) == "it is in service.py"
    assert await got(session.result()) == "done"
    assert await got(session.extend([])) == ()
    stats = await got(session.stats)
    assert (stats.messages, stats.folds, stats.requests) == (27, 0, 1)
    assert (session.thread.name, session.model.window, session.policy.name) == ("refactor-42", 9_000, "balanced")
    assert (await got(session.view)).length == 27
    assert session.record([]).seq is None
    await travel_a_little(session, tmp_path)
    await layer_a_little(session)
    with cf.open() as elsewhere:
        await got(session.show_memory(elsewhere.memory("ann")))
    kind = type(session._session)
    store = cf.open(tmp_path / "other.db") if kind is cf.Session else cf.aio.open(tmp_path / "other.db")
    other = await got(kind.on(store, "t", MODEL))
    assert other.thread.name == "t"
    await got(store.close())
    public = {name for name in dir(kind) if not name.startswith("_")}
    assert public - session.names == {"open", "on", "close"}


async def travel_a_little(session: Used, tmp_path: Path) -> None:
    """The verbs of time travel; what they do is tested in a file of their own."""
    here = await got(session.checkpoint("here"))
    seq = (await got(session.view)).item(-1).seq
    assert (await got(session.checkpoints))[-1] == here
    with pytest.raises(NotFound, match=r"kept no files\. It was made without a workspace"):
        await got(session.diff(here))
    assert (await got(session.delete(seq))).messages[0] == seq
    await got(session.redo())
    assert (await got(session.fork())).thread.name == "refactor-42/fork-1"
    await got(session.edit(seq, user("asked otherwise")))
    assert (await got(session.rewind(to=here))).head == here.head
    await got(session.export(tmp_path / "task", format="roo"))


async def layer_a_little(session: Used) -> None:
    """The verbs of layered state; what they do is tested in a file of their own."""
    await got(session.define(task=layers.Task("go on")))
    await got(session.enter("executing"))
    await got(session.grant("write"))
    await got(session.revoke("write"))
    assert await got(session.failed("red")) < await got(session.note(layers.Fact("the port is 8443")))
    state = await got(session.state)
    assert (state.task.goal, state.permissions, len(state.entries)) == ("go on", frozenset(), 2)
    await got(session.refuse(toolbox.enforce({"id": "x", "name": "rm", "input": {}}, state, [])))


async def test_one_turn_needs_no_session(opened: Open) -> None:
    messages = exchanges(16)
    session = await opened(9_000)
    await say(session, messages)
    expected = (await got(session.prepare(system="Be brief."))).json
    fit = cf.fit if isinstance(session, cf.Session) else cf.aio.fit
    assert (await got(fit(messages, model=MODEL, system="Be brief."))).json == expected


# -- artifacts, limits, learning --------------------------------------------------------------------------------------


async def test_a_large_output_is_put_into_a_file_that_the_agent_can_read(opened: Open, tmp_path: Path) -> None:
    session = await opened(200_000, artifacts=tmp_path / "artifacts")
    output = "".join(f"{number:06d} a line of the log\n" for number in range(9_000))
    *_, seq = await say(session, [user("show the log"), *result("c1", output)])
    text = shown(await got(session.prepare()))
    (file,) = (tmp_path / "artifacts").iterdir()
    assert file.read_text() == output
    assert str(file) in text
    assert "004500 a line of the log" not in text
    assert "004500 a line of the log" in (await got(session.recall(seq=seq)))[0].raw.decode()


async def test_the_same_output_twice_is_one_file(opened: Open, tmp_path: Path) -> None:
    session = await opened(400_000, artifacts=tmp_path / "artifacts")
    output = "".join(f"{number:06d} a line of the log\n" for number in range(9_000))
    await say(session, [user("show the log"), *result("c1", output), *result("c2", output)])
    assert len(list((tmp_path / "artifacts").iterdir())) == 1


async def test_without_automatic_folding_no_model_is_asked_and_only_the_last_resort_hides(opened: Open) -> None:
    model = testing.Scripted(SUMMARY)
    session = await opened(9_000, policy=cf.recipes.balanced(summarizer=model).with_(automatic=False))
    kinds = []
    for message in exchanges(30):
        await say(session, [message])
        if message["role"] == "user":
            report = (await got(session.prepare())).report
            kinds += [(fold.kind, report.before > report.usable) for fold in report.folds]
    assert set(kinds) == {("window", True)}
    assert model.calls == 0


async def test_without_automatic_folding_a_person_may_still_ask_for_a_summary(opened: Open) -> None:
    model = testing.Scripted(SUMMARY)
    session = await opened(50_000, policy=cf.recipes.balanced(summarizer=model).with_(automatic=False))
    await say(session, exchanges(16))
    assert (await got(session.fold())).summary == SUMMARY


async def test_without_automatic_folding_and_last_resort_the_limit_is_an_error(opened: Open) -> None:
    model = testing.Scripted(SUMMARY)
    policy = cf.recipes.balanced(summarizer=model).with_(automatic=False, last_resort=())
    session = await opened(9_000, policy=policy)
    await say(session, exchanges(30))
    with pytest.raises(CannotFit):
        await got(session.prepare())
    assert (model.calls, await got(session.folds)) == (0, ())


async def test_after_an_overflow_the_next_request_is_smaller_than_what_the_provider_named(opened: Open) -> None:
    session = await opened(100_000)
    await say(session, exchanges(40))
    before = (await got(session.prepare())).report
    await got(session.overflowed(8_000))
    after = (await got(session.prepare())).report
    assert (before.folds, after.trigger) == ((), "overflow")
    assert after.after < 8_000 < before.after


async def test_a_providers_error_says_how_much_it_takes(opened: Open) -> None:
    session = await opened(100_000)
    await say(session, exchanges(40))
    await got(session.prepare())
    await got(session.overflowed(ValueError("prompt is too long: 14000 tokens > 8000 maximum")))
    assert session.model.window == 8_000
    assert (await got(session.prepare())).report.after < 8_000


async def test_a_bill_above_the_window_makes_the_next_request_smaller(opened: Open) -> None:
    session = await opened(30_000)
    await say(session, exchanges(40))
    sent = (await got(session.prepare())).report
    await say(session, [answer("ok", 31_000), user("and now?")])
    assert await got(session.will_fold) is True
    report = (await got(session.prepare())).report
    assert (sent.folds, report.trigger) == ((), "overflow")


async def test_after_an_overflow_without_a_number_the_next_request_is_smaller(opened: Open) -> None:
    session = await opened(100_000)
    await say(session, exchanges(40))
    before = (await got(session.prepare())).report.after
    await got(session.overflowed())
    assert (await got(session.prepare())).report.after < 0.75 * before


@pytest.mark.seed("R20")
async def test_a_request_of_too_many_bytes_is_folded_once_though_its_tokens_fit(opened: Open) -> None:
    session = await opened(900_000)
    await say(session, [message for _ in range(12) for message in (picture(3_000_000), assistant("seen"))])
    reports = []
    for _ in range(3):
        await say(session, [user("and now?")])
        request = await got(session.prepare())
        reports.append((request.report.trigger, len(request.report.folds), len(request.json) < 32_000_000))
        await say(session, [assistant("well")])
    assert reports == [("bytes", 1, True), ("", 0, True), ("", 0, True)]


@pytest.mark.seed("R20")
async def test_one_message_of_too_many_bytes_is_refused_in_bytes(opened: Open) -> None:
    session = await opened(900_000)
    await say(session, [picture(30_000_000)])
    with pytest.raises(CannotFit) as caught:
        await got(session.prepare())
    assert (caught.value.unit, caught.value.limit) == ("bytes", 32_000_000)
    assert caught.value.parts["the live request"] > 40_000_000


async def test_what_bills_taught_is_known_again_after_reopening(opened: Open, tmp_path: Path) -> None:
    session = await opened(100_000, tmp_path / "a.db")
    for number in range(8):
        await say(session, [user(f"question {number} {WORD * 400}")])
        raw = (await got(session.prepare())).raw_tokens
        await say(session, [answer("ok", int(raw * 1.4))])
    learned = (await got(session.view)).count.tokens
    again = await opened(100_000, tmp_path / "a.db")
    view = await got(again.view)
    assert view.count.tokens == learned
    assert learned > 1.2 * view.tokens()


async def test_a_key_makes_saying_it_again_harmless(opened: Open, tmp_path: Path) -> None:
    session = await opened(100_000, tmp_path / "a.db")
    first = await got(session.append(user("hello"), key="turn-1"))
    await say(session, [assistant("hi"), user("more")])
    again = await opened(100_000, tmp_path / "a.db")
    assert await got(again.append(user("hello"), key="turn-1")) == first
    assert (await got(again.stats)).messages == 3


async def test_a_key_makes_an_answer_that_is_taken_in_twice_harmless(opened: Open) -> None:
    session = await opened(100_000)
    await say(session, [user("hello")])
    await got(session.prepare())
    first = await got(session.append(answer("hi", 20), key="answer-1"))
    await got(session.prepare())
    assert await got(session.append(answer("hi", 20), key="answer-1")) == first
    stats = await got(session.stats)
    assert (stats.messages, stats.requests, stats.billed) == (2, 1, 20)


async def test_a_key_with_other_words_is_refused(opened: Open) -> None:
    session = await opened(100_000)
    await got(session.append(user("hello"), key="turn-1"))
    with pytest.raises(KeyConflict):
        await got(session.append(user("goodbye"), key="turn-1"))


# -- sub-agents -----------------------------------------------------------------------------------------------------


async def test_a_child_has_its_own_window_and_thread_in_the_same_store(opened: Open, tmp_path: Path) -> None:
    session = await opened(32_000, tmp_path / "a.db", thread="main")
    await say(session, [user("find it")])
    child = await got(session.child("search", model="gpt-6-luna"))
    await say(child, exchanges(10, 1_500))
    assert (await got(child.prepare())).report.folds
    assert (await got(session.view)).length == 1
    with cf.open(tmp_path / "a.db") as store:
        rows = {row.name: row.settings for row in store.threads()}
    assert rows["main/search"] == {"model": "gpt-6-luna", "parent": "main"}


async def test_a_childs_large_output_is_in_the_file_that_its_stand_in_names(opened: Open, tmp_path: Path) -> None:
    session = await opened(200_000, artifacts=tmp_path / "artifacts")
    child = await got(session.child("search"))
    output = "".join(f"{number:06d} a line of the log\n" for number in range(9_000))
    await say(child, [user("show the log"), *result("c1", output)])
    (named,) = re.findall(r"artifacts/(\w+\.txt)", shown(await got(child.prepare())))
    assert {file.name: file.read_text() for file in (tmp_path / "artifacts").iterdir()} == {named: output}


async def test_what_a_child_hands_back_is_cut_to_size_and_says_so(opened: Open) -> None:
    session = await opened(100_000)
    child = await got(session.child("search"))
    await say(child, [user("find it"), assistant(f"it begins {WORD * 5_000}and it ends")])
    handed = await got(child.result(300))
    assert handed.startswith("it begins")
    assert handed.endswith("and it ends")
    assert "main/search" in handed
    assert cf.count([assistant(handed)], model=MODEL).tokens < 330


async def test_a_child_that_has_not_answered_has_no_result(opened: Open) -> None:
    session = await opened(100_000)
    child = await got(session.child("search"))
    await say(child, [user("find it")])
    with pytest.raises(NotFound):
        await got(child.result())
