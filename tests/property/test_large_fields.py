"""No field of any dialect, however long and of whatever, takes more than its length of time, or much more of memory."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SOAK
from tests.effort import least
from tests.property.large_fields import CASES, FIELDS, pass_through, text_of

SHORT, LONG, LONGEST = 250_000, 1_000_000, 4_000_000
EXPONENT = 1.2
UNSUSPICIOUS = 0.25  # seconds of processor time that a megabyte may take before its growth is looked at
MOST_MEMORY = 64 << 20  # bytes beyond the field's own
# A field that was found to take too long or too much, or that others of its kind stand for; and some by chance.
ALWAYS = [
    ("anthropic", "two file paths", "slashes"),
    ("openai-chat", "arguments", "braces"),
    ("openai-responses", "words", "short lines"),
]
PICKED = CASES if SOAK > 1 else [*ALWAYS, *random.Random(13).sample(CASES, 2)]


def spent(dialect: str, field: str, shape: str, size: int, place: Path) -> dict[str, float]:
    """Processor seconds of each verb for a field of this size."""
    seconds: dict[str, float] = {}

    def timed(name: str, work: Callable[[], object]) -> None:
        seconds[name] = least(work)

    place.mkdir(parents=True)
    pass_through(dialect, FIELDS[dialect][field](text_of(shape, size)), place, timed)
    return seconds


def growing(dialect: str, field: str, shape: str, place: Path) -> set[str]:
    """Verbs that take longer than their text grows, measured as often as it takes for a busy machine to be forgiven."""
    suspects: set[str] | None = None
    for attempt, (short, long) in enumerate([(SHORT, LONG), (SHORT, LONG), (SHORT, LONGEST)]):
        first = spent(dialect, field, shape, short, place / f"{attempt}-short")
        then = spent(dialect, field, shape, long, place / f"{attempt}-long")
        allowed: float = (long / short) ** EXPONENT
        slow = {
            verb
            for verb, seconds in then.items()
            if seconds > UNSUSPICIOUS * long / LONG and seconds > allowed * max(first[verb], UNSUSPICIOUS / 8)
        }
        suspects = slow if suspects is None else suspects & slow
        if not suspects:
            break
    return suspects or set()


@pytest.mark.finding("K13")
@pytest.mark.parametrize(("dialect", "field", "shape"), PICKED)
def test_a_field_takes_no_longer_than_it_grows(dialect: str, field: str, shape: str, tmp_path: Path) -> None:
    assert growing(dialect, field, shape, tmp_path) == set()


@pytest.mark.finding("K13")
@pytest.mark.parametrize(("dialect", "field", "shape"), CASES if SOAK > 1 else ALWAYS[:2])
def test_a_field_takes_little_more_memory_than_it_is_long(dialect: str, field: str, shape: str, tmp_path: Path) -> None:
    most: dict[str, int] = {}

    def measured(name: str, work: Callable[[], object]) -> None:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        work()
        most[name] = tracemalloc.get_traced_memory()[1] - before

    body = FIELDS[dialect][field](text_of(shape, LONG))
    tracemalloc.start()
    try:
        pass_through(dialect, body, tmp_path, measured)
    finally:
        tracemalloc.stop()
    assert {verb: size for verb, size in most.items() if size > LONG + MOST_MEMORY} == {}


def test_growth_with_the_square_is_noticed() -> None:
    def squared(text: str) -> int:
        return sum(text.count("b", 0, end) for end in range(0, len(text), 50))

    short, long = least(lambda: squared("a" * 100_000)), least(lambda: squared("a" * 400_000))
    assert long > 4**EXPONENT * short
