"""The Responses API: `/v1/responses`, chains of them, and `/v1/responses/compact`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from contextfold.models import Model
from contextfold.testing.server import formats
from contextfold.testing.server.bill import PromptPiece
from contextfold.testing.server.formats import Accepted, Endpoint, Incoming, sse
from contextfold.testing.server.provider import Vendor
from contextfold.testing.server.refusals import Rejection, refuse
from contextfold.testing.server.script import Question

from .answer import ReadResponses, compacted, tell
from .rules import after_compaction, check_fields, check_items, read_items, threshold

_TOO_LONG: Final = "Your input exceeds the context window of this model. Please adjust your input and try again."


class ResponsesApi:
    """How the Responses API is spoken to."""

    name = "openai-responses"

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        compact = {"/v1/responses/compact": _compact, "/responses/compact": _compact}
        return {"/v1/responses": _respond, "/responses": _respond, **compact}

    def token(self, incoming: Incoming) -> str:
        return formats.token(incoming)

    def shape(self, refused: Rejection) -> tuple[int, Mapping[str, Any]]:
        return formats.shape(refused, _TOO_LONG)

    def headers(self, refused: Rejection) -> Mapping[str, str]:
        return formats.headers(refused)

    def chunk(self, refused: Rejection) -> bytes:
        error = self.shape(refused)[1]["error"]
        event = {"type": "error", "code": error["code"], "message": error["message"], "param": error["param"]}
        return sse({**event, "sequence_number": 99}, "error")


def _respond(provider: Vendor, incoming: Incoming) -> Accepted:
    asking = _read(provider, incoming.body)
    asked = Question("openai-responses", asking.model.id, incoming.body)
    stream = incoming.body.get("stream") is True
    return Accepted(asked, lambda say: tell(provider, asking, say), stream, asking.billed)


def _compact(provider: Vendor, incoming: Incoming) -> Accepted:
    asking = _read(provider, incoming.body)
    if "responses/compact" not in asking.model.compaction:
        raise refuse("This model does not support compaction.", "compaction-unsupported", "model")
    asked = Question("openai-responses", asking.model.id, incoming.body)
    return Accepted(asked, lambda say: compacted(provider, asking, say), billed=asking.billed)


def _read(provider: Vendor, body: dict[str, Any]) -> ReadResponses:
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise refuse("Missing required parameter: 'model'.", "model", "model", "missing_required_parameter")
    model = provider.model(body["model"])
    check_fields(body, model)
    items = after_compaction(provider, read_items(provider, body), model)
    check_items(provider, items, model)
    pieces = _within(provider, body, items, model)
    billed = provider.automatic(f"responses\0{body.get('prompt_cache_key', '')}", pieces, model)
    least = threshold(body)
    if least is not None and "context_management" not in model.compaction:
        raise refuse("This model does not support compaction.", "compaction-unsupported", "context_management")
    return ReadResponses(model, body, items, billed, least is not None and billed.usage.input >= least)


def _within(provider: Vendor, body: Mapping[str, Any], items: list[dict[str, Any]], model: Model) -> list[PromptPiece]:
    """The prompt, cut at its beginning when the request allows it, refused when it does not."""
    fixed: list[Any] = [*(body.get("tools") or []), *([body["instructions"]] if body.get("instructions") else [])]
    head, said = [provider.piece(each, model) for each in fixed], [provider.piece(each, model) for each in items]
    tokens, window = sum(piece.tokens for piece in [*head, *said]), provider.window(model)
    if window is None or tokens <= window:
        return head + said
    if body.get("truncation") != "auto":
        raise Rejection("", kind="too_long", rule="window", param="input", code=f"{tokens}>{window}")
    while said and tokens > window:
        tokens -= said.pop(0).tokens
    return head + said
