"""Where a view may be cut, and what is wrong in a view that was cut elsewhere.

Four rules. A result stands behind its call. Parallel calls stand or fall together: all their results follow before
anything else is said. A call has exactly one result, its own or the synthetic one of an interrupted turn. Reasoning
that stands alone in a message belongs to whatever is said next, so that a view never shows it before a stand-in; later
steps of a loop that carry no reasoning of their own may be parted from it, because cutting there hides all of the
loop's reasoning, never some. Rules look at outlines only; what a wire format demands beyond them is the dialects'
business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from .reply import Problem
from .view import ViewItem


def keeps_together(item: ViewItem, waiting: tuple[str, ...], is_led: bool) -> bool:
    """Whether some rule forbids a cut in front of an item: calls wait there for results, or reasoning led to it."""
    return bool(waiting) or is_led or item.kind == "completion"


def leads_on(item: ViewItem, before: bool = False) -> bool:
    """Whether reasoning waits for its successor after this item; a blank message changes nothing in that."""
    blocks = item.shape.blocks
    if item.shape.role == "assistant" and blocks and all(block.kind == "reasoning" for block in blocks):
        return True
    return before and item.shape.is_blank


def check(items: Sequence[ViewItem]) -> list[Problem]:
    """Everything in a view that would break a rule."""
    return [problem for rule in RULES for problem in rule(items)]


def results_without_call(items: Sequence[ViewItem]) -> list[Problem]:
    """Each shown result answers a call of the assistant message nearest before it."""
    calls: set[str] = set()
    problems = []
    for item in items:
        problems += [
            Problem(f"seq {item.seq}", "result-without-call", f"Show the call {call!r} too, or fold both.")
            for call in _shown_results(item)
            if call not in calls
        ]
        if _speaks(item):
            calls = set(item.shape.calls)
    return problems


def calls_without_result(items: Sequence[ViewItem]) -> list[Problem]:
    """No call stays open once something other than a result follows; the last turn may be open."""
    waiting: dict[str, int] = {}
    problems = []
    for item in items:
        for call in _shown_results(item):
            waiting.pop(call, None)
        only_results = not item.late and all(block.kind == "result" or block.is_blank for block in item.shape.blocks)
        if waiting and not (item.shape.is_blank or only_results):
            problems += [
                Problem(
                    f"seq {seq}", "call-without-result", f"Show the result of {call!r} before going on, or fold both."
                )
                for call, seq in waiting.items()
            ]
            waiting = {}
        if _speaks(item):
            waiting = dict.fromkeys(item.shape.calls, item.seq)
    return problems


def results_twice(items: Sequence[ViewItem]) -> list[Problem]:
    """No call is answered twice as long as its turn lasts."""
    answered: set[str] = set()
    problems = []
    for item in items:
        if _speaks(item):
            answered = set()
        for call in _shown_results(item):
            if call in answered:
                advice = f"Keep one result for {call!r}; show the other as text."
                problems.append(Problem(f"seq {item.seq}", "result-twice", advice))
            answered.add(call)
    return problems


def reasoning_without_successor(items: Sequence[ViewItem]) -> list[Problem]:
    """Reasoning alone is followed by what it led to, unless it is the last thing said."""
    shown = [item for item in items if item.kind == "stand_in" or not item.shape.is_blank]
    return [
        Problem(f"seq {item.seq}", "reasoning-without-successor", "Show the next message too, or fold both.")
        for item, successor in pairwise(shown)
        if leads_on(item) and successor.kind == "stand_in"
    ]


RULES = (results_without_call, calls_without_result, results_twice, reasoning_without_successor)


def _speaks(item: ViewItem) -> bool:
    """Whether the assistant says something here: a blank message neither calls nor ends a turn."""
    return item.shape.role == "assistant" and not item.shape.is_blank


def _shown_results(item: ViewItem) -> Iterator[str]:
    """Ids of the results that are shown as results (a late one is shown as text)."""
    for index, block in enumerate(item.shape.blocks):
        if block.kind == "result" and index not in item.late:
            yield block.call
