"""Whether a person spoke in the content of a recorded message; `contextfold.domain` says which words are a person's."""

from __future__ import annotations

from contextfold.domain import is_typed


def has_typed(content: object) -> bool:
    """Whether some text in it was typed by a person, and not only answered by tools."""
    if isinstance(content, str):
        return is_typed(content)
    if not isinstance(content, list):
        return False
    texts = [block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"]
    return any(isinstance(words, str) and is_typed(words) for words in texts)
