"""Money is what was billed: by kind, to the cent, the same after reopening; and a plain call can be sent as it is."""

import json
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.testing.server import Clock, StrictServer
from tests.acceptance.judge import strict_server

anthropic = pytest.importorskip("anthropic")

SYSTEM = "You work on a project with many files and rules. " * 200
KINDS = ("fresh", "written", "read", "answer")


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server(clock=Clock(), seed=b"money", token="sk-test") as server:  # noqa: S106  # nobody's key
        server.always("Done, and nothing is left to do for now.")
        yield server


def talk(session: cf.Session, server: StrictServer, turns: int, **how: Any) -> None:
    with anthropic.Anthropic(base_url=server.url, api_key=server.token, max_retries=0) as client:
        for number in range(turns):
            session.append({"role": "user", "content": f"Step {number}. " + "Look at the parser again. " * 60})
            session.append(client.messages.create(**session.prepare(system=SYSTEM, **how).body))


@pytest.mark.finding("N4")
@pytest.mark.finding("N8")
def test_a_plain_call_is_cached_and_sent_without_streaming(server: StrictServer) -> None:
    with cf.Session.open(model="claude-sonnet-4-6") as session:
        talk(session, server, 6)
    usage, cost = server.usage, server.cost
    assert server.refused == []
    assert usage.read > usage.written + usage.fresh
    server.forget()
    with cf.Session.open(model="claude-sonnet-4-6") as session:
        talk(session, server, 6, cache=False)
    assert (server.usage.read, server.usage.written) == (0, 0)
    assert cost < 0.7 * server.cost


@pytest.mark.finding("N8")
def test_a_longer_answer_is_asked_for_by_length_or_by_streaming() -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        session.append({"role": "user", "content": "Hello."})
        lengths = [session.prepare(**how).body["max_tokens"] for how in ({}, {"stream": True}, {"max_tokens": 30_000})]
    assert lengths == [8_192, 128_000, 30_000]


@pytest.mark.finding("N5")
def test_what_was_billed_stands_in_the_stats_by_kind_and_after_reopening(server: StrictServer, tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "s.db", model="claude-sonnet-4-6") as session:
        talk(session, server, 5)
        stats = session.stats
    with cf.Session.open(tmp_path / "s.db") as again:
        reopened = again.stats
    assert stats.paid.total == pytest.approx(server.cost, abs=1e-9)
    assert [getattr(stats.paid, kind) > 0 for kind in KINDS] == [server.usage.fresh > 0, True, True, True]
    assert (reopened.paid, reopened.spent, reopened.full_history) == (stats.paid, stats.spent, stats.full_history)
    assert stats.unit == "USD"


@pytest.mark.finding("N5")
@pytest.mark.parametrize("cached", [True, False])
def test_uncached_input_is_priced_as_uncached_input(server: StrictServer, cached: bool) -> None:
    with cf.Session.open(model="claude-sonnet-4-6") as session:
        talk(session, server, 3, cache=cached)
        assert session.stats.paid.total == pytest.approx(server.cost, abs=1e-9)
        assert session.stats.spent == pytest.approx(session.stats.paid.input, abs=1e-12)


def answered(session: cf.Session, chance: random.Random) -> dict[str, Any]:
    """One turn with a bill that a provider might send; the bill."""
    session.append({"role": "user", "content": "Go on. " * chance.randint(1, 40)})
    session.prepare(max_tokens=200)
    if (session.model.dialect or "").startswith("anthropic"):
        hour = chance.randint(0, 900)
        usage = {
            "input_tokens": chance.randint(1, 300_000),
            "output_tokens": chance.randint(1, 9_000),
            "cache_read_input_tokens": chance.randint(0, 90_000),
            "cache_creation_input_tokens": hour + chance.randint(0, 900),
            "cache_creation": {"ephemeral_1h_input_tokens": hour},
        }
        answer = {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": "Done."}],
            "usage": usage,
        }
    else:
        prompt = chance.randint(2_000, 300_000)
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": chance.randint(1, 9_000),
            "total_tokens": 0,
            "prompt_tokens_details": {"cached_tokens": chance.randint(0, prompt)},
        }
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Done."}}
        answer = {"object": "chat.completion", "id": "c", "choices": [choice], "usage": usage}
    session.append(answer)
    return usage


def owed(usage: dict[str, Any], listed: dict[str, Any]) -> Fraction:
    """What a provider's own usage comes to by the list of prices, reckoned here and in whole millionths."""
    if "prompt_tokens" in usage:
        read, written, hour = usage["prompt_tokens_details"]["cached_tokens"], 0, 0
        fresh, answer = usage["prompt_tokens"] - read, usage["completion_tokens"]
    else:
        read, fresh, answer = usage["cache_read_input_tokens"], usage["input_tokens"], usage["output_tokens"]
        hour = usage["cache_creation"]["ephemeral_1h_input_tokens"]
        written = usage["cache_creation_input_tokens"] - hour
    prices = dict(listed)
    for tier in prices.pop("tiers", ()):
        prices |= tier if fresh + read + written + hour > tier["above"] else {}
    kinds = {"input": fresh, "cache_read": read, "cache_write": written, "cache_write_hour": hour, "output": answer}
    return sum((Fraction(str(prices.get(kind, 0))) * many / 10**6 for kind, many in kinds.items()), Fraction())


@pytest.mark.finding("N5")
def test_money_equals_the_sum_of_the_bills_in_generated_sessions() -> None:
    names = ("claude-sonnet-4-6", "claude-haiku-5-5", "claude-opus-5-5", "gpt-4.1", "gpt-4.1-mini")
    catalogue = json.loads((Path(cf.__file__).parent / "models/catalogue.json").read_bytes())
    listed = {model["id"]: model["prices"] for model in catalogue["models"] if model["id"] in names}
    for seed in range(200):
        chance = random.Random(seed)
        name = chance.choice(names)
        with cf.Session.open(model=name) as session:
            bills = [answered(session, chance) for _ in range(chance.randint(1, 4))]
            total = sum(owed(each, listed[name]) for each in bills)
            assert total > 0
            assert abs(Fraction(session.stats.paid.total) - total) < Fraction(1, 10**9)


@pytest.mark.finding("N9")
def test_a_view_counts_its_words_whatever_system_and_tools_cost() -> None:
    tools = [{"name": f"tool{n}", "description": "Does. " * 80, "input_schema": {"type": "object"}} for n in range(20)]
    with cf.Session.open(model="claude-sonnet-4-5") as session:
        for _ in range(4):
            session.append({"role": "user", "content": "Say it again, please."})
            words = session.view.tokens()
            session.prepare(system=SYSTEM, tools=tools, max_tokens=200)
            usage = {"input_tokens": 900, "output_tokens": 5, "cache_read_input_tokens": 0}  # far less than we counted
            content = [{"type": "text", "text": "Once more."}]
            session.append({"type": "message", "role": "assistant", "content": content, "usage": usage})
            assert session.view.count.tokens >= words * 0.4
            assert session.stats.tokens == session.view.count.tokens == session.thread.view.count.tokens
