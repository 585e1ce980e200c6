"""The whole OpenAI chat request: the system prompt is its first message, tools are functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from contextfold.dialects.halves import whole
from contextfold.dialects.neutral import is_blank
from contextfold.dialects.system import words
from contextfold.dialects.tools import offered
from contextfold.dialects.wire import request
from contextfold.domain import encode

from .parse import NAME


def body(
    chunks: Sequence[bytes], settings: Mapping[str, Any], arranged: Callable[[list[bytes]], list[bytes]] = list
) -> bytes:
    """The request's bytes: settings in their order, then the messages, arranged as the flavour wants them."""
    settings = offered(settings, NAME)
    messages = list(filter(None, chunks))
    system = words(settings.pop("system", None))
    if not is_blank(system):
        messages.insert(0, encode({"role": "system", "content": whole(system)}))
    return request(settings, arranged(messages))
