"""Making a request that the Messages API takes out of one that it rejects.

Thinking is left out whole where the API would not take it back; everything else stays, where it can as what it is, and
else as text. Nothing is touched in a request that is sound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold.dialects.anthropic.rules import Allowed, check
from contextfold.dialects.repairs import Body, Repaired, RepairNotes, mended

from . import blocks, foreign, marks, pairs, speakers
from .speakers import read, written


def repair(body: Mapping[str, Any], allowed: Allowed | None = None) -> Repaired:
    """The body as the API takes it, with the list of what was done. Repairing twice does nothing more."""

    def mend(copy: Body, notes: RepairNotes) -> None:
        if not isinstance(copy.get("messages"), list):
            return
        said = read(copy["messages"], notes)
        said = speakers.known(foreign.at_home(said, notes), notes)
        said = blocks.at_home(said, notes)
        said = blocks.clean(said, notes)
        said = speakers.system_in_place(said, copy, notes)
        said = blocks.server_pairs(pairs.paired(said, notes), notes)
        said = speakers.begun_and_ended(said, copy, allowed, notes)
        copy["messages"] = written(said)
        marks.limited(copy, notes)
        marks.taken(copy, allowed, notes)

    return mended(body, (mend,), lambda each: check(each, allowed))


__all__ = ["repair"]
