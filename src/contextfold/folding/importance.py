"""How much a message matters, from 0 to 1: how new it is, who speaks, and what it is (seed 003).

What it is comes from its outline: a request, an answer somebody gave, an error, a result, talk. Keywords in English and
Japanese add a little, whole words only, once. It decides nothing; `prune` spends its room by it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct, field

from contextfold.domain import Message, Text, ViewItem, is_person, nested, tool_key
from contextfold.errors import BadConfiguration

from .outputs import EXEMPT

ENGLISH = (
    "approval",
    "approved",
    "completed",
    "decided",
    "denied",
    "done",
    "duck_call",
    "error",
    "exception",
    "failed",
    "failure",
    "important",
    "rejected",
    "success",
    "warning",
)

JAPANESE = (
    "エラー",
    "例外",
    "失敗",
    "完了",
    "成功",
    "承認",
    "拒否",
    "却下",
    "警告",
    "決定",
    "重要",
)

KEYWORDS = ENGLISH + JAPANESE


Speaker: TypeAlias = Literal["user", "assistant", "system", "tool"]
Signal: TypeAlias = Literal["request", "decision", "result", "error", "attachment", "talk"]

ROLES: Mapping[Speaker, float] = {"user": 1.0, "assistant": 0.5, "system": 0.3, "tool": 0.5}
SIGNALS: Mapping[Signal, float] = {
    "request": 0.7,  # instructions and questions: high
    "decision": 0.9,  # what a person answered, a plan, a skill
    "result": 0.6,  # what a tool found: high
    "error": 0.8,  # what failed, and must not be tried again
    "attachment": 0.5,
    "talk": 0.1,
}
BRIEF = 20  # bytes; a person's "ok" is talk, not a request
_END = 500  # characters at each end of an output in which words are looked for

_DECISIONS = frozenset(map(tool_key, EXEMPT))


class Scoring(Struct, frozen=True):
    """Weights and values. The three weights are shares: they must add up to 1."""

    recency: float = 0.3
    role: float = 0.3
    content: float = 0.4
    roles: Mapping[Speaker, float] = field(default_factory=lambda: dict(ROLES))
    signals: Mapping[Signal, float] = field(default_factory=lambda: dict(SIGNALS))
    keywords: tuple[str, ...] = KEYWORDS
    keyword_bonus: float = 0.3
    reuse_bonus: float = 0.5  # for what holds much that will be needed again

    def __post_init__(self) -> None:
        weights = (self.recency, self.role, self.content)
        if min(weights) < 0 or abs(sum(weights) - 1) > 0.001:
            raise BadConfiguration(f"The weights {weights} are shares of a score. Make them 0 or more and add up to 1.")

    def score(
        self, item: ViewItem, message: Message, tools: Mapping[str, str], recency: float, reuse: float = 0
    ) -> float:
        """The weight of one message; `tools` names the tool of each call, `recency` is 1 for the newest.

        `reuse` is how much it holds of what will be needed again, from 0 to 1.
        """
        speaker = speaker_of(item)
        value = self.signals.get(signal_of(item, tools), 0.0)
        if self.keywords and _pattern(self.keywords).search(_words(message)):
            value += self.keyword_bonus
        value += self.reuse_bonus * reuse
        role = self.roles.get(speaker, 0.5)
        return recency * self.recency + role * self.role + min(value, 1.0) * self.content


def speaker_of(item: ViewItem) -> Speaker:
    """Who speaks: a tool's answer is not the user, though it stands on the user's side."""
    return "tool" if item.shape.results else item.shape.role


def signal_of(item: ViewItem, tools: Mapping[str, str]) -> Signal:
    """What a message is, by its outline alone."""
    if item.kind == "attachment":
        return "attachment"
    results = [block for block in item.shape.blocks if block.kind == "result"]
    if any(block.is_error for block in results):
        return "error"
    if any(tool_key(tools.get(block.call, block.name)) in _DECISIONS for block in results):
        return "decision"
    if results:
        return "result"
    is_request = is_person(item) and sum(block.size for block in item.shape.blocks) >= BRIEF
    return "request" if is_request else "talk"


def _words(message: Message) -> str:
    """What was said, and the two ends of what tools answered: that is where an outcome is told."""
    parts = [message.text]
    for result in message.results:
        text = "\n".join(block.text for block in nested(result) if isinstance(block, Text))
        parts.append(text if len(text) <= 2 * _END else f"{text[:_END]}\n{text[-_END:]}")
    return "\n".join(parts)


@lru_cache(maxsize=32)
def _pattern(keywords: tuple[str, ...]) -> re.Pattern[str]:
    """Words of letters are matched whole: `error` is not in `terror`. Japanese has no spaces to go by."""
    whole = "|".join(re.escape(word) for word in keywords if word.isascii())
    inside = [re.escape(word) for word in keywords if not word.isascii()]
    return re.compile("|".join([*([rf"\b(?:{whole})\b"] if whole else []), *inside]), re.IGNORECASE)
