"""Bodies spoiled anywhere: a value of another kind, a field too many or too few, something from elsewhere in the body.

Whoever sends such a thing is told what is wrong with it. No error of Python's own comes out.
"""

import copy
from random import Random
from types import ModuleType
from typing import Any

import pytest

import contextfold as cf
from contextfold.errors import BadMessage, ContextFoldError
from tests.conftest import SOAK
from tests.property import mutants_anthropic, mutants_gemini, mutants_openai_chat, mutants_openai_responses

BODIES = 1_000 if SOAK == 1 else 6_000  # of each format
MODULES: dict[str, ModuleType] = {
    "anthropic": mutants_anthropic,
    "openai-chat": mutants_openai_chat,
    "openai-responses": mutants_openai_responses,
    "gemini": mutants_gemini,
}
FLAVOURS = {
    "anthropic": (None, "anthropic"),
    "openai-chat": (None, "openai-chat", "openai-chat:deepseek", "openai-chat:bedrock", "openai-chat:no-tools"),
    "openai-responses": (None, "openai-responses", "openai-responses:adjacent"),
    "gemini": (None, "gemini", "gemini:signed"),
}
VALUES: tuple[Any, ...] = (
    *(None, 0, 7, -1.5, True, False, "", "x", " ", "\ud83d", b"x", (1,), float("nan")),
    *([], [None], [7], ["x"], [[]], {}, {"x": 1}, {1: 2}),
    *({"type": "text"}, {"type": 7}, {"type": []}, {"type": {}}, {"text": []}, [{"type": "text", "text": 7}]),
    *({"role": "user"}, {"role": []}, {"role": {}}),
)
NAMES = (
    *("type", "role", "id", "name", "content", "parts", "text", "call_id", "tool_use_id", "tool_calls", "input"),
    *("arguments", "output", "cache_control", "source", "functionCall", "functionResponse", "function", "signature"),
    *("model", "system", "tools", "thinking", "tool_choice", "instructions", "summary", "file", "image_url"),
    *("function_call", "refusal", "audio", "encrypted_content", "title", "response", "custom"),
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in the body: what holds it, and under which name or index."""
    found: list[tuple[Any, Any]] = []
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found += [(value, key), *places(value[key])]
    return found


def spoil(body: dict[str, Any], random: Random) -> None:
    holder, key = random.choice(places(body))
    match random.choice(("other", "other", "gone", "more", "copied")):
        case "other":
            holder[key] = copy.deepcopy(random.choice(VALUES))
        case "gone":
            del holder[key]
        case "more" if isinstance(holder, list):
            holder.insert(key, copy.deepcopy(random.choice(VALUES)))
        case "more":
            holder[random.choice(NAMES)] = copy.deepcopy(random.choice(VALUES))
        case _:
            other, at = random.choice(places(body))
            holder[key] = copy.deepcopy(other[at])


def spoiled(dialect: str, seed: int) -> tuple[dict[str, Any], str | None]:
    random = Random(f"spoiled {dialect} {seed}")
    body: dict[str, Any] = MODULES[dialect].build(random)
    for _ in range(random.randint(1, 4)):
        if places(body):
            spoil(body, random)
    return body, random.choice(FLAVOURS[dialect])


@pytest.mark.slow
@pytest.mark.finding("W15")
@pytest.mark.parametrize("dialect", MODULES)
def test_whatever_a_body_holds_it_is_told_and_not_stumbled_over(dialect: str) -> None:
    raw: list[tuple[int, str, BaseException]] = []
    for seed in range(BODIES):
        body, spoken = spoiled(dialect, seed)
        for look in (cf.validate, cf.repair):
            try:
                look(body, dialect=spoken)
            except ContextFoldError:
                pass
            except Exception as error:  # noqa: BLE001
                raw.append((seed, look.__name__, error))
    assert raw == []


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def deep_body(dialect: str, depth: int) -> dict[str, Any]:
    """A sound body with something nested in the first message, and an end that makes it a case for repair."""
    body: dict[str, Any] = MODULES[dialect].build(Random(dialect))
    body[{"gemini": "contents", "openai-responses": "input"}.get(dialect, "messages")].append({"x": nested(depth)})
    return body


@pytest.mark.finding("K12")
@pytest.mark.parametrize("dialect", MODULES)
def test_what_is_nested_900_levels_deep_is_repaired(dialect: str) -> None:
    assert cf.validate(deep_body(dialect, 900), dialect=dialect)
    assert cf.repair(deep_body(dialect, 900), dialect=dialect).repairs


@pytest.mark.finding("K12")
@pytest.mark.parametrize("dialect", MODULES)
@pytest.mark.parametrize("look", [cf.validate, cf.repair])
def test_what_is_nested_deeper_than_json_can_be_read_is_refused_with_words(dialect: str, look: Any) -> None:
    with pytest.raises(BadMessage, match="nested too deeply"):
        look(deep_body(dialect, 100_000), dialect=dialect)
