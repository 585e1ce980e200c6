"""Whether an answer may stand for what it would replace, and the reasons why a fold does not happen.

A summarizer can fail in more ways than raising: it answers nothing, is cut off, refuses, calls a tool in words, says
its instructions back, answers in another language, or makes things larger. Each has its reason. What a summary says is
not judged, and nothing is repaired: a refused answer leaves the thread as it was.
"""

from __future__ import annotations

import enum
import re

from contextfold.deferred import expression

from .lines import Count
from .prompt import instructions
from .request import SummaryRequest, language_of


class Refusal(enum.StrEnum):
    """The reason an attempt was refused. The thread is as it was."""

    NOTHING_TO_FOLD = "nothing-to-fold"
    JUST_FOLDED = "just-folded"
    EMPTY = "empty"  # no answer, too little of one, or the instructions said back
    GREW = "grew"  # larger than allowed, or not smaller than what it replaces
    CUT_OFF = "cut-off"
    REFUSAL = "refusal"
    TOOL_CALL = "tool-call"
    WRONG_LANGUAGE = "wrong-language"
    TIMED_OUT = "timed-out"
    CANCELLED = "cancelled"
    FAILED = "failed"
    AUTH = "auth"  # the provider does not know the key
    OVERFLOW = "overflow"  # larger than the summarizer's own window
    TRANSIENT = "transient"  # overloaded, limited or out of reach; another time it may work
    UNPROFITABLE = "unprofitable"
    STALE = "stale"
    UNSUPPORTED = "unsupported"  # this model has no such thing


LEAST_CHARACTERS = 40
CEILING = 1.5  # times the budget: a little over is a success, much over is not a summary

_CUT_REASONS = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "incomplete", "error", "pause_turn"}
)
_CUT_REASONS |= frozenset({"model_context_window_exceeded", "context_length_exceeded"})
_REFUSAL_REASONS = frozenset(
    {
        "refusal",
        "content_filter",
        "safety",
        "recitation",
        "prohibited_content",
        "blocklist",
        "spii",
        "guardrail_intervened",
    }
)
_TOOL_REASONS = frozenset(
    {"tool_use", "tool_calls", "function_call", "malformed_function_call", "unexpected_tool_call"}
)
_UNKNOWN_REASONS = frozenset({"", "unknown", "none", "null", "other", "finish_reason_unspecified"})

_REFUSES = expression(
    r"\A\W*(?:(?:i'?m|i am|we'?re)\s+(?:very\s+|truly\s+)?(?:sorry|afraid|unable|not able)\b"
    r"|(?:sorry|apologies|unfortunately)\b[^.\n]{0,80}\b(?:can(?:no|')t|cannot|unable|won'?t|not able)\b"
    r"|i\s+(?:can(?:no|')t|cannot|can not|won'?t|will not|must decline|have to decline|decline)\b"
    r"|as an ai\b[^.\n]{0,120}\b(?:can(?:no|')t|cannot|unable|not able)\b"
    r"|(?:大変)?(?:申し訳(?:ありません|ございません|ないのですが)|すみません|恐れ入りますが|ごめんなさい)"
    r"|(?:その|この|ご)?(?:依頼|要求|リクエスト|要望)に(?:は)?(?:お応え|お答え|対応)(?:は)?(?:でき|いたしかね|しかね)"
    r"|お(?:手伝い|答え)(?:は|することは|することが)?でき(?:ません|かね))",
    re.IGNORECASE,
)
_TOOL_MARKUP = expression(
    r"</?(?:antml:)?(?:function_calls?|invoke|tool_calls?|tool_use|tool_code|function_results?)\b[^>\n]{0,200}+>"
    r"|<parameter\s+name=|<\|tool_call|<｜tool|\[TOOL_CALLS\]|<function=|to=functions\.\w"
    r"|\A\s*+(?:```(?:json)?\s*+)?\[?\s*+\{\s*+\"type\"\s*+:\s*+\"(?:tool_use|tool_call|function_call|function)\""
    r"|\A\s*+(?:```(?:json)?\s*+)?\[?\s*+\{\s*+\"(?:name|tool|function|tool_name|type)\"\s*+:\s*+\"[^\"\n]{1,80}+\"\s*+,\s*+"
    r"\"(?:arguments|args|parameters|input|tool_input|function)\"",
    re.IGNORECASE,
)
_CODE = expression(r"```.*?(?:```|\Z)|`[^`\n]*+`", re.DOTALL)
_PLACEHOLDER = expression(
    r"\[(?:detailed description|concept \d|file name \d|task \d[^\]]{0,200}+|\.\.\.)\]", re.IGNORECASE
)
_FINISHED = expression(r"[.!?。！？…:：;)\]}）」』】\"'”’`*_>|~\d-]\s*\Z|[\u3040-\u30ff\u4e00-\u9fff]\s*\Z")


def check(text: str, request: SummaryRequest, count: Count, *, finish: str = "stop", before: int) -> Refusal | None:
    """Why this answer cannot stand for `before` tokens of conversation, or None if it can."""
    reason = finish.strip().lower()
    said = text.strip()
    if reason in _REFUSAL_REASONS:
        return Refusal.REFUSAL
    if reason in _TOOL_REASONS:
        return Refusal.TOOL_CALL
    if reason in _CUT_REASONS:
        return Refusal.CUT_OFF
    if not said:
        return Refusal.EMPTY
    refusal = _wording(said, request)
    if refusal is not None:
        return refusal
    if reason in _UNKNOWN_REASONS and (said.count("```") % 2 or not _FINISHED.search(said)):
        return Refusal.CUT_OFF
    letters = sum(letter.isalpha() for letter in _CODE.sub(" ", said))  # a list of paths or numbers is in no language
    if letters >= LEAST_CHARACTERS and language_of([said]) != request.language:
        return Refusal.WRONG_LANGUAGE
    size = count(said)
    return Refusal.GREW if size >= before or size > request.budget * CEILING else None


def _wording(said: str, request: SummaryRequest) -> Refusal | None:
    if _TOOL_MARKUP.search(_CODE.sub(" ", said)) or _TOOL_MARKUP.match(said):
        return Refusal.TOOL_CALL
    if len(said) < 2_000 and _REFUSES.search(said):
        return Refusal.REFUSAL
    if len(said) < LEAST_CHARACTERS or _repeats_instructions(said, request):
        return Refusal.EMPTY
    return None


def _repeats_instructions(said: str, request: SummaryRequest) -> bool:
    """The task or its empty form said back, in place of an answer."""
    words = instructions(request.language)
    plain = " ".join(said.split())
    phrases = [
        " ".join(part.split())[:60]
        for part in (*words.task.split("{")[0].split("\n\n"), words.previous)
        if part.strip()
    ]
    phrases += [section.split(":", 1)[-1].split("：", 1)[-1].strip()[:40] for section in words.sections]
    return sum(phrase in plain for phrase in phrases) >= 2 or len(_PLACEHOLDER.findall(said)) >= 3
