"""A message as plain text for whoever summarizes it: every kind of block by its own rule.

What a tool answered is part of it, whole; media become typed placeholders, because a summarizer may see none and pays
for all; reasoning is left out, because it was never said.
"""

from __future__ import annotations

from contextfold.domain import Block, Document, Image, Message, Opaque, Reasoning, Text, ToolCall, ToolResult

from .language import Language
from .texts import wording


def spoken(message: Message, language: Language) -> str:
    """The message's blocks, one after the other."""
    return "\n".join(part for block in message.blocks if (part := said(block, language)))


def said(block: Block, language: Language) -> str:
    """One block in words; empty for what is not shown to a summarizer."""
    match block:
        case Text():
            return block.text
        case ToolCall():
            return f"[tool call {block.name}] {block.arguments}"
        case ToolResult():
            inner = "\n".join(part for part in (said(nested, language) for nested in block.blocks) if part)
            return f"[tool result{', error' if block.is_error else ''}] {inner}".rstrip()
        case Image() | Document() | Opaque():
            return placeholder(block, language)
        case Reasoning():
            return ""


def placeholder(block: Image | Document | Opaque, language: Language) -> str:
    """What stands for a picture, a file or a provider's item; a document that is text is read as text."""
    marks = wording(language).marks
    match block:
        case Image():
            return _named(marks["image"], block.media_type, block.url if not block.data else "")
        case Document():
            label = _named(marks["document"], block.title, block.media_type, block.url if not block.data else "")
            return f"{label}\n{block.text}" if block.text else label
        case Opaque():
            return _named(marks["item"], block.kind)


def _named(kind: str, *facts: str) -> str:
    short = [fact if len(fact) <= 120 else fact[:119] + "…" for fact in facts if fact]
    return f"[{': '.join((kind, ', '.join(short)))}]" if short else f"[{kind}]"
