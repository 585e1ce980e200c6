"""A Gemini answer out of its chunks, each an answer in itself: words are joined, every other part stays as it came.

A part that carries a thought signature is never joined with another: the signature belongs to exactly that part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold.dialects.assembly import Event, GrowingTexts, Heard, error_text
from contextfold.dialects.neutral import is_blank
from contextfold.dialects.repairs import copied

_PLAIN = {"text", "thought"}


class GeminiStream:
    """One answer in the making."""

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._candidates: dict[int, dict[str, Any]] = {}
        self._texts = GrowingTexts()
        self._error = ""

    def take(self, event: Event) -> None:
        if event.get("error"):
            self._error = error_text(event["error"])
            return
        for name, value in event.items():
            if name != "candidates" and value is not None:
                self._head[name] = copied(value)
        for candidate in event.get("candidates") or ():
            self._candidate(candidate)

    def _candidate(self, piece: Event) -> None:
        index = piece.get("index") or 0
        held = self._candidates.setdefault(index, {"content": {"role": "model", "parts": []}})
        for name, value in piece.items():
            if name != "content" and value is not None:
                held[name] = copied(value)
        content = piece.get("content") or {}
        for part in content.get("parts") or ():
            self._join(held["content"]["parts"], copied(part))

    def _join(self, parts: list[dict[str, Any]], part: dict[str, Any]) -> None:
        last = parts[-1] if parts else None
        if last is not None and _is_words(last) and _is_words(part) and last.get("thought") == part.get("thought"):
            self._texts.add(last, "text", part["text"])
        elif part:
            parts.append(part)

    def heard(self) -> Heard:
        self._texts.join()
        if not self._candidates:
            return Heard(error=self._error or _blocked(self._head))
        candidates = [self._candidates[at] for at in sorted(self._candidates)]
        is_complete = not self._error and all(candidate.get("finishReason") for candidate in candidates)
        left_out: list[str] = []
        if not is_complete:
            for candidate in candidates:
                _finished(candidate["content"], left_out)
            if not _says(candidates[0]["content"]["parts"]):
                return Heard(None, False, tuple(left_out), self._error)
        return Heard({"candidates": candidates, **self._head}, is_complete, tuple(left_out), self._error)


def _is_words(part: Event) -> bool:
    return part.keys() <= _PLAIN and isinstance(part.get("text"), str)


def _finished(content: dict[str, Any], left_out: list[str]) -> None:
    """Without calls whose arguments were still coming."""
    kept = []
    for part in content["parts"]:
        call = part.get("functionCall")
        if isinstance(call, Mapping) and call.get("willContinue"):
            left_out.append(f"an unfinished call of {call.get('name') or 'a tool'}")
        else:
            kept.append(part)
    content["parts"] = kept


def _says(parts: list[dict[str, Any]]) -> bool:
    return any(not part.get("thought") and not is_blank(part.get("text", "…")) for part in parts)


def _blocked(head: Mapping[str, Any]) -> str:
    feedback = head.get("promptFeedback")
    reason = feedback.get("blockReason") if isinstance(feedback, Mapping) else None
    return f"blocked: {reason}" if reason else ""
