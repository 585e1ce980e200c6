"""What a session is opened with, and what it goes on with when it is opened again."""

from __future__ import annotations

from pathlib import Path

import contextfold as cf
from contextfold.layers import Task
from contextfold.session import Hooks

MODEL = "claude-sonnet-4-5"
SAID = "The parser in src/parse.py keeps the port 8443. " * 40


def talked(session: cf.Session) -> cf.Session:
    for number in range(6):
        session.append({"role": "user", "content": f"{number} {SAID}"})
        session.append({"role": "assistant", "content": f"Answer {number}. {SAID}"})
    session.append({"role": "user", "content": "And now?"})
    return session


def test_a_session_on_an_open_store_tells_its_own_hooks_of_folds_and_needs_none() -> None:
    told: list[object] = []
    with cf.open() as store:
        heard = talked(cf.Session.on(store, "heard", MODEL, hooks=Hooks(on_fold=told.append)))
        quiet = talked(cf.Session.on(store, "quiet", MODEL))
        made = heard.fold(to=2_000).folds
        assert len(told) == len(made) > 0
        assert len(quiet.fold(to=2_000).folds) == len(made)
    assert len(told) == len(made)


def test_a_session_without_notes_goes_on_with_its_system_to_the_last_blank_line(tmp_path: Path) -> None:
    system = "Be brief.\n\n"
    with cf.Session.open(tmp_path / "store.db", model=MODEL) as session:
        session.append({"role": "user", "content": "hi"})
        first = session.prepare(system=system, cache=False)
        assert first.body["system"] == system
        session.append({"role": "assistant", "content": "Hello."})
    with cf.Session.open(tmp_path / "store.db", model=MODEL) as session:
        session.append({"role": "user", "content": "on"})
        assert session.prepare(cache=False).body["system"] == system


def test_a_session_that_has_tools_and_no_system_goes_on_with_its_tools(tmp_path: Path) -> None:
    tool = {"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}
    with cf.Session.open(tmp_path / "store.db", model=MODEL) as session:
        session.append({"role": "user", "content": "hi"})
        assert session.prepare(tools=[tool], cache=False).body["tools"] == [tool]
    with cf.Session.open(tmp_path / "store.db", model=MODEL) as session:
        assert session.prepare(cache=False).body["tools"] == [tool]


def test_a_session_with_notes_goes_on_with_its_system_and_shows_them_once(tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "store.db", model=MODEL) as session:
        session.define(task=Task("Never touch sacred.txt."))
        session.append({"role": "user", "content": "hi"})
        system = session.prepare(system="Be brief.", cache=False).body["system"]
        assert system.startswith("Be brief.")
        assert system.count("sacred.txt") == 1
    with cf.Session.open(tmp_path / "store.db", model=MODEL) as session:
        assert session.prepare(cache=False).body["system"] == system
