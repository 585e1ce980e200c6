"""Roo Code's two lists by the rules of seeds 000 and 001, written down plainly: the reference for what is exported.

Shares no code with contextfold. Where the notes on the seeds say that a listing breaks, this does what they recommend:
only what is visible is tagged (R2), every hiding writes its event (R39), entries have times that differ (R23).
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal

Entry = dict[str, Any]
EVENTS = {
    "condense_context": ("contextCondense", "condenseId"),
    "sliding_window_truncation": ("contextTruncation", "truncationId"),
}


@dataclass
class RooModel:
    """A task: what the model is told, and what the panel shows."""

    api: list[Entry] = field(default_factory=list)
    ui: list[Entry] = field(default_factory=list)
    now: int = 1_000

    def tick(self) -> int:
        self.now += 1_000
        return self.now

    def say(self, role: str, text: str) -> int:
        ts = self.tick()
        say = "text" if role == "assistant" or not self.ui else "user_feedback"
        self.api.append({"role": role, "content": text, "ts": ts})
        self.ui.append({"say": say, "text": text, "ts": ts})
        return ts

    def effective(self) -> list[Entry]:
        """What the model sees: everything whose parents are gone or never were."""
        living = existing_ids(self.api)
        return [each for each in self.api if not {each.get("condenseParent"), each.get("truncationParent")} & living]

    def hide(self, kind: Literal["summary", "window"], first: int, last: int, id: str, text: str) -> None:
        """Tag a run of visible entries, and put what stands for them behind it; tell the panel."""
        hidden = self.effective()[first : last + 1]
        condenses = kind == "summary"
        for each in hidden:
            each["condenseParent" if condenses else "truncationParent"] = id
        place = self.api.index(hidden[-1]) + 1
        stand_in: Entry = {
            "role": "assistant" if condenses else "user",
            "content": text,
            "ts": self.api[place]["ts"] - 1,
        }
        stand_in |= (
            {"isSummary": True, "condenseId": id} if condenses else {"isTruncationMarker": True, "truncationId": id}
        )
        self.api.insert(place, stand_in)
        say = "condense_context" if condenses else "sliding_window_truncation"
        about, key = EVENTS[say]
        self.ui.append({"say": say, about: {key: id}, "ts": self.tick()})

    def rewind_to(self, ts: int) -> None:
        """`rewindToTimestamp`: the panel is cut before that entry, and the API list follows."""
        index = next(place for place, each in enumerate(self.ui) if each["ts"] == ts)
        removed = {
            each[about][key] for each in self.ui[index:] for say, (about, key) in EVENTS.items() if each["say"] == say
        }
        self.ui = self.ui[:index]
        api = [each for each in self.api if each["ts"] < ts]
        self.api = cleanup_after_truncation([each for each in api if own_id(each) not in removed])


def own_id(entry: Entry) -> str | None:
    return entry.get("condenseId") or entry.get("truncationId")


def existing_ids(api: list[Entry]) -> set[str | None]:
    return {own_id(each) for each in api if each.get("isSummary") or each.get("isTruncationMarker")}


def cleanup_after_truncation(api: list[Entry]) -> list[Entry]:
    """`cleanupAfterTruncation`: tags whose summary or marker is gone are taken off."""
    existing = existing_ids(api)
    cleaned = deepcopy(api)
    for each in cleaned:
        for tag in ("condenseParent", "truncationParent"):
            if tag in each and each[tag] not in existing:
                del each[tag]
    return cleaned
