"""Requests damaged at random, several times over: repairing makes them sound, loses no words, and does it once."""

import copy
from random import Random
from typing import Any

import pytest

import contextfold as cf
from tests.property import mutants_anthropic, mutants_gemini, mutants_openai_chat, mutants_openai_responses
from tests.property.test_mutants import lost

Body = dict[str, Any]
BUILDERS = {
    "anthropic": (mutants_anthropic.build, "messages", "content"),
    "openai-chat": (mutants_openai_chat.build, "messages", "content"),
    "openai-chat:deepseek": (mutants_openai_chat.build, "messages", "content"),
    "openai-chat:bedrock": (mutants_openai_chat.build, "messages", "content"),
    "openai-chat:no-tools": (mutants_openai_chat.build, "messages", "content"),
    "openai-responses": (mutants_openai_responses.build, "input", "content"),
    "openai-responses:adjacent": (mutants_openai_responses.build, "input", "content"),
    "gemini": (mutants_gemini.build, "contents", "parts"),
    "gemini:signed": (mutants_gemini.build, "contents", "parts"),
}
SEEDS = range(30)


def leave_out(entries: list[Any], random: Random) -> None:
    if len(entries) > 1:
        del entries[random.randrange(len(entries))]


def double(entries: list[Any], random: Random) -> None:
    at = random.randrange(len(entries))
    entries.insert(random.randrange(len(entries)), copy.deepcopy(entries[at]))


def exchange(entries: list[Any], random: Random) -> None:
    a, b = random.randrange(len(entries)), random.randrange(len(entries))
    entries[a], entries[b] = entries[b], entries[a]


def put_nonsense(entries: list[Any], random: Random) -> None:
    entries.insert(random.randrange(len(entries)), random.choice([None, 7, "bare words", [], {}, {"role": "user"}]))


def spoil_a_field(entries: list[Any], random: Random) -> None:
    """An id, a role, an argument or a content is gone or is something else."""
    entry = random.choice(entries)
    if isinstance(entry, dict) and entry:
        names = [name for name in entry if name not in ("type", "parts")]
        if names:
            entry[random.choice(names)] = random.choice([None, "", 7, "x", [], {}])


DAMAGES = (leave_out, double, exchange, put_nonsense, spoil_a_field)


def damaged(dialect: str, seed: int) -> Body:
    build, messages, content = BUILDERS[dialect]
    random = Random(f"{dialect} {seed}")
    body = build(random)
    for _ in range(random.randint(1, 6)):
        entries = body[messages]
        inner = [each[content] for each in entries if isinstance(each, dict) and isinstance(each.get(content), list)]
        target = random.choice([entries, *(each for each in inner if each)])
        random.choice(DAMAGES)(target, random)
    return body


@pytest.mark.parametrize("dialect", BUILDERS)
def test_whatever_was_broken_repairing_makes_it_sound_loses_nothing_and_ends(dialect: str) -> None:
    for seed in SEEDS:
        body = damaged(dialect, seed)
        before = copy.deepcopy(body)
        repaired = cf.repair(body, dialect=dialect)
        assert body == before
        assert repaired.problems == (), seed
        assert bool(repaired.repairs) == bool(cf.validate(body, dialect=dialect)), seed
        again = cf.repair(repaired.body, dialect=dialect)
        assert (again.body, again.repairs) == (repaired.body, ()), seed
        assert lost(body, repaired.body) == [], seed


def test_a_sound_request_comes_back_as_it_is() -> None:
    for dialect, (build, _, _) in BUILDERS.items():
        if ":" not in dialect:
            body = build(Random(1))
            assert cf.repair(body, dialect=dialect) == cf.repair(cf.repair(body, dialect=dialect).body, dialect=dialect)
            assert cf.repair(body, dialect=dialect).body == body


@pytest.mark.parametrize("body", [{}, {"messages": None}, {"messages": []}, {"contents": 7}, {"input": 7}])
def test_what_has_not_the_form_of_a_request_is_told_not_guessed(body: Body) -> None:
    repaired = cf.repair(body)
    assert not repaired.is_sound
    assert repaired.body == body
    assert [problem.rule for problem in repaired.problems] == ["malformed"]
