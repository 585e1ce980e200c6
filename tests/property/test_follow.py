"""An owner does what owners do to a list; the thread always says what the list says, nothing twice, nothing lost."""

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Appended, Rewound, encode

MODEL = "claude-sonnet-4-5"
Message = dict[str, Any]


class Owner:
    """A list that is appended to, edited, cut, branched and resumed; and a model of what the log then holds."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.list: list[Message] = []
        self.kept: list[list[Message]] = []  # to be resumed
        self.written: set[tuple[str, ...]] = set()  # every prefix that was ever followed, as texts
        self.number = 0

    def said(self) -> Message:
        self.number += 1
        text = "yes" if self.random.random() < 0.2 else f"word {self.number}"
        role = "assistant" if self.list and self.list[-1]["role"] == "user" else "user"
        return {"role": role, "content": [{"type": "text", "text": text}]}

    def act(self) -> None:
        move = self.random.choice(("append", "append", "append", "edit", "truncate", "resume", "branch", "marks"))
        if move == "append" or not self.list:
            for _ in range(self.random.randint(1, 3)):
                self.list.append(self.said())
        elif move == "edit":
            place = self.random.randrange(len(self.list))
            self.list[place] = {**self.list[place], "content": [{"type": "text", "text": f"edited {self.number}"}]}
            self.number += 1
        elif move == "truncate":
            del self.list[self.random.randrange(1, len(self.list) + 1) :]
        elif move == "branch":
            self.kept.append(list(self.list))
            del self.list[self.random.randrange(1, len(self.list) + 1) :]
            self.list.append(self.said())
        elif move == "resume" and self.kept:
            self.list = list(self.random.choice(self.kept))
        elif move == "marks":  # the same words in other objects, marked for a cache
            place = self.random.randrange(len(self.list))
            block = {**self.list[place]["content"][0], "cache_control": {"type": "ephemeral"}}
            self.list[place] = {**self.list[place], "content": [block]}

    def follows(self) -> int:
        """How many messages the log has to hold from now on."""
        spoken = texts(self.list)
        self.written.update(spoken[: place + 1] for place in range(len(spoken)))
        return len(self.written)


def texts(messages: Iterable[Message]) -> tuple[str, ...]:
    return tuple(f"{each['role']}: {each['content'][0]['text']}" for each in messages)


def on_branch(session: cf.Session) -> tuple[str, ...]:
    branch = session.thread.branch
    said = (session.thread.message(item.seq) for item in branch.items.items if item.kind == "message")
    return tuple(f"{message.role}: {message.text}" for message in said)


def ever_written(session: cf.Session) -> int:
    return sum(isinstance(each.event, Appended) for each in session.thread.events)


@pytest.mark.parametrize("seed", range(200))
def test_the_thread_says_what_its_owners_list_says(seed: int, tmp_path: Path) -> None:
    random = Random(f"owner {seed}")
    owner = Owner(random)
    path = tmp_path / "s.db" if seed % 10 == 0 else None
    store = cf.open(path)
    session = cf.Session.on(store, "main", MODEL)
    for _ in range(12):
        owner.act()
        rewinds = sum(isinstance(each.event, Rewound) for each in session.thread.events)
        report = session.follow(owner.list)
        assert on_branch(session) == texts(owner.list)
        assert ever_written(session) == owner.follows()
        assert len(report.new) + report.known == len(owner.list)
        after = sum(isinstance(each.event, Rewound) for each in session.thread.events)
        assert after - rewinds == (report.rewound is not None)
        if random.random() < 0.3:
            session.prepare(max_tokens=500)
        if random.random() < 0.25:  # a restart: the list comes from elsewhere too, so no object is the same
            if path is not None:
                store.close()
                store = cf.open(path)
            session = cf.Session.on(store, "main", MODEL)
            owner.list = [{**each} for each in owner.list]
    assert store.verify() == []
    store.close()


@pytest.mark.parametrize("seed", range(40))
def test_answers_that_are_written_ahead_of_the_list_are_found_in_it(seed: int) -> None:
    """As adapters do it: messages are bytes, and an answer is written before its owner lists it, or another one."""
    random = Random(f"ahead {seed}")
    owner = Owner(random)
    with cf.Session.open(model=MODEL) as session:
        for _ in range(12):
            owner.act()
            session.follow([encode(each) for each in owner.list])
            assert on_branch(session) == texts(owner.list)
            if owner.list[-1]["role"] == "user":
                answer = owner.said()
                session.append(encode(answer))
                if random.random() < 0.8:
                    owner.list.append(answer)
                    before = ever_written(session)
                    report = session.follow([encode(each) for each in owner.list])
                    assert (report.new, report.rewound, ever_written(session)) == ((), None, before)
        assert session.store.verify() == []
