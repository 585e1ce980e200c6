"""When a session has a summary written in the background: wanted by `prepare`, begun by the next `append`.

Choosing what to summarize takes a moment, and `prepare` has none to give: whoever appends is in less of a hurry.
"""

from __future__ import annotations

from contextfold.folding import Decision, Made, Signals, Steps, settle_ahead, spent_at, start_ahead

from .desk import Desk


def want(desk: Desk, decision: Decision) -> None:
    """Have a summary begun with the next message, unless one is being written."""
    if desk.ahead is None:
        desk.wanted = decision


def begin(desk: Desk) -> Steps[None]:
    """Begin what is wanted."""
    decision, desk.wanted = desk.wanted, None
    if decision is None:
        return
    desk.ahead = yield from start_ahead(desk, decision, desk.policy.stages, desk.view().head)
    if desk.ahead is None:  # nothing to summarize yet: look again when there is more
        desk.signals = Signals(spent=spent_at(decision, 0))


def settle(desk: Desk) -> Steps[Made]:
    """What was written in the background becomes a fold, or an attempt that says why not."""
    ahead, desk.ahead = desk.ahead, None
    if ahead is None:
        return Made()
    return (yield from settle_ahead(desk, ahead, desk.is_on_branch(ahead.head)))
