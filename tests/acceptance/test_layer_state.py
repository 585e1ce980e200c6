"""Layered state belongs to its thread: it rewinds, forks, restarts and is forgotten with it, and takes new layers.

Each scenario is written once and run with `Session` and with `aio.Session`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold import layers as L
from contextfold.errors import BadConfiguration, NotFound
from tests.acceptance.layered import layered, messages
from tests.acceptance.scenario import (
    MODEL,
    WORD,
    Open,
    answer,
    assistant,
    got,
    say,
    shown,
    user,
)


async def test_layers_rewind_and_return_with_the_thread(opened: Open) -> None:
    session = await opened(50_000)
    (start,) = await say(session, [user("go")])
    await layered(session)
    before = await got(session.state)
    await got(session.prepare())
    await got(session.thread.rewind(after=start))
    empty = await got(session.state)
    assert (empty.system, empty.entries, empty.permissions) == (None, (), frozenset())
    assert "system" not in (await got(session.prepare())).body
    await got(session.thread.rewind(after=start))
    await got(session.note(L.Fact("another way")))
    assert (await got(session.state)).of(L.Fact) == (L.Fact("another way"),)
    assert before.of(L.Fact) == (L.Fact("the port is 8443", source=1),)


async def test_redo_brings_the_layers_back(opened: Open) -> None:
    session = await opened(50_000)
    (start,) = await say(session, [user("go")])
    await layered(session)
    before = await got(session.state)
    await got(session.thread.rewind(after=start))
    await got(session.thread.redo())
    assert await got(session.state) == before


async def test_a_fork_has_its_own_layers_from_there_on(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, [user("go")])
    await layered(session)
    fork = await got(session.fork())
    await got(fork.note(L.Fact("only here")))
    assert L.Fact("only here") in (await got(fork.state)).of(L.Fact)
    assert L.Fact("only here") not in (await got(session.state)).of(L.Fact)
    assert (await got(fork.state)).nonce == (await got(session.state)).nonce


async def test_layers_survive_a_restart_and_nothing_is_attached_twice(opened: Open, tmp_path: Path) -> None:
    session = await opened(50_000, tmp_path / "store.db")
    await layered(session)
    await say(session, [user("go")])
    first, before = await got(session.prepare()), await got(session.state)
    await got(session.close())
    again = await opened(50_000, tmp_path / "store.db")
    assert await got(again.state) == before
    assert (await got(again.prepare())).json == first.json


async def test_identical_inputs_give_identical_bytes(opened: Open) -> None:
    made = []
    for _ in range(2):
        session = await opened(50_000)
        await layered(session)
        await say(session, [user("go")])
        made.append((await got(session.prepare())).json)
    assert made[0] == made[1]


class Ticket(L.Item, frozen=True):
    """Something the house does not know."""

    number: int
    text: str = ""


async def test_a_layer_of_ones_own_lives_in_a_session(opened: Open, tmp_path: Path) -> None:
    layout = L.Layout().adding(L.Layer("tickets", (Ticket,), share=5))
    session = await opened(50_000, tmp_path / "store.db")
    with pytest.raises(BadConfiguration, match="Ticket"):
        await got(session.note(Ticket(7)))
    await got(session.define(layout=layout))
    await got(session.note(Ticket(7, "the printer burns")))
    await say(session, [user("go")])
    assert "the printer burns" in shown(await got(session.prepare()))
    await got(session.close())
    plain = await opened(50_000, tmp_path / "store.db")
    assert len((await got(plain.state)).unread) == 1
    await got(plain.define(layout=layout))
    assert (await got(plain.state)).of(Ticket) == (Ticket(7, "the printer burns"),)


async def test_a_note_is_taken_back_by_its_seq(opened: Open) -> None:
    session = await opened(50_000)
    seq = await got(session.note(L.Fact("the moon is cheese")))
    await got(session.note(L.Fact("the port is 8443")))
    await got(session.note(L.Retracted(seq)))
    await say(session, [user("go")])
    assert "cheese" not in shown(await got(session.prepare()))
    with pytest.raises(NotFound, match="No layer holds"):
        await got(session.note(L.Retracted(seq)))


async def test_relevance_of_ones_own_decides_what_matters(opened: Open) -> None:
    def likes_ports(_query: str, texts: Any) -> list[float]:
        return [1.0 if "port" in text else 0.0 for text in texts]

    session = await opened(50_000)
    await got(session.define(task=L.Task("x"), layout=L.Layout(relevance=likes_ports, drops_irrelevant=True)))
    await got(session.note(L.Fact("the port is 8443")))
    await got(session.note(L.Fact("cats like boxes")))
    await say(session, [user("go")])
    request = await got(session.prepare())
    assert "8443" in shown(request)
    assert "boxes" not in shown(request)


async def test_what_was_billed_teaches_without_moving_the_layers(opened: Open) -> None:
    session = await opened(50_000)
    await layered(session)
    await say(session, [user("go")])
    first = await got(session.prepare())
    await say(session, [answer("ok", first.report.after * 2), user("and?")])
    second = await got(session.prepare())
    assert second.attached == ()
    assert messages(second)[: len(messages(first))] == messages(first)


async def test_empty_permissions_and_unknown_phases_are_refused(opened: Open) -> None:
    session = await opened(50_000)
    with pytest.raises(BadConfiguration):
        await got(session.grant(" "))
    with pytest.raises(BadConfiguration, match="no phase"):
        await got(session.enter("dreaming"))


async def test_what_was_forgotten_is_in_no_layer_any_more(opened: Open, tmp_path: Path) -> None:
    session = await opened(50_000, tmp_path / "store.db")
    (seq,) = await say(session, [user("the key is hunter2")])
    await got(session.note(L.Fact("the key is hunter2", source=seq)))
    assert "hunter2" in shown(await got(session.prepare()))
    plain = session if isinstance(session, cf.Session) else session._session
    plain.store.forget(session.thread.name, seq)
    assert (await got(session.state)).of(L.Fact) == ()
    assert "hunter2" not in shown(await got(session.prepare()))


def test_threads_of_the_same_name_in_two_spaces_have_nothing_in_common(tmp_path: Path) -> None:
    for space in ("one", "two"):
        with cf.open(tmp_path / "store.db", space=space) as store:
            session = cf.Session.on(store, "main", MODEL)
            assert session.state.entries == ()
            session.note(L.Fact(f"only in {space}"))
            assert [fact.text for fact in session.state.of(L.Fact)] == [f"only in {space}"]


async def test_notes_of_another_process_are_shown(opened: Open, tmp_path: Path) -> None:
    session = await opened(50_000, tmp_path / "store.db")
    await say(session, [user("go")])
    await got(session.prepare())
    with cf.Session.open(tmp_path / "store.db", model=MODEL) as other:
        other.note(L.Fact("seen elsewhere"))
    assert "seen elsewhere" in shown(await got(session.prepare()))


async def test_a_short_room_shows_less_and_the_same_each_time(opened: Open) -> None:
    session = await opened(8_000)
    await got(session.define(layout=L.Layout(budget=4_000)))
    for number in range(100):
        await got(session.note(L.Observation(f"seen {number} {WORD * 40}")))
    await say(session, [user("go " + WORD * 3_500)])
    first = await got(session.prepare())
    await say(session, [assistant("ok"), user("on")])
    second = await got(session.prepare())
    assert {each.key.partition("/")[0] for each in first.attached} == {"observations"}
    assert second.attached == ()
