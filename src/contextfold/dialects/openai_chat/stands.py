"""Whether an OpenAI chat message may be sent back as it came: asked of every message, so by its outline alone."""

from __future__ import annotations

from contextfold.domain import Shape

# Inside another JSON string the quotes would be escaped, so these bytes are the field's name or a string equal to it.
_CALLS = b'"tool_calls"'


def stands(shape: Shape, raw: bytes) -> bool:
    """Something is said in it, and no list of calls is there to be empty."""
    says, calls = False, False
    for block in shape.blocks:
        if block.kind == "call":
            calls = True
        elif block.kind == "result":
            return block.size > 0  # null content looks the same from here
        elif block.kind != "reasoning" and (block.kind != "text" or block.size):
            says = True
    if shape.role == "assistant" and not calls:
        # An SDK's dump of an answer writes "tool_calls": null, which the API does not take back.
        return says and _CALLS not in raw
    return says or calls
