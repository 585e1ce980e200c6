"""Memories found by rules: visible, each with its message, and taken back."""

from __future__ import annotations

import pytest

import contextfold as cf
from contextfold import aio
from contextfold.layers import Preference, Procedure
from contextfold.store.harvest import kind_of

SAID = (
    "From now on, run the tests before every commit.\n```sh\nnever mind this\n```\nWhat is the time?",
    "I prefer tabs. We decided to use PostgreSQL for the queue.",
    "今後は日本語で答えてください。ポートは 8443 に決めました。",
)


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Never push to main without asking.", "procedure"),
        ("I prefer short answers.", "preference"),
        ("We have decided to drop Python 3.9.", "decision"),
        ("コミットの前に必ずテストを実行してください。", "procedure"),
        ("短い答えの方が好きです。", "preference"),
        ("キューには PostgreSQL を使うことにしました。", "decision"),
        ("Should we always do that?", None),
        ("Look at src/app.py.", None),
        ("必ずそうですか。", None),
    ],
)
def test_a_sentence_is_remembered_by_what_it_plainly_says(sentence: str, kind: str | None) -> None:
    assert kind_of(sentence) == kind


def test_what_people_said_is_harvested_once_with_its_message_and_can_be_taken_back() -> None:
    with cf.open() as store:
        thread = store.thread("work", model="claude-sonnet-5-5")
        seqs = [thread.append({"role": "user", "content": text}) for text in SAID]
        thread.append({"role": "assistant", "content": "I will always do so from now on."})
        memory = store.memory("ann")
        made = memory.harvest("work")
        assert [(entry.text, entry.kind, entry.seq) for entry in made] == [
            ("From now on, run the tests before every commit.", "procedure", seqs[0]),
            ("I prefer tabs.", "preference", seqs[1]),
            ("We decided to use PostgreSQL for the queue.", "decision", seqs[1]),
            ("今後は日本語で答えてください。", "procedure", seqs[2]),
            ("ポートは 8443 に決めました。", "decision", seqs[2]),
        ]
        assert memory.harvest("work") == ()
        assert {entry.source for entry in memory.entries()} == {"work"}
        memory.forget(made[1].id)
        store.forget("work", seqs[2])
        assert [entry.text for entry in memory.entries()] == [made[0].text, made[2].text]


async def test_memories_are_harvested_awaited_too() -> None:
    async with aio.open() as store:
        thread = await store.thread("work")
        await thread.append({"role": "user", "content": "Always answer in one line."})
        memory = await store.memory("ann")
        assert [entry.text for entry in await memory.harvest("work")] == ["Always answer in one line."]


def test_what_is_remembered_is_shown_in_its_layer_and_what_is_replaced_is_taken_back(tmp_path: object) -> None:
    path = f"{tmp_path}/store.db"
    with cf.open(path) as store:
        store.memory("web", scope="project").remember("Use tabs", kind="preference", about="indent")
        store.memory("web", scope="project").remember("Run the tests first", kind="procedure", about="commits")
    for text in ("tabs", "spaces"):
        with cf.Session.open(path, model="claude-sonnet-5-5", memory="project:web") as session:
            items = {entry.item for entry in session.state.entries}
            assert Preference("indent", f"Use {text}") in items
            assert Procedure("commits", ("Run the tests first",)) in items
            assert len(items) == 2
            session.append({"role": "user", "content": "Go on."})
            assert f"Use {text}" in session.prepare(max_tokens=100).json.decode()
            session.store.memory("web", scope="project").remember("Use spaces", kind="preference", about="indent")


async def test_an_awaited_session_shows_a_memory_too() -> None:
    async with aio.open() as store:
        memory = await store.memory("ann")
        await memory.remember("Prefers tabs", kind="preference", about="indent")
        session = await aio.Session.on(store, "work", "claude-sonnet-5-5")
        await session.show_memory(memory.plain)
        state = await session.state
        assert [entry.item for entry in state.entries] == [Preference("indent", "Prefers tabs")]
