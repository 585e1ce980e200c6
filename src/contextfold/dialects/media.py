"""Pictures and files between wire formats: data URLs, and the words that stand for what cannot be carried.

Nothing is fetched, decoded or re-encoded.
"""

from __future__ import annotations

import re

from contextfold.domain import Block, Document, Image, Text


def data_url(media_type: str, data: str) -> str:
    return f"data:{media_type or 'application/octet-stream'};base64,{data}"


def split_data_url(url: str) -> tuple[str, str] | None:
    """Media type and base64 of a data URL; None for any other address."""
    if not url.startswith("data:"):
        return None
    head, comma, data = url[5:].partition(",")
    if not comma or not head.endswith(";base64"):
        return None
    return head[: -len(";base64")].partition(";")[0], data


# Where a provider keeps what was given to it: nobody else is let in.
_PRIVATE = ("generativelanguage.googleapis.com", "storage.googleapis.com/generativeai")
_FILMS = re.compile(r"https?://(?:www\.|m\.)?(?:youtube\.com|youtu\.be)/", re.IGNORECASE)


def is_address(url: str) -> bool:
    """Whether anybody can follow it; a provider's file id, or an address in its own store, means nothing to another."""
    scheme, found, rest = url.partition("://")
    return bool(found) and scheme.lower() != "gs" and not rest.lower().startswith(_PRIVATE)


def is_played(block: Image | Document) -> bool:
    """Whether it is sound or film, which only some wires take."""
    return block.media_type.startswith(("audio/", "video/")) or _FILMS.match(block.url) is not None


def image_url(block: Image) -> str:
    """The picture as an address; empty where it cannot be carried."""
    if block.data:
        return data_url(block.media_type, block.data)
    return block.url if is_address(block.url) else ""


def placeholder(block: Image | Document) -> str:
    """What is said where a picture or a file cannot be carried."""
    if isinstance(block, Image):
        return f"[Image not carried over: {block.url or block.media_type or 'unknown'}]"
    return f"[Document not carried over: {block.title or block.url or block.media_type or 'unknown'}]"


def document_text(block: Document) -> str:
    """A plain-text document as words, under its title."""
    return f"{block.title}\n{block.text}" if block.title else block.text


def word(block: Block) -> str:
    """A block as words, where the wire takes nothing else."""
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Document) and block.text:
        return document_text(block)
    return placeholder(block) if isinstance(block, Image | Document) else ""
