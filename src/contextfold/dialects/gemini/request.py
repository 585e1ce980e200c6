"""The whole Gemini request: the system instruction and tools on top, the first content from the user.

The joined contents are not looked at, except the very first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contextfold.dialects.neutral import is_blank
from contextfold.dialects.system import LABEL, words
from contextfold.dialects.tools import offered
from contextfold.dialects.wire import request
from contextfold.domain import Item, decode, encode

from .parse import NAME

# The API wants the user to speak first; a view may begin with the model after a fold.
OPENER = encode({"role": "user", "parts": [{"text": "[The conversation continues from here.]"}]})
CONFIG = "generationConfig"


def body(chunks: Sequence[bytes], settings: Mapping[str, Any], first: Item | None) -> bytes:
    """The request's bytes: settings in their order, then the contents."""
    settings = offered(settings, NAME)
    system = words(settings.pop("system", None))
    contents = list(filter(None, chunks))
    if contents and first is not None and first.shape.role == "system" and contents[0] is chunks[0]:
        lifted = words(decode(contents.pop(0))).removeprefix(LABEL)
        system = lifted if is_blank(system) else f"{system}\n{lifted}"
    if not is_blank(system) and "systemInstruction" not in settings:
        settings["systemInstruction"] = {"parts": [{"text": system}]}
    if contents and decode(contents[0]).get("role") == "model":
        contents.insert(0, OPENER)
    return request(settings, contents, "contents")


def arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    """The request as google-genai wants it: `client.models.generate_content(**arguments(request.body))`."""
    beside = {name: value for name, value in body.items() if name not in ("model", "contents", CONFIG)}
    config = {**beside, **(body.get(CONFIG) or {})}
    return {"model": body["model"], "contents": body["contents"], "config": config}
