"""Providers as values: which SDK speaks for a model, what a failure is called, what an answer cost, and no keys."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import contextfold as cf
from contextfold.errors import BadConfiguration, ProviderFailed
from contextfold.models import Prices
from contextfold.providers.provider import TokenUsage, failed, kind_of
from contextfold.summaries import Prompt


class Status(Exception):
    def __init__(self, code: int | None = None, words: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(words)
        self.status_code = code
        self.response = type("Response", (), {"headers": headers or {}})()


class ReadTimeout(Exception):
    pass


@pytest.mark.seed("R4")
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Status(401), "auth"),
        (Status(403), "auth"),
        (Status(429), "transient"),
        (Status(500), "transient"),
        (Status(529), "transient"),
        (Status(413), "overflow"),
        (Status(400, "prompt is too long: 9 tokens > 8 maximum"), "overflow"),
        (Status(400, "This model's maximum context length is 8 tokens"), "overflow"),
        (Status(400, "The input token count (9) exceeds the maximum number of tokens allowed (8)."), "overflow"),
        (Status(400, "messages: text content blocks must be non-empty"), "rejected"),
        (Status(404, "model: claude-9"), "rejected"),
        (ConnectionResetError(), "transient"),
        (ReadTimeout(), "transient"),
        (Status(None, "Overloaded"), "transient"),
        (ValueError("The api_key client option must be set"), "auth"),
        (EOFError("The stream ended."), "broken"),
        (Status(429, "Error code: 429 - {'error': {'code': 'insufficient_quota'}}"), "rejected"),
        (Status(400, "Your credit balance is too low to access the API."), "rejected"),
        (ValueError("Streaming is required for operations that may take longer than 10 minutes."), "rejected"),
    ],
)
def test_a_failure_has_one_of_five_kinds(error: Exception, kind: str) -> None:
    assert kind_of(error) == kind


def test_a_failure_repeats_nothing_of_what_was_said() -> None:
    told = failed(Status(401, "Incorrect API key provided: sk-canary", {"retry-after": "3"}), "openai", "gpt-5")
    assert isinstance(told, ProviderFailed)
    assert str(told) == "openai answered 401 for gpt-5 (Status). Set the key that its SDK reads."
    assert (told.kind, told.retry_after) == ("auth", 3.0)
    assert failed(Status(500, headers={"retry-after": "soon"}), "openai", "gpt-5").retry_after is None


@pytest.mark.finding("W14")
def test_a_failure_names_its_cause() -> None:
    unsent = failed(ValueError("Streaming is required"), "anthropic", "claude-haiku-5-5")
    assert str(unsent).startswith(
        "anthropic was not asked for claude-haiku-5-5 (ValueError). Its SDK would not send it"
    )
    poor = failed(Status(429, "insufficient_quota"), "openai", "gpt-5")
    assert (
        str(poor)
        == "openai answered 429 for gpt-5 (Status). Its account has no credit left: add some, or use another key."
    )


def test_an_answer_costs_by_its_parts() -> None:
    usage = TokenUsage(1_000_000, 100_000, 600_000, 300_000)
    assert usage.cost(Prices(2, 10, 0.2, 2.5)) == pytest.approx(0.1 * 2 + 0.6 * 0.2 + 0.3 * 2.5 + 0.1 * 10)
    assert usage.cost(Prices(2, 10)) == pytest.approx(2 + 1)
    assert usage.cost(None) == 0


@pytest.mark.parametrize(
    ("model", "sdk"), [("claude-haiku-5-5", "anthropic"), ("gpt-6-luna", "openai"), ("gemini-3.8-flash", "gemini")]
)
def test_a_model_is_spoken_to_by_its_own_sdk(model: str, sdk: str) -> None:
    provider = cf.providers.named(model)
    assert (provider.speaker.name, provider.model) == (sdk, model)


def test_a_model_without_an_sdk_says_what_to_do() -> None:
    with pytest.raises(BadConfiguration, match=r"deepseek has no SDK here.*base_url"):
        cf.providers.named("deepseek-v4-pro")
    with pytest.raises(BadConfiguration, match="nobody knows"):
        cf.providers.named("mine")


def test_a_provider_can_have_another_model_of_its_own() -> None:
    haiku = cf.providers.anthropic("claude-haiku-5-5")
    other = haiku.of("claude-sonnet-5-5")
    assert other is not None
    assert other.model == "claude-sonnet-5-5"
    assert haiku.of("gpt-6-luna") is None
    local = cf.providers.openai("llama3", base_url="http://127.0.0.1:11434/v1").of("qwen3")
    assert local is not None
    assert local.base_url


@pytest.mark.parametrize("wrong", [{"model": ""}, {"model": "x", "timeout": 0}])
def test_a_provider_that_cannot_work_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadConfiguration):
        cf.providers.openai(**wrong)


def test_no_key_can_be_given_to_a_provider() -> None:
    with pytest.raises(TypeError):
        cf.providers.anthropic("claude-haiku-5-5", api_key="sk-canary")  # type: ignore[call-arg]


def test_no_sdk_is_imported_before_a_model_is_asked() -> None:
    code = (
        "import sys, contextfold as cf; cf.providers.named('claude-haiku-5-5'); cf.providers.gemini('gemini-4-argon');"
        "assert not {'anthropic', 'openai', 'google.genai'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


async def test_a_missing_sdk_is_named_with_its_extra() -> None:
    class Missing:
        name = "anthropic"
        dialects = ("anthropic",)

        def open(self, base_url: str) -> Any:
            raise ImportError(base_url)

    provider = cf.providers.Provider(Missing(), "claude-haiku-5-5")  # type: ignore[arg-type]
    with pytest.raises(BadConfiguration, match=r"contextfold\[anthropic\]"):
        await provider(Prompt("system", "text"))
