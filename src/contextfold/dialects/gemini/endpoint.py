"""Gemini's generateContent over HTTP: where requests go, what the API answers, how a streamed answer is put together.

The path names the model, and whether the answer streams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contextfold.deferred import expression
from contextfold.dialects.assembly import Event, GrowingTexts, Heard, error_text
from contextfold.dialects.endpoint import Endpoint, ProviderAddress
from contextfold.dialects.neutral import is_blank
from contextfold.dialects.repairs import copied
from contextfold.dialects.splices import GeminiSplice
from contextfold.domain import decode, encode


def _mended(contents: Sequence[bytes]) -> Sequence[bytes]:
    """Each function response once: Gemini CLI sends them twice when it resumes, and the API refuses that."""
    kept: list[bytes] = []
    calls: list[str] = []  # of the newest turn that called, not answered yet
    given: list[str] = []  # answered by now
    for raw in contents:
        content = decode(raw)
        parts = content.get("parts") if isinstance(content, Mapping) else None
        if not isinstance(parts, list) or not isinstance(content, Mapping):
            kept.append(raw)
            continue
        if content.get("role") == "model":
            calls, given = [name for part in parts if (name := _paired_by(part, "functionCall"))], []
            kept.append(raw)
            continue
        left = []
        for part in parts:
            name = _paired_by(part, "functionResponse")
            if name in calls:
                calls.remove(name)
                given.append(name)
            elif name and name in given:
                continue
            left.append(part)
        if left:
            kept.append(raw if len(left) == len(parts) else encode({**content, "parts": left}))
    return kept


def _paired_by(part: Any, kind: str) -> str:
    """What a call and its response have in common: the id, or the name where there is none."""
    found = part.get(kind) if isinstance(part, Mapping) else None
    return str(found.get("id") or found.get("name") or "") if isinstance(found, Mapping) else ""


_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def _words(system: Any) -> Any:
    """A system prompt is a content here: its parts are its blocks."""
    parts = system.get("parts") if isinstance(system, Mapping) else None
    texts = (part.get("text") for part in parts or () if isinstance(part, Mapping))
    return [{"type": "text", "text": text} for text in texts if isinstance(text, str)] or None


def _told(system: Any, texts: Sequence[str]) -> Any:
    own = system if isinstance(system, Mapping) else {}
    return {**own, "parts": [*(own.get("parts") or ()), *({"text": text} for text in texts)]}


def _refusal(status: int, kind: str, words: str) -> object:
    told = f"The input token count exceeds the maximum. {words}" if kind == "too_long" else words
    return {"error": {"code": status, "message": told, "status": _STATUS.get(status, "FAILED_PRECONDITION")}}


ENDPOINT = Endpoint(
    provider=ProviderAddress(
        "gemini", "https://generativelanguage.googleapis.com", expression(rb"/v1(?:beta|alpha)/.*"), b"x-goog-api-key"
    ),
    path=expression(
        rb"/v1(?:beta|alpha)?/(?:[\w-]+/)*models/(?P<model>[^/:]+):(?P<verb>generateContent|streamGenerateContent)"
    ),
    messages="contents",
    system="systemInstruction",
    tools="tools",
    output=("generationConfig.maxOutputTokens",),
    ids=False,
    refusal=_refusal,
    schema=("generationConfig.responseSchema", "generationConfig.responseJsonSchema"),
    words=_words,
    said=lambda text: {"role": "user", "parts": [{"text": text}]},
    told=_told,
    mended=_mended,
    broken=b'"functionResponse"',
    splice=GeminiSplice,
)


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
            index = candidate.get("index") or 0
            held = self._candidates.setdefault(index, {"content": {"role": "model", "parts": []}})
            held |= {
                name: copied(value) for name, value in candidate.items() if name != "content" and value is not None
            }
            parts = held["content"]["parts"]
            for part in copied((candidate.get("content") or {}).get("parts") or []):
                last = parts[-1] if parts else {}
                if _is_words(last) and _is_words(part) and last.get("thought") == part.get("thought"):
                    self._texts.add(last, "text", part["text"])
                elif part:
                    parts.append(part)

    def heard(self) -> Heard:
        self._texts.join()
        if not self._candidates:
            feedback = self._head.get("promptFeedback")
            reason = feedback.get("blockReason") if isinstance(feedback, Mapping) else None
            return Heard(error=self._error or (f"blocked: {reason}" if reason else ""))
        candidates = [self._candidates[at] for at in sorted(self._candidates)]
        is_complete = not self._error and all(candidate.get("finishReason") for candidate in candidates)
        left_out: list[str] = []
        if not is_complete:
            for candidate in candidates:
                _finished(candidate["content"], left_out)
            parts = candidates[0]["content"]["parts"]
            if not any(not part.get("thought") and not is_blank(part.get("text", "…")) for part in parts):
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
