"""What people and the assistant said, as the benchmark of retention looks for it. Not a benchmark.

Two things that names do not show: words of the user that are no message of their own (in a tool's rejection, in the
arguments of a command, in answers to questions), and rare plain words of prose that the assistant says again later.
Written without the library's own rules, which it is to judge.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from benchmarks.harness import part

_HIDDEN = (
    re.compile(r"the user said:\n(.+?)(?:\n\nNote: The user's next message|\Z)", re.DOTALL),
    re.compile(r"<command-args>(.+?)</command-args>", re.DOTALL),
    re.compile(r"\"=\"(.+?)\"(?:, \"|\. You can now continue)", re.DOTALL),
    re.compile(r"<(?:answer|feedback)>(.+?)</(?:answer|feedback)>", re.DOTALL),
)
_OPENS = re.compile(
    r"\s*(?:The user (?:doesn't want|denied|rejected|approved)|User has answered|<command-|<answer>|<feedback>)"
)
_NOT_SAID = "The user wants to clarify these questions."
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"(?<![\w./-])[a-z]{5,}(?![\w/-])")
_RARE = 3  # messages that have a word before the boundary
_TAKES_BACK = re.compile(
    r"\b(?:no longer|instead|never mind|forget (?:that|it)|actually|revert|undo|scrap|drop|don'?t|do not|stop|not)\b",
    re.IGNORECASE,
)
_CONTENT = re.compile(r"[a-z]{4,}")


def hidden_orders(messages: list[dict[str, Any]]) -> list[tuple[int, str, bool]]:
    """(id of the block, sentence, whether it is an order) of what people said outside messages of their own."""
    return [order for message in messages for order in _hidden_in(message)]


def live_orders(messages: list[dict[str, Any]]) -> list[tuple[int, str, bool]]:
    """Those that nobody took back: no later sentence of the user's denies something and speaks of half of the words."""
    live: list[tuple[int, str, bool]] = []
    for message in messages:
        hidden = _hidden_in(message)
        typed = [one for block in message["content"] if block.get("_human") for one in _sentences(block["text"])]
        denied = [_content(one) for one in (*typed, *(order[1] for order in hidden)) if _TAKES_BACK.search(one)]
        live = [one for one in live if not any(2 * len(_content(one[1]) & words) > len(words) for words in denied)]
        live += hidden
    return live


def _hidden_in(message: dict[str, Any]) -> list[tuple[int, str, bool]]:
    out = []
    for block in message["content"] if message["role"] == "user" else ():
        text = block.get("text") or block.get("content") or ""
        if not block.get("_human") and _OPENS.match(text):
            said = [found for pattern in _HIDDEN for found in pattern.findall(text)]
            out += [(id(block), one, True) for words in said for one in _sentences(words)]
    return out


def _content(sentence: str) -> frozenset[str]:
    return frozenset(_CONTENT.findall(sentence.lower()))


def _sentences(words: str) -> list[str]:
    if words.startswith(_NOT_SAID):
        return []
    found = (sentence.strip(" \t-*>#") for sentence in _SENTENCE.split(words))
    return [sentence for sentence in found if 3 <= len(sentence.split()) <= 60]


def later_words(run: Any, at: int, end: int, common: frozenset[str]) -> frozenset[str]:
    """Rare words seen before that the assistant says again before anybody else does."""
    seen: dict[str, int] = {}
    for message in run.messages[:at]:
        for word in set(_WORD.findall(message["_vis"])):
            seen[word] = seen.get(word, 0) + 1
    shown, found = set[str](), set[str]()
    for message in run.messages[at:end]:
        words = {
            word for block in message["content"] if block["type"] == "text" for word in _WORD.findall(block["text"])
        }
        if message["role"] == "assistant":
            found |= {word for word in words if 0 < seen.get(word, 0) <= _RARE} - shown
        else:
            shown |= set(_WORD.findall(message["_vis"]))
    return frozenset(found) - common


def kept_words(words: frozenset[str], text: str) -> tuple[int, int]:
    return len(words), len(words & set(_WORD.findall(text.lower())))


@cache
def common_words() -> frozenset[str]:
    """Words of more than half of the recorded runs: everybody's, and nothing to be remembered."""
    corpus, runs = part("corpus"), 0
    where: dict[str, int] = {}
    for run in corpus.load(["dev"]):
        runs += 1
        blocks = (block for message in run.messages for block in message["content"])
        for word in {word for block in blocks for word in _WORD.findall(corpus.literal_text(block))}:
            where[word] = where.get(word, 0) + 1
    return frozenset(word for word, many in where.items() if many > runs / 2)
