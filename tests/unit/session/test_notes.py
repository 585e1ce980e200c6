"""What a session writes down in its layers: once, nothing that changes nothing, and what is written is shown."""

from __future__ import annotations

import pytest

import contextfold as cf
from contextfold.domain import Environment, Noted, Phase
from contextfold.errors import BadConfiguration, CannotFit, NotFound
from contextfold.layers import Fact, Retracted, System, Task, Variable

MODEL = "claude-sonnet-4-5"


@pytest.fixture
def session() -> cf.Session:
    session = cf.Session.open(model=MODEL)
    session.append({"role": "user", "content": "hi"})
    return session


def notes(session: cf.Session) -> int:
    return sum(isinstance(entry.event, Noted) for entry in session.thread.events)


def test_what_is_noted_is_shown_by_the_next_request_and_by_no_other_until_it_changes(session: cf.Session) -> None:
    session.note(Variable("port", 8443))
    assert b"8443" in session.prepare().json
    session.append({"role": "assistant", "content": "ok"})
    session.append({"role": "user", "content": "on"})
    assert session.prepare().attached == ()
    session.note(Variable("port", 9000))
    changed = session.prepare()
    assert len(changed.attached) == 1
    assert "9000" in changed.attached[0].text


def test_what_says_the_same_is_written_once(session: cf.Session) -> None:
    first = session.note(Variable("port", 8443))
    assert session.note(Variable("port", 8443)) == first
    session.define(task=Task("Move the port."))
    session.define(task=Task("Move the port."))
    assert notes(session) == 2


def test_a_role_is_kept_when_only_the_task_is_said_anew(session: cf.Session) -> None:
    session.define(system=System(role="an engineer"), task=Task("Move the port."))
    session.define(task=Task("Close the port."))
    system = session.prepare(cache=False).body["system"]
    assert "an engineer" in system
    assert "Close the port." in system
    assert "Move the port." not in system


def test_a_role_and_a_task_that_do_not_fit_together_are_refused_before_either_is_written(session: cf.Session) -> None:
    role, task = System(role="role " * 5_000), Task("task " * 5_000)  # layers may use 8,000 tokens
    with pytest.raises(CannotFit):
        session.define(system=role, task=task)
    assert notes(session) == 0
    session.define(system=role)
    with pytest.raises(CannotFit):
        session.define(task=task)


def test_a_place_is_entered_once_and_a_permission_given_and_taken_once(session: cf.Session) -> None:
    for _ in range(2):
        session.enter(Phase.EXECUTING)
        session.enter(Environment.DEV)
        session.grant("write")
    assert notes(session) == 3
    assert (session.state.phase, session.state.environment) == (Phase.EXECUTING, Environment.DEV)
    assert "write" in session.state.permissions
    for _ in range(2):
        session.revoke("write")
        session.revoke("never given")
    assert notes(session) == 4
    assert "write" not in session.state.permissions


def test_a_permission_without_a_name_is_refused(session: cf.Session) -> None:
    with pytest.raises(BadConfiguration):
        session.grant("  ")
    assert notes(session) == 0


def test_only_a_note_that_is_held_can_be_taken_back(session: cf.Session) -> None:
    seq = session.note(Fact("the port is 8443"))
    with pytest.raises(NotFound):
        session.note(Retracted(seq + 1))
    session.note(Retracted(seq))
    assert session.state.entries == ()
    assert b"8443" not in session.prepare().json


def test_every_note_of_a_thread_is_held_when_it_is_opened_again(tmp_path: object) -> None:
    with cf.Session.open(f"{tmp_path}/a.db", model=MODEL) as session:
        session.append({"role": "user", "content": "hi"})
        for number in range(3):
            session.note(Variable(f"port{number}", 8000 + number))
    with cf.Session.open(f"{tmp_path}/a.db", model=MODEL) as session:
        assert [entry.item for entry in session.state.entries] == [Variable(f"port{n}", 8000 + n) for n in range(3)]
        assert all(str(8000 + number) in session.prepare().json.decode() for number in range(3))
