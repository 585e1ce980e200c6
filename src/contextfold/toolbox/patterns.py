"""Whether a text has a pattern, in time that grows with the text and never faster.

A tool's schema may come from anywhere and the text from a model; `re` tries every way to match, which for `(a+)+b` and
thirty letters takes minutes. Here all ways are followed at once. Look-arounds, back references and flags are not
followed: such patterns go to `re` for short texts, and are refused where `re` might not come back.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from contextfold.deferred import expression

MOST_STEPS = 5_000_000  # instructions times characters: some seconds
MOST_INSTRUCTIONS = 5_000  # of one pattern; `a{1000000}` would be a program of as many
MOST_DEPTH = 50  # groups within groups
SHORT = 200  # characters that `re` gets of what is not followed here

_ATOM = expression(
    r"\[\^?\]?(?:\\.|[^\]\\]){0,500}\]|\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[dDwWsSnrtfv]|[^0-9A-Za-z])|[^\\()\[*+?|^$]",
    re.DOTALL,
)
_ASSERTION = expression(r"[\^$]|\\[bB]")
_REPEAT = expression(r"(?:([*+?])|\{(\d+)\}|\{(\d*),(\d*)\})\??(?![*+?])")
_REPEATED_TWICE = expression(r"[*+}]\??[^()]{0,500}+\)[*+{]")
_LONGEST_UNFOLLOWED = 500  # characters of a pattern that is not followed; in a longer one repeats might be missed


class Unchecked(Exception):
    """Whether a text has a pattern cannot be told in good time."""

    def __init__(self, pattern: str, text: str) -> None:
        super().__init__(f"a text of {len(text):,} characters cannot be checked against {pattern[:80]} in good time")


class _Unfollowed(Exception):
    """Something in the pattern is not followed here."""


class _Step(NamedTuple):
    """One instruction: take a character, look at the place, or go on at one or two others, told by their distance."""

    takes: re.Pattern[str] | None = None
    looks: str = ""
    to: tuple[int, ...] = ()


def has_pattern(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text; one that cannot be read is not held against anybody."""
    try:
        re.compile(pattern)
        steps = _program(pattern)
    except (re.error, RecursionError, OverflowError):
        return True
    except _Unfollowed:
        if max(len(text) - SHORT, len(pattern) - _LONGEST_UNFOLLOWED) > 0 or _REPEATED_TWICE.search(pattern):
            raise Unchecked(pattern, text) from None
        return re.search(pattern, text) is not None
    if len(steps) * (len(text) + 1) > MOST_STEPS:
        raise Unchecked(pattern, text)
    now: set[int] = set()
    for place in range(len(text) + 1):
        now = _reached({0, *now}, steps, text, place)
        if len(steps) in now:
            return True
        letter = text[place : place + 1]
        now = {at + 1 for at in now if letter and (takes := steps[at].takes) is not None and takes.match(letter)}
    return False


def _reached(begin: set[int], steps: tuple[_Step, ...], text: str, place: int) -> set[int]:
    """Every instruction that can be reached without another character."""
    found, ahead = set(begin), list(begin)
    while ahead:
        at = ahead.pop()
        if at == len(steps) or steps[at].takes is not None:
            continue
        step = steps[at]
        onward = (1,) if step.looks and _holds(step.looks, text, place) else step.to
        for new in (at + distance for distance in onward):
            if new not in found:
                found.add(new)
                ahead.append(new)
    return found


def _holds(looks: str, text: str, place: int) -> bool:
    if looks == "^":
        return place == 0
    if looks == "$":
        return place == len(text) or (place == len(text) - 1 and text[place] == "\n")
    is_edge = re.compile(r"\b").match(text, place) is not None
    return is_edge if looks == "\\b" else not is_edge


@lru_cache(maxsize=1024)
def _program(pattern: str) -> tuple[_Step, ...]:
    steps, end = _choice(pattern, 0, 0)
    if end < len(pattern):
        raise _Unfollowed
    return tuple(steps)


def _choice(pattern: str, at: int, depth: int) -> tuple[list[_Step], int]:
    """Sequences parted by bars, up to the end of the group."""
    if depth > MOST_DEPTH:
        raise _Unfollowed
    steps, at = _sequence(pattern, at, depth)
    while pattern.startswith("|", at):
        other, at = _sequence(pattern, at + 1, depth)
        first = _Step(to=(1, len(steps) + 2))
        steps = [first, *steps, _Step(to=(len(other) + 1,)), *other]
    return steps, at


def _sequence(pattern: str, at: int, depth: int) -> tuple[list[_Step], int]:
    steps: list[_Step] = []
    while at < len(pattern) and pattern[at] not in "|)":
        if pattern[at] == "(":
            piece, at = _choice(pattern, at + 3 if pattern.startswith("(?:", at) else at + 1, depth + 1)
            if not pattern.startswith(")", at):
                raise _Unfollowed
            at += 1
        elif (found := _ASSERTION.match(pattern, at)) is not None:
            piece, at = [_Step(looks=found.group())], found.end()
        elif (found := _ATOM.match(pattern, at)) is not None:
            piece, at = [_Step(takes=re.compile(found.group()))], found.end()
        else:
            raise _Unfollowed
        repeat = _REPEAT.match(pattern, at)
        if repeat is not None:
            piece, at = _repeated(piece, repeat), repeat.end()
        steps += piece
        if len(steps) > MOST_INSTRUCTIONS:
            raise _Unfollowed
    return steps, at


def _repeated(piece: list[_Step], repeat: re.Match[str]) -> list[_Step]:
    sign, exactly, least, most = repeat.groups()
    low = int(exactly or least or sign == "+")
    high = 1 if sign == "?" else int(exactly or most) if exactly or most else None
    if len(piece) * max(low, high or 0) > MOST_INSTRUCTIONS:
        raise _Unfollowed
    steps = piece * low
    if high is None:
        return [*steps, _Step(to=(1, len(piece) + 2)), *piece, _Step(to=(-len(piece) - 1,))]
    maybe = [_Step(to=(1, len(piece) + 1)), *piece]
    return steps + maybe * (high - low)
