"""How a command ended, in its own words, and which commands say where the work stands.

A reader who goes on wants to know whether the last tests passed and what is still broken; that stands in one line of an
output of thousands. Nothing is judged beyond what the output says of itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

_TALLY = re.compile(
    r"\b\d{1,7} (?:tests? |specs? )?(?:passed|passing|failed|failing|failures?|errors?|problems?|warnings?|skipped)\b"
    r"|\A(?:ok|PASS|FAIL|PASSED|FAILED|SUCCESS|OK)\b|\A(?:Tests?|Test Suites|test result|BUILD)[: ]"
    r"|\bRan \d{1,7} tests?\b|\bAll checks passed|\bbuild (?:succeeded|failed)\b|成功|失敗",
    re.IGNORECASE,
)
_FAULT = re.compile(
    r"(?:error|exception|panic|fatal|failed|not found|denied|undefined)\b|エラー|例外|失敗", re.IGNORECASE
)
_BAD = re.compile(r"(?<!\b0 )(?:fail|error|problem)|失敗", re.IGNORECASE)  # but not: 0 failed
_CHECKS = re.compile(
    r"\b(?:tests?|pytest|jest|vitest|mocha|tox|nox|lint|ruff|eslint|mypy|pyright|tsc|build|compile|check|vet|clippy|make|"
    r"cargo|gradle|mvn|verify|typecheck)\b|テスト",
    re.IGNORECASE,
)
_NEWEST = 200  # lines at the end of an output that are looked at
_LONGEST = 160  # characters of such a line
_BOTH_ENDS = 20_000  # characters of an output's end, and as many of its beginning


def outcome_in(output: str, *, failed: bool) -> str:
    """The line that says how it ended: the last tally, else the first fault of what failed; empty if none does."""
    lines = [line.strip() for line in output[-_BOTH_ENDS:].splitlines()[-_NEWEST:]]
    tallies = [line for line in reversed(lines) if len(line) <= _LONGEST and _TALLY.search(line)]
    if failed:  # a part that went well does not say why the whole did not
        bad = [line for line in tallies if _BAD.search(line)]
        return _worded(bad) or _first_fault(output) or _worded(tallies)
    return _worded(tallies)


def _worded(tallies: Sequence[str]) -> str:
    """The first that is more than one word, if one is."""
    return next((line for line in tallies if " " in line or "\t" in line), tallies[0] if tallies else "")


def _first_fault(output: str) -> str:
    lines = (line.strip() for line in output[:_BOTH_ENDS].splitlines()[:_NEWEST])
    return next((line[:_LONGEST] for line in lines if _FAULT.search(line[:_LONGEST])), "")


class EndedCommand(Protocol):
    """A command with how it ended."""

    name: str
    failed: bool
    answered: bool
    outcome: str


C = TypeVar("C", bound=EndedCommand)


def telling(commands: Iterable[C]) -> Iterator[C]:
    """Oldest first: failures that nothing later mended, and the last check; a few at most."""
    seen: set[str] = set()
    found: list[C] = []
    checked = False
    for command in reversed(list(commands)):
        kind = _kind(command.name)
        if not command.answered or kind in seen:
            continue
        seen.add(kind)
        is_check = not checked and bool(command.outcome) and bool(_CHECKS.search(command.name))
        checked = checked or is_check
        if is_check or (command.failed and command.outcome):
            found.append(command)
        if len(found) == _MOST:
            break
    yield from reversed(found)


_MOST = 3


def _kind(name: str) -> str:
    """The same command with other arguments is another try at the same thing."""
    return " ".join(word for word in name.split()[:6] if not word.startswith(("-", "/", "'", '"')))[:40]
