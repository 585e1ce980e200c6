"""Whether an append was made before: idempotency keys, judged by bytes.

A caller whose acknowledgement was lost appends again with the same key. The answer is then what was written the first
time. Anything that would drop a message silently is refused instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from contextfold.domain import Appended, Attached, Draft, Event, Folded, Logged, Noted
from contextfold.errors import KeyConflict

from .redaction import forgotten_key


class Written(Struct, frozen=True):
    """An event of an earlier append, and its body; None when it was forgotten."""

    logged: Logged
    body: bytes | None


FindKey: TypeAlias = Callable[[str], int | None]
AppendOf: TypeAlias = Callable[[int], Sequence[Written]]


def earlier_append(drafts: Sequence[Draft], find: FindKey, append_of: AppendOf) -> tuple[Logged, ...] | None:
    """The events of the same append made earlier, None if there was none; raises `KeyConflict` for another one.

    `find` gives the seq a key was used at, `append_of` all events that were written together with a seq.
    """
    keys = [draft.key for draft in drafts if draft.key]
    if not keys:
        return None
    _refuse_twins(keys)
    known = (found for key in keys for found in (find(key), find(forgotten_key(key))))
    used = [seq for seq in known if seq is not None]
    if not used:
        return None
    then = append_of(used[0])
    _refuse_others(drafts, then)
    return tuple(written.logged for written in then)


def _refuse_twins(keys: Sequence[str]) -> None:
    for key in keys:
        if keys.count(key) > 1:
            raise KeyConflict(f"The key {key!r} stands twice in one append. Give each message its own key.")


def _refuse_others(drafts: Sequence[Draft], then: Sequence[Written]) -> None:
    by_key = {written.logged.key: written for written in then if written.logged.key}
    for draft in drafts:
        if not draft.key:
            # Whatever accompanied a message (a fold at the door, a measurement) may come out differently in a retry,
            # but a message must be found again, or answering would lose it.
            if isinstance(draft.event, Appended) and not any(_is_same(draft, written) for written in then):
                raise KeyConflict(
                    "A message without a key came with a key that was used before, in an append without that message. "
                    "Append the message alone, or give it its own key.",
                    actual=then[0].logged.seq,
                )
            continue
        written = by_key.get(draft.key) or by_key.get(forgotten_key(draft.key))
        if written is None or not _is_same(draft, written):
            raise KeyConflict(
                f"The key {draft.key!r} was used before for something else (near seq {then[0].logged.seq}). "
                f"Use a new key for a new message.",
                actual=then[0].logged.seq,
            )


def _is_same(draft: Draft, written: Written) -> bool:
    """Same fact, same bytes. Measures may have changed with a newer version; forgotten bytes are taken at their key."""
    if written.body is not None and draft.body != written.body:
        return False
    return _is_same_fact(draft.event, written.logged.event)


def _is_same_fact(now: Event, then: Event) -> bool:
    match now:
        case Appended() | Noted() | Attached():
            return type(now) is type(then)
        case Folded():
            return isinstance(then, Folded) and now.kind == then.kind and now.cover == then.cover
        case _:
            return now == then
