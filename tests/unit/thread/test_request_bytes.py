"""Where a message can carry no mark for the cache, one shortly before it does."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

import contextfold as cf
from contextfold.thread.request_bytes import BodySeries

LONG = "The parser keeps the port and the flag. " * 400  # more than the least that the provider caches


def marked_messages(plain: int) -> list[int]:
    """Which messages carry a mark, where this many that are plain strings follow the only one that can."""
    with cf.Session.open(model="claude-sonnet-4-5", policy="balanced") as session:
        session.append({"role": "user", "content": [{"type": "text", "text": LONG}]})
        for number in range(plain):
            session.append({"role": "user" if number % 2 else "assistant", "content": f"Plain words, {number}."})
        session.append({"role": "assistant", "content": "Done."})
        session.append({"role": "user", "content": [{"type": "text", "text": f"Part {n}."} for n in range(30)]})
        messages: list[dict[str, Any]] = session.prepare(max_tokens=500).body["messages"]
    return [place for place, message in enumerate(messages) if "cache_control" in str(message)]


@pytest.mark.finding("H9")
def test_a_mark_goes_at_most_nine_messages_back_to_one_that_can_carry_it() -> None:
    assert marked_messages(9) == [0]
    assert marked_messages(10) == []


def test_requests_of_one_series_go_on_where_the_one_before_ended() -> None:
    with cf.Session.open(model="claude-sonnet-4-5", dialect="langchain") as session:
        requests = []
        for number in range(4):
            session.append({"type": ("human", "ai")[number % 2], "content": f"words {number}"})
            requests.append(session.prepare(max_tokens=500))
        first, *_, last = requests
        assert {id(request.series) for request in requests} == {id(first.series)}
        assert last.json.startswith(first.json[:-2] + b",")
        other = session.prepare(max_tokens=400)
        assert other.series is not first.series, "its settings are others, so it was written anew"


def test_the_digest_of_each_body_in_a_series_is_that_of_all_its_bytes() -> None:
    series, bodies = BodySeries(), [b'{"messages":[' + b",".join([b'{"n":1}'] * many) + b"]}" for many in (1, 3, 2, 4)]
    for body in (*bodies, bodies[0], bodies[-1]):
        assert series.digest(body) == sha256(body).hexdigest(), "also of one that is older than the newest"
