"""Nothing that is sent for one conversation holds a word that only another one held, and no word of its own is lost.

Pairs of conversations that are easily taken for one go through a real gateway with small windows, so that there are
folds, with recall on: by turns, edited and returned to, and one inside the answer to the other.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Appended, Folded, Reasoning, Text, encode
from tests.acceptance.gateway.house import House, gateway, web
from tests.acceptance.gateway.plain_upstream import Answer, PlainUpstream, plain_upstream
from tests.property.conversation_pairs import FORMATS, Format, Json, bare, turn
from tests.property.interference_judge import Verdicts, marks

pytestmark = [pytest.mark.finding("K9"), pytest.mark.finding("K10")]

PAIRS = int(os.environ.get("CONTEXTFOLD_PAIRS", 0)) or (10_000 if os.environ.get("CONTEXTFOLD_SOAK") else 100)
TURNS = 18
# Tokens of a request, above which it is folded, and how long texts are: digests in small windows; in large ones results
# and reasoning are cleared first, block by block.
SIZES = {"small": (1_800, 1, 1.0), "large": (12_000, 10, 0.4)}
# How two conversations come: headers of both, and of each.
DOORS: tuple[tuple[Json, Json, Json], ...] = (
    ({"x-api-key": "sk-one"}, {}, {}),
    ({"x-api-key": "sk-one"}, {}, {}),
    ({"x-api-key": "sk-one", "x-claude-code-session-id": "s{pair}"}, {}, {}),
    ({"x-api-key": "sk-one", "x-session-id": "s{pair}"}, {}, {}),
    ({"authorization": "Bearer sk-one", "user-agent": "claude-cli/2.1"}, {}, {}),
    ({"x-session-id": "s{pair}"}, {"api-key": "one"}, {"api-key": "two"}),
    ({"x-session-id": "s{pair}"}, {"authorization": "Bearer sk-ant-oat-1"}, {"authorization": "Bearer sk-ant-oat-2"}),
    ({"x-session-id": "s{pair}"}, {"x-some-auth": "one"}, {"x-some-auth": "two"}),
)


@dataclass
class Talk:
    """One conversation of a pair: its turns as it sends them now, and every mark that is its own."""

    label: str
    format: Format
    headers: Json
    plan: list[tuple[int, str, str]]  # for each turn: a seed, where its mark stands, and that mark, if any
    pair: int
    own: set[str] = field(default_factory=set)
    turns: list[list[Json]] = field(default_factory=list)
    old: list[list[list[Json]]] = field(default_factory=list)
    at: int = 0
    versions: int = 0
    scale: int = 1
    is_bare: bool = False  # the client drops reasoning of what was said

    def grow(self) -> None:
        self.turns.append(self.made(self.at, self.plan[self.at][2]))
        self.at += 1

    def made(self, number: int, mark: str) -> list[Json]:
        seed, place, _ = self.plan[number]
        return turn(self.format, Random(seed), f"mk{self.pair}s{number}z", mark, place, number, self.scale)

    def change(self, random: Random) -> None:
        """What clients do to histories: go back, edit, take something out, drop reasoning, return to what was."""
        was_bare, self.is_bare = self.is_bare, random.random() < (0.5 if self.is_bare else 0.3)
        chance = 0.3 if self.is_bare and not was_bare else random.random()  # reasoning goes when something is edited
        if chance < 0.25 and len(self.turns) > 3:
            self.old.append(list(self.turns))
            del self.turns[-random.randrange(1, 3) :]
        elif chance < 0.5 and self.turns:
            self.old.append(list(self.turns))
            self.versions += 1
            number = random.randrange(min(self.at, len(self.turns)))
            fresh = random.choice(("", f"mk{self.pair}{self.label}{900 + self.versions}z"))
            self.turns[random.randrange(len(self.turns))] = self.made(number, fresh)
        elif chance < 0.65 and self.old:
            self.turns = self.old.pop(random.randrange(len(self.old)))

    @property
    def body(self) -> bytes:
        messages = [message for each in self.turns for message in each]
        if self.is_bare:
            messages = [left for message in messages if (left := bare(message)) is not None]
        return json.dumps(self.format.body(messages)).encode()


class Meeting:
    """Two conversations at one gateway."""

    def __init__(self, house: House, upstream: PlainUpstream, verdicts: Verdicts, pair: int, scale: int = 1) -> None:
        self.house, self.upstream, self.verdicts = house, upstream, verdicts
        self.random = random = Random(pair)
        both, *each = random.choice(DOORS)
        format = random.choice(FORMATS)
        plans: list[list[tuple[int, str, str]]] = [[], []]
        # They differ in one or two kinds of places, and in nothing else.
        differing = random.sample(format.places, random.choice((1, 1, 2)))
        for number in range(TURNS):
            place = random.choice((*differing, *format.places, *(("thinking",) * scale)))
            seed = random.randrange(1 << 30)
            held = random.choice(("none", "both", "both", "a", "b")) if place in differing else "none"
            for label, plan in zip("ab", plans, strict=True):
                plan.append((seed, place, f"mk{pair}{label}{number}z" if held in ("both", label) else ""))
        self.talks = [
            Talk(label, format, {**both, **own}, plan, pair, scale=scale)
            for label, own, plan in zip("ab", each, plans, strict=True)
        ]
        for talk in self.talks:
            talk.headers = {name: value.format(pair=pair) for name, value in talk.headers.items()}
            for _ in range(random.randrange(3, 7)):
                talk.grow()

    def run(self) -> None:
        for _ in range(8):
            talk = self.random.choice(self.talks)
            talk.change(self.random)
            if talk.at < len(talk.plan):
                talk.grow()
            other = self.talks[self.talks[0] is talk]
            self.ask(talk, other if self.random.random() < 0.25 else None)

    def ask(self, talk: Talk, inside: Talk | None = None) -> None:
        """One request; while it is answered another one may come."""
        body = talk.body
        talk.own |= marks(body)
        text = self.random.choice(("Done.", "Done.", f"Said mk{talk.pair}{talk.label}{500 + len(talk.turns)}z."))
        talk.own |= marks(text)
        recalls = self.random.choice((None, None, {"question": "alpha mk"}, {"seq": self.random.randrange(1, 60)}))
        arrived: list[bytes] = []

        def said() -> Iterator[bytes]:
            arrived.append(self.upstream.arrived[-1].body)
            is_offered = b'"unfold"' in arrived[-1]
            billed = len(arrived[-1]) // 4
            if inside is not None and len(arrived) == 1:
                self.ask(inside)
            if recalls is not None and is_offered and len(arrived) == 1:
                self.upstream.script.appendleft(Answer(said()))
                yield json.dumps(talk.format.answer("Look.", ("recall", recalls), billed)).encode()
            else:
                yield json.dumps(talk.format.answer(text, None, billed)).encode()

        self.upstream.script.appendleft(Answer(said()))
        headers = {**talk.headers, "content-type": "application/json"}
        reply = web().post(self.house.url + talk.format.path, content=body, headers=headers)
        if reply.status_code != 200:  # it cannot fit: refused, and never sent
            assert reply.status_code == 400, reply.text
            self.upstream.script.clear()
            return
        self.house.settle()
        covered = partial(self.covered, talk)
        label = f"{talk.pair}{talk.label} {talk.format.name} {talk.headers}"
        self.verdicts.judge(label, talk.own, body, arrived, covered)
        talk.turns.append(talk.format.echoed(reply.json()))

    def covered(self, talk: Talk) -> set[str]:
        """The marks that a fold hides in this conversation; of others only where all words are its own.

        An answer may have come back without its reasoning: what a fold hides of it is what was said. Of a message that
        is hidden in part, those which stand in none of the blocks that are shown, nor in a text: only results, media
        and reasoning are hidden one by one.
        """
        found: set[str] = set()

        def read(thread: cf.Thread) -> None:
            events = thread.branch.events
            for entry in events:
                if not isinstance(entry.event, Folded):
                    continue
                cover, seq = entry.event.cover, entry.parent
                while seq:
                    is_whole = any(first <= seq <= last for first, last in cover.ranges)
                    parts = {block for each, block in cover.blocks if each == seq}
                    if (is_whole or parts) and isinstance(events[seq - 1].event, Appended):
                        message = thread.message(seq)
                        held, blocks = marks(message.raw), () if is_whole else message.blocks
                        thoughts = (marks(encode(each)) for each in message.blocks if isinstance(each, Reasoning))
                        said = held.difference(*thoughts)
                        shown = (
                            marks(encode(block))
                            for at, block in enumerate(blocks)
                            if at not in parts or isinstance(block, Text)
                        )
                        found.update(held.difference(*shown) if said <= talk.own else ())
                    seq = events[seq - 1].parent

        for ledger in self.house.gateway.tenants.ledgers[:2]:
            for followed in list(ledger._threads.values())[-3:]:
                reading = ledger.clerk.kept(partial(read, followed.session.thread))
                asyncio.run_coroutine_threadsafe(reading, self.house._loop).result(60)
        return found


def meet(tmp_path: Any, pairs: range, limit: int, scale: int) -> Verdicts:
    verdicts = Verdicts()
    with plain_upstream() as upstream:
        for start in range(pairs.start, pairs.stop, 250):
            with gateway(tmp_path / f"{start}.db", upstream.url, window=20_000, limit=limit, recall=True) as house:
                for pair in range(start, min(start + 250, pairs.stop)):
                    Meeting(house, upstream, verdicts, pair, scale).run()
                    upstream.arrived.clear()
    return verdicts


@pytest.mark.parametrize("size", SIZES)
def test_no_word_crosses_between_conversations_and_none_is_lost(tmp_path: Any, size: str) -> None:
    limit, scale, share = SIZES[size]
    verdicts = meet(tmp_path, range(int(PAIRS * share)), limit, scale)
    assert verdicts.crossed == []
    assert verdicts.missing == []
    assert verdicts.hidden > PAIRS * share  # there were folds, or this would prove nothing


@pytest.mark.parametrize(
    "pair", [67, 208], ids=["folded without its reasoning", "known by its calls in another family"]
)
def test_a_pair_that_was_found_once_loses_no_word(tmp_path: Any, pair: int) -> None:
    limit, scale, _ = SIZES["large"]
    verdicts = meet(tmp_path, range(pair, pair + 1), limit, scale)
    assert verdicts.crossed == []
    assert verdicts.missing == []
    assert verdicts.hidden
