"""The system prompt as plain words, whichever way a caller wrote it, and the words that mark one further on."""

from __future__ import annotations

from msgspec import Raw

from contextfold.domain import decode

# Where a wire takes no system message among the others, one is shown as text of the user's side, under this label; the
# first one is lifted to the top of the request.
LABEL = "[System message]\n"


def words(system: object) -> str:
    """One text: a string, Anthropic's blocks, Gemini's content or parts."""
    if isinstance(system, Raw):
        system = decode(bytes(system))
    if isinstance(system, dict):
        system = system.get("parts", [system])
    if isinstance(system, list | tuple):
        return "\n".join(str(block["text"]) for block in system if isinstance(block, dict) and "text" in block)
    return system if isinstance(system, str) else ""
