"""Two rows to compare with: the full history, summarized when it must be, and what the product did.

The product's recorded compactions are replayed as folds where they stood; where it made none, it sent everything.

The summary is the recorded one. What a product puts back afterwards without a word in the log (files read lately, a
list of tasks) is not here, and neither is what it would have cost to write a summary that the log does not show.
"""

from __future__ import annotations

from contextlib import suppress

from contextfold.dialects import understand
from contextfold.domain import decode
from contextfold.errors import BadMessage, CannotCover
from contextfold.folding import Condense, Policy, TokenLimit
from contextfold.folding.recipes import LAST_RESORT
from contextfold.transcripts import DIALECT, Compaction

from .notes import words_of
from .recorded_session import RecordedSession
from .values import FULL, RECORDED, Folding, Row, Settings
from .walk import Step, Walk, walk

CLEARED = "[The product cleared this result.]"


def full(sitting: RecordedSession, settings: Settings, after: Step | None = None) -> Row:
    """The whole history in every request, until it no longer fits: what everything else is measured against.

    Then a model summarizes all but the live request, and is paid for it.
    """
    policy = Policy(
        FULL,
        triggers=(TokenLimit(goal=0.5),),
        stages=(Condense(tail=0, keep_first=False, keep_instructions=0),),
        last_resort=LAST_RESORT,
    )
    return walk(sitting, policy, settings, kind="full", after=after)


def recorded(sitting: RecordedSession, settings: Settings, after: Step | None = None) -> Row:
    """The product's own compactions, whatever the window."""
    idle = Policy(RECORDED, triggers=(), stages=(), automatic=False)
    return walk(sitting, idle, settings, kind="recorded", before=_compact, after=after)


def _compact(state: Walk, place: int) -> None:
    for compaction in state.sitting.compactions:
        if compaction.after_index != place or not place:
            continue
        before = state.view.tokens() + state.fixed
        is_clear = compaction.kind == "clear"
        hidden = _clear(state, compaction) if is_clear else _replace(state, compaction)
        if not hidden:
            continue
        after = state.view.tokens() + state.fixed
        kinds: dict[str, int] = {compaction.kind: 1}
        if compaction.summary:
            state.tally.summary(before, 0, state.desk.count_text(compaction.summary))
        trigger = compaction.trigger if compaction.trigger in ("auto", "manual") else "product"
        reason = f"the product's own compaction of {before:,} tokens"
        messages, blocks = (0, hidden) if is_clear else (hidden, 0)
        number = len(state.context) + 1
        state.note(Folding(place, number, trigger, reason, kinds, messages, blocks, before, after))


def _replace(state: Walk, compaction: Compaction) -> int:
    """Hide what came before, up to what the product kept; how many items were hidden."""
    view = state.view
    stop = view.length
    if compaction.kept_from is not None and compaction.kept_from < len(state.seqs):
        kept = state.seqs[compaction.kept_from]
        stop = next((number for number, item in enumerate(view.items) if item.seq >= kept), view.length)
    # Where the last call was still open, the product kept it; so does the fold.
    return _hide(state, view.cut_at_or_before(stop), compaction) or _hide(
        state, view.cut_at_or_before(max(0, stop - 1)), compaction
    )


def _hide(state: Walk, stop: int, compaction: Compaction) -> int:
    covered = list(dict.fromkeys(item.seq for item in state.view.items[:stop] if item.kind != "completion"))
    if not covered:
        return 0
    try:
        state.session.thread.fold(covered, _words(compaction) or CLEARED, kind="summary")
    except CannotCover:
        return 0
    return len(covered)


def _clear(state: Walk, compaction: Compaction) -> int:
    """Take out the results the product took out."""
    cleared = frozenset(compaction.cleared)
    parts = [
        (item.seq, number)
        for item in state.view.items
        if item.kind == "message"
        for number, block in enumerate(item.shape.blocks)
        if block.kind == "result" and block.call in cleared and all(part.block != number for part in item.folded)
    ]
    if not parts:
        return 0
    try:
        state.session.thread.fold(parts, CLEARED, kind="clear")
    except CannotCover:
        return 0
    return len(parts)


def _words(compaction: Compaction) -> str:
    """What the product showed in place of the earlier messages."""
    shown = []
    for raw in compaction.shown:
        with suppress(BadMessage):
            blocks = understand(decode(raw), DIALECT).message.blocks
            shown.append("\n".join(words for block in blocks if (words := words_of(block))))
    return "\n\n".join(filter(None, shown)) or compaction.summary
