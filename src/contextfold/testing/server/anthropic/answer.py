"""What the Messages API answers: content blocks with signatures, stop reasons, usage with its cache fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from contextfold.testing.server.answers import Spoken, speak
from contextfold.testing.server.formats import Told
from contextfold.testing.server.provider import Provider
from contextfold.testing.server.script import Say
from contextfold.testing.server.usage import Usage

from .compaction import block as compaction_block
from .request import Asking
from .stream import chunks
from .thinking import BINDING_BETA, sign

_STOPS: Final = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens", "refusal": "refusal"}


def tell(provider: Provider, asking: Asking, say: Say) -> Told:
    """The answer to a request, whole and in pieces."""
    spoken = speak(provider, say, asking.model, "toolu_", asking.body.get("max_tokens"))
    usage = replace(asking.billed.usage, output=spoken.tokens, reasoning=spoken.reasoning)
    if asking.compacts:
        return _compacted(provider, asking, spoken, usage)
    return _told(provider, asking, _content(provider, asking, spoken.say), _STOPS[spoken.say.reason], usage)


def _content(provider: Provider, asking: Asking, say: Say) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if say.thinking:
        signature = sign(provider, asking.model, say.thinking, asking.prefix)
        blocks.append({"type": "thinking", "thinking": say.thinking, "signature": signature})
    if say.text:
        blocks.append({"type": "text", "text": say.text, "citations": None})
    calls = [
        {"type": "tool_use", "id": each.id, "name": each.name, "input": dict(each.arguments)} for each in say.calls
    ]
    return blocks + calls


def _compacted(provider: Provider, asking: Asking, spoken: Spoken, usage: Usage) -> Told:
    """On demand the answer is the block alone; at a threshold it comes first, and is billed as a call of its own."""
    if asking.compacts == "demand":
        content = [compaction_block(provider, asking.model, spoken.say.text)]
        return _told(provider, asking, content, "compaction", usage, [("compaction", usage)])
    summary = f"Summary of the {sum(len(turn.blocks) for turn in asking.turns)} blocks so far."
    block = compaction_block(provider, asking.model, summary)
    first = replace(asking.billed.usage, output=provider.sizes.text(summary, asking.model))
    if asking.compacts == "pause":
        return _told(provider, asking, [block], "compaction", first, [("compaction", first)])
    then = Usage(fresh=provider.sizes.piece(block, asking.model), output=usage.output, reasoning=usage.reasoning)
    content = [block, *_content(provider, asking, spoken.say)]
    iterations = [("compaction", first), ("message", then)]
    return _told(provider, asking, content, _STOPS[spoken.say.reason], then, iterations)


def _told(
    provider: Provider,
    asking: Asking,
    content: list[dict[str, Any]],
    stop: str,
    usage: Usage,
    iterations: list[tuple[str, Usage]] | None = None,
) -> Told:
    fields = usage_fields(usage)
    if iterations is not None:
        fields["iterations"] = [{"type": kind, **usage_fields(each)} for kind, each in iterations]
    body: dict[str, Any] = {
        "id": provider.id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": asking.body["model"],
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": fields,
    }
    if "context_management" in asking.body:
        body["context_management"] = {"applied_edits": asking.applied}
    if BINDING_BETA in asking.betas:
        body["input_transformations"] = asking.dropped
    paid = usage if iterations is None else sum((each for _, each in iterations), Usage())
    return Told(body, paid, chunks(body), asking.model.id)


def usage_fields(usage: Usage) -> dict[str, Any]:
    """`input_tokens` is only what the cache had nothing to do with."""
    written: Mapping[str, int] = {
        "ephemeral_5m_input_tokens": usage.written,
        "ephemeral_1h_input_tokens": usage.written_hour,
    }
    return {
        "input_tokens": usage.fresh,
        "cache_creation_input_tokens": usage.written + usage.written_hour,
        "cache_read_input_tokens": usage.read,
        "cache_creation": written,
        "output_tokens": usage.output,
    }
