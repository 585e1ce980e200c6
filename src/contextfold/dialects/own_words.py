"""What a client's own message holds beside its texts: names, pictures, documents, fields that we do not read.

Of its own messages a client leaves nothing out, so all of it is part of a prefix's number: a message that differs there
is another message. Marks for caches, ids that are renewed, and states hold no words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b

import msgspec

from contextfold.deferred import expression
from contextfold.domain import LONG, decode

from .loose_words import NO_WORDS, LooseWords, word_digest
from .wire import elements, fields

MARK = "cache_control"  # where a provider is to keep a prompt; no word
_DEEPEST = 8  # levels of blocks in blocks
_SHORT = 1 << 14  # bytes; a part of a long message that is shorter is read as a whole
# In a message of the client's own: what the number depends on, and what providers and clients renew without words.
_NUMBERED = frozenset(
    """
    role type id call_id tool_use_id tool_call_id signature thoughtSignature thought_signature
    """.split()  # noqa: SIM905  # one name a line would be longer
)
_ROLES = frozenset({"user", "assistant", "model", "system", "developer", "tool", "function"})
_STATES = frozenset({"completed", "in_progress", "incomplete"})
_TEXTS = frozenset({"text", "input_text", "output_text", None})  # kinds of blocks whose text is read
_PART_OF_TEXT = frozenset({"text", "thought", "thoughtSignature", "thought_signature"})  # of Gemini
_ID = expression(r"[\w.:|/+=~-]*+\Z")  # also a signature: one long word
_NOTHING: tuple[object, ...] = (None, False, "", [], {})


def own_words(raw: bytes) -> LooseWords:
    """Digests of all that a client's own message holds beside its texts; of these it never leaves anything out."""
    value = _digested(raw) if len(raw) > LONG else decode(raw)
    pieces: set[bytes] = set()
    for item in value if isinstance(value, list) else [value]:
        for name, words in _beside_texts(item, 0):
            pieces.add(word_digest(name.encode(), msgspec.json.encode(words, order="sorted")))
    return frozenset(pieces) if pieces else NO_WORDS


def _digested(raw: bytes | msgspec.Raw) -> object:
    """A long message with a digest in place of each long piece, so that none of them is held once more."""
    if len(memoryview(raw)) <= _SHORT:
        return decode(bytes(raw))
    start = bytes(memoryview(raw)[:1])
    if start == b"[":
        return [_digested(each) for each in elements(raw)]
    if start == b"{":
        return {name: _digested(each) for name, each in fields(raw).items()}
    return blake2b(memoryview(raw), digest_size=16).hexdigest()


def _beside_texts(value: object, depth: int) -> Iterator[tuple[str, object]]:
    if not isinstance(value, Mapping):
        return
    if depth > _DEEPEST:
        yield "deep", value
        return
    if depth == 0 and value.get("role", "user") not in _ROLES:
        yield "role", value["role"]
    for name, inner in value.items():
        if inner in _NOTHING or (name in _NUMBERED and _is_an_id(inner)) or _is_renewed(name, inner):
            continue
        if _is_text(value, name, inner, depth):
            continue
        if isinstance(inner, list) and name == _list_read(value, depth):
            for each in inner:
                yield from _beside_texts(each, depth + 1) if isinstance(each, Mapping) else [(name, each)]
        elif name in ("functionResponse", "function_response") and isinstance(inner, Mapping):
            yield name, {key: each for key, each in inner.items() if key != "id"}  # clients rename it
        else:
            yield name, inner


def _is_an_id(value: object) -> bool:
    """Whether a value is as ids, kinds and signatures are: without a space, so that it holds no sentence."""
    return isinstance(value, str) and _ID.match(value) is not None


def _list_read(block: Mapping[str, object], depth: int) -> str:
    """The field of a message, a result or an item whose blocks are read; of several lists none is known to be it."""
    if depth > 0:
        return "content" if block.get("type") == "tool_result" else ""
    held = [name for name in ("content", "parts", "output") if block.get(name) not in _NOTHING]
    return held[0] if len(held) == 1 else ""


def _is_renewed(name: str, value: object) -> bool:
    """Marks for caches, and states: without words."""
    if name == MARK:
        return isinstance(value, Mapping) and value.keys() <= {"type", "ttl"}
    return (name == "status" and value in _STATES) or (name == "is_error" and value is True)


def _is_text(block: Mapping[str, object], name: str, value: object, depth: int) -> bool:
    """Whether this is where a text stands: on a message, in a result, or in a block of text."""
    if not isinstance(value, str):
        return False
    kind = block.get("type")
    if name == "text":
        return depth > 0 and kind in _TEXTS and (kind is not None or block.keys() <= _PART_OF_TEXT)
    if name == "content":
        return ("role" in block and _list_read(block, 0) == name) if depth == 0 else kind == "tool_result"
    return name == "output" and depth == 0 and str(kind).endswith("_output") and _list_read(block, 0) == name
