"""Getting hidden words back: what a stand-in's handle names, and what a sub-agent hands to its parent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contextfold.domain import Appended, Logged, Message, View, hidden_by
from contextfold.errors import NotFound
from contextfold.thread import Thread


def behind(thread: Thread, fold: int) -> Sequence[Message]:
    """Everything a fold hides, as it was said, also what it took over from folds inside it."""
    branch = thread.branch
    if fold not in branch.folds:
        live = [each.id for each in thread.folds]
        raise NotFound(f"There is no fold {fold} on this branch. The live ones are {live}.")
    seqs = {item.seq for item in hidden_by(branch, fold)} | {seq for seq, _ in branch.folds[fold].event.cover.blocks}
    return tuple(thread.message(seq) for seq in sorted(seqs) if is_message(branch.events[seq - 1]))


def said(thread: Thread) -> int:
    """Raw tokens of everything on this branch, as if nothing were folded."""
    return sum(thread.lens.weigh(item) for item in thread.branch.items.items)


def is_message(logged: Logged) -> bool:
    return isinstance(logged.event, Appended)


def last_words(view: View) -> str | None:
    """The text of the newest assistant message that says something."""
    for message in reversed(view.messages):
        if message.role == "assistant" and message.text.strip():
            return message.text
    return None


def shortened(text: str, most: int, count: Callable[[str], int], thread: str) -> str:
    """The text, or its two ends with the gap marked, in at most this many tokens."""
    if count(text) <= most:
        return text
    marker = f"\n[… cut; the whole answer is in thread {thread}]\n"
    low, high = 0, len(text) // 2
    while low < high:
        half = (low + high + 1) // 2
        if count(text[:half] + marker + text[-half:]) <= most:
            low = half
        else:
            high = half - 1
    return text[:low] + marker + (text[-low:] if low else "")
