"""What a session tells whoever listens: hooks for programs, a log, and spans and metrics for OpenTelemetry.

Hooks are told, never asked: an error in one is logged and goes no further. Spans follow the GenAI conventions where
OpenTelemetry's API is installed (`pip install 'contextfold[telemetry]'`), and are nothing where it is not. Numbers,
names and reasons only: what was said is never told unless the conventions' own switch asks for it
(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true), and then only what a summarizer was asked and answered; an
error's own words never, for they may hold a key.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, Final, TypeAlias

from msgspec import Struct, field

from contextfold.domain import encode
from contextfold.folding import Answer, Made, MadeFold, Report, Writer
from contextfold.models import Model
from contextfold.summaries import Prompt
from contextfold.thread import Thread

log = logging.getLogger("contextfold.session")

Hook: TypeAlias = Callable[..., Any] | None


class FoldNotice(Struct, frozen=True):
    """A fold was made: what, why, for which model, by whose prompt, and one line for people."""

    fold: MadeFold
    trigger: str
    model: Model
    instructions: str  # the caller's own, as given to the summarizer
    text: str  # one line in the thread's language


class Hooks(Struct, frozen=True):
    """Callables, each optional. In an asynchronous session they may be coroutine functions."""

    on_fold: Hook = None  # (FoldNotice)
    on_unfold: Hook = None  # (fold id)
    on_cannot_fit: Hook = None  # (CannotFit)
    on_drift: Hook = None  # (Drift)
    on_warning: Hook = None  # (Decision), once when folding comes nearer
    on_progress: Hook = None  # (stage, done, of)


def journal(level: int, event: str, **facts: object) -> None:
    """One line for people, and the same facts as `record.contextfold` for machines; nothing where nobody listens."""
    if not log.isEnabledFor(level):
        return
    listed = " ".join(f"{name}={value}" for name, value in facts.items())
    log.log(level, "%s %s", event, listed, extra={"contextfold": {"event": event, **facts}})


def journal_folds(made: Made, thread: Thread, trigger: str) -> None:
    """One line for each fold, and for each attempt that came to nothing."""
    failed = any(each.refusal is not None and each.strategy == "summarizer" for each in made.attempts)
    if not log.isEnabledFor(logging.WARNING if failed else logging.INFO):
        return
    facts = {"thread": thread.name, "model": thread.model.name, "trigger": trigger}
    for each in made.folds:
        sizes = {"messages": each.messages, "blocks": each.blocks, "before": each.before, "after": each.after}
        journal(logging.INFO, "folded", fold=each.id, kind=each.kind, **facts, **sizes)
    for attempt in made.attempts:
        if attempt.refusal is not None:
            level = logging.WARNING if attempt.strategy == "summarizer" else logging.DEBUG
            journal(level, "refused", strategy=attempt.strategy, reason=attempt.refusal.value, **facts)


CONTENT_SWITCH: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_PROVIDERS: Final = {"gemini": "gcp.gemini"}
_NAME: Final = "contextfold"
_UNSET: Final = frozenset({"ProxyTracerProvider", "NoOpTracerProvider", "_ProxyMeterProvider", "NoOpMeterProvider"})


class Observed(Struct):
    """What became of an operation, as far as it is told; whoever ran it says so here."""

    report: Report | None = None
    answer: object = None

    def reported(self, report: Report) -> None:
        self.report = report

    def answered(self, answer: object) -> object:
        self.answer = answer
        return answer


class _Instruments(Struct, frozen=True):
    """The tracer and the meters of one configuration."""

    tracer: Any
    client_kind: Any
    tokens: Any
    duration: Any
    prepared: Any
    folds: Any
    hidden: Any
    refusals: Any
    is_error: Any = field(default=None)
    providers: tuple[Callable[[], object], ...] = ()


@cache
def _instruments() -> _Instruments | None:
    """Made once; None without the API. The API itself does nothing until somebody configures an SDK."""
    try:
        from opentelemetry import metrics, trace  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    meter = metrics.get_meter(_NAME)
    return _Instruments(
        trace.get_tracer(_NAME),
        trace.SpanKind.CLIENT,
        meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of a summarizer's calls"),
        meter.create_histogram("gen_ai.client.operation.duration", "s", "Time a summarizer took"),
        meter.create_histogram("contextfold.prepare.duration", "s", "Time from asking for a request to having it"),
        meter.create_counter("contextfold.folds", "{fold}", "Folds made"),
        meter.create_counter("contextfold.tokens.hidden", "{token}", "Tokens that folds took out of requests"),
        meter.create_counter("contextfold.refusals", "{attempt}", "Attempts that came to nothing, by their reason"),
        trace.StatusCode.ERROR,
        (trace.get_tracer_provider, metrics.get_meter_provider),
    )


def is_heard() -> bool:
    """Whether somebody configured an SDK: without one every span would be made for nobody."""
    found = _instruments()
    if found is None:
        return False
    for provider in found.providers:  # noqa: SIM110  # asked at every turn: a generator costs a call for each
        if type(provider()).__name__ not in _UNSET:
            return True
    return False


def operation(name: str, thread: Thread) -> AbstractContextManager[Observed]:
    """A span around `prepare` or `fold`; what it reports is told when it ends."""
    found = _instruments()
    if found is None or not is_heard():
        return nullcontext(Observed())
    return _operation(found, name, thread.name, thread.model.name)


@contextmanager
def _operation(found: _Instruments, name: str, thread: str, model: str) -> Iterator[Observed]:
    common = {"gen_ai.request.model": model}
    observed, begun = Observed(), time.perf_counter()
    with _span(found, f"contextfold.{name}", {**common, "gen_ai.conversation.id": thread}) as span:
        yield observed
        if observed.report is not None:
            _report(found, span, observed.report, common)
    found.prepared.record(time.perf_counter() - begun, {**common, "contextfold.operation": name})


def _report(found: _Instruments, span: Any, report: Report, common: Mapping[str, str]) -> None:
    span.set_attributes(
        {
            "contextfold.trigger": report.trigger,
            "contextfold.tokens.before": report.before,
            "contextfold.tokens.after": report.after,
            "contextfold.tokens.usable": report.usable,
            "contextfold.folds": len(report.folds),
        }
    )
    for fold in report.folds:
        kind = {"contextfold.fold.kind": fold.kind, "contextfold.trigger": report.trigger}
        sizes = {"contextfold.tokens.before": fold.before, "contextfold.tokens.after": fold.after}
        span.add_event("contextfold.fold", {**kind, **sizes, "contextfold.fold.id": fold.id})
        found.folds.add(1, {**common, **kind})
        found.hidden.add(max(0, fold.before - fold.after), {**common, **kind})
    for attempt in report.attempts:
        if attempt.refusal is not None:
            why = {"contextfold.strategy": attempt.strategy, "error.type": attempt.refusal.value}
            span.add_event("contextfold.refusal", why)
            found.refusals.add(1, {**common, **why})


def question(writer: Writer, prompt: Prompt) -> AbstractContextManager[Observed]:
    """A span around one question to a summarizer."""
    found = _instruments()
    return nullcontext(Observed()) if found is None else _question(found, writer, prompt)


@contextmanager
def _question(found: _Instruments, writer: Writer, prompt: Prompt) -> Iterator[Observed]:
    model = writer if isinstance(writer, str) else str(getattr(writer, "model", "") or "unknown")
    provider = str(getattr(getattr(writer, "speaker", None), "name", "custom"))
    common = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
        "gen_ai.request.model": model,
    }
    observed, begun, failed = Observed(), time.perf_counter(), ""
    try:
        with _span(found, f"chat {model}", common, kind=found.client_kind) as span:
            yield observed
            _answer(found, span, observed.answer, common)
            if os.environ.get(CONTENT_SWITCH, "").lower() == "true":
                span.set_attributes(_content(prompt, observed.answer))
    except BaseException as error:
        failed = type(error).__name__
        raise
    finally:
        found.duration.record(time.perf_counter() - begun, {**common, **({"error.type": failed} if failed else {})})


def _answer(found: _Instruments, span: Any, answer: object, common: Mapping[str, str]) -> None:
    if not isinstance(answer, Answer):
        return
    span.set_attributes(
        {
            "gen_ai.response.finish_reasons": [answer.finish],
            "gen_ai.usage.input_tokens": answer.input_tokens,
            "gen_ai.usage.output_tokens": answer.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": answer.cache_read,
            "contextfold.cost": answer.cost,
        }
    )
    found.tokens.record(answer.input_tokens, {**common, "gen_ai.token.type": "input"})
    found.tokens.record(answer.output_tokens, {**common, "gen_ai.token.type": "output"})


def _content(prompt: Prompt, answer: object) -> dict[str, str]:
    """What was asked and answered, in the conventions' shape; only when somebody asks for it."""
    asked = [{"role": "user", "parts": [{"type": "text", "content": prompt.text}]}]
    text = answer.text if isinstance(answer, Answer) else str(answer)
    said = [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]
    return {
        "gen_ai.system_instructions": encode([{"type": "text", "content": prompt.system}]).decode(),
        "gen_ai.input.messages": encode(asked).decode(),
        "gen_ai.output.messages": encode(said).decode(),
    }


@contextmanager
def _span(found: _Instruments, name: str, attributes: Mapping[str, str], **more: Any) -> Iterator[Any]:
    """A span that tells an error's class and nothing of its words."""
    quiet = {"record_exception": False, "set_status_on_exception": False}
    with found.tracer.start_as_current_span(name, attributes=attributes, **quiet, **more) as span:
        try:
            yield span
        except BaseException as error:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(found.is_error)
            raise
