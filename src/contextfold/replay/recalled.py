"""Whether what is out of view can be had back the way its stand-ins say.

Takes the stand-ins at their word: reads the handles they show to the model, asks for each, and compares bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from contextfold.errors import NotFound
from contextfold.session import Session

from .notes import words_of
from .values import Share

_HANDLE = re.compile(r"recall\((fold|seq)=(\d+)\)")


def recallable(session: Session, seqs: Sequence[int]) -> Share:
    """Messages that are not in view as they were said, and how many of them the shown handles bring back."""
    whole, shown = set(), []
    reading = session.thread.lens
    for item in session.view.items:
        edits = [edit for edit in reading.resolve(item).edits if edit.text]
        if item.kind == "message" and not edits:
            whole.add(item.seq)
        elif item.kind == "message":
            shown += [edit.text for edit in edits]
        elif item.kind == "stand_in":
            shown += [words_of(block) for block in reading.read(item).blocks]
    hidden = [seq for seq in seqs if seq not in whole]
    if not hidden:
        return Share()
    back = _recalled(session, {handle for text in shown for handle in _HANDLE.findall(text)})
    return Share(sum(session.thread.message(seq).raw in back for seq in hidden), len(hidden))


def _recalled(session: Session, handles: set[tuple[str, str]]) -> set[bytes]:
    back: set[bytes] = set()
    for what, number in handles:
        try:
            found = session.recall(fold=int(number)) if what == "fold" else session.recall(seq=int(number))
        except NotFound:
            continue  # words of the conversation that look like a handle
        back.update(message.raw for message in found)
    return back
