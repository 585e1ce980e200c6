"""Gemini models by Google's SDK, which reads GEMINI_API_KEY or GOOGLE_API_KEY."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from contextfold.domain import decode
from contextfold.errors import BadConfiguration
from contextfold.folding import Compacted
from contextfold.models import find
from contextfold.summaries import Prompt

from .provider import Listening, SpokenAnswer, TokenUsage, number

_SPARE = 8_000  # tokens beyond twice the summary: these models think first


class GeminiSdk:
    """Google's SDK."""

    name = "gemini"
    dialects = ("gemini",)
    compacts_in = ""  # no compaction of its own

    def open(self, base_url: str) -> AbstractAsyncContextManager[Any]:
        from google import genai  # noqa: PLC0415 - an extra, imported when it is used

        return _opened(genai.Client(http_options={"base_url": base_url} if base_url else None))

    def speaks_to(self, model: str, base_url: str) -> bool:
        return bool(base_url) or find(model).dialect == "gemini"

    async def ask(self, client: Any, model: str, prompt: Prompt, on_text: Listening) -> SpokenAnswer:
        asked = _asked(model, prompt)
        if on_text is None:
            return _joined([await client.models.generate_content(**asked)])
        answers = []
        async for answer in await client.models.generate_content_stream(**asked):
            answers.append(answer)
            if text := _text(answer):
                on_text(text)
        return _joined(answers)

    async def compact(self, client: Any, model: str, body: Mapping[str, Any], dialect: str) -> Compacted:  # noqa: ARG002
        raise BadConfiguration("Gemini has no compaction of its own. Use a summarizer.")


@asynccontextmanager
async def _opened(client: Any) -> AsyncIterator[Any]:
    """The SDK's client is closed on both of its sides; one that nobody holds would close itself in mid-question."""
    with client:
        async with client.aio as opened:
            yield opened


def _longest(model: str, prompt: Prompt) -> int:
    most = 2 * prompt.budget + _SPARE
    return min(most, find(model).output or most)


def _asked(model: str, prompt: Prompt) -> dict[str, Any]:
    """The prompt alone; or the conversation with one message more, past the SDK's types: signatures must stay as is."""
    if prompt.shared is None:
        config = {"system_instruction": prompt.system, "max_output_tokens": _longest(model, prompt)}
        return {"model": model, "contents": prompt.text, "config": config}
    body: dict[str, Any] = decode(prompt.shared.body)
    body.pop("model", None)
    said = {"role": "user", "parts": [{"text": prompt.shared.text}]}
    settings = {**(body.get("generationConfig") or {}), "maxOutputTokens": _longest(model, prompt)}
    body |= {"contents": [*body["contents"], said], "generationConfig": settings}
    return {"model": model, "contents": prompt.shared.text, "config": {"http_options": {"extra_body": body}}}


def _text(answer: Any) -> str:
    """What was said, not what was thought."""
    parts = [part for candidate in (answer.candidates or [])[:1] for part in _parts(candidate)]
    return "".join(part.text for part in parts if part.text and not part.thought)


def _parts(candidate: Any) -> list[Any]:
    return (candidate.content.parts or []) if candidate.content is not None else []


def _joined(answers: list[Any]) -> SpokenAnswer:
    candidates = [candidate for answer in answers for candidate in (answer.candidates or [])[:1]]
    finishes = [str(each.finish_reason.value).lower() for each in candidates if each.finish_reason is not None]
    blocked = any(getattr(answer.prompt_feedback, "block_reason", None) for answer in answers)
    called = any(part.function_call for candidate in candidates for part in _parts(candidate))
    if not finishes and not blocked:
        raise EOFError("The answer ended before the model did.")
    finish = "safety" if blocked else "tool_calls" if called else finishes[-1]
    usage = answers[-1].usage_metadata if answers else None
    output = number(usage, "candidates_token_count") + number(usage, "thoughts_token_count")
    read = number(usage, "cached_content_token_count")
    text = "".join(_text(answer) for answer in answers)
    return SpokenAnswer(text, finish, TokenUsage(number(usage, "prompt_token_count"), output, read))
