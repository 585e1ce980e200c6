"""Spans and metrics by the GenAI conventions: numbers, names and reasons, and nothing that was said."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import contextfold as cf
from contextfold.errors import CannotFit
from contextfold.folding import Answer, Policy
from contextfold.session import telemetry
from contextfold.summaries import Prompt

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

MODEL = "claude-sonnet-4-5"
SAYING = "the canary sings at dawn"
SAID = f"{SAYING}. The parser in src/parse.py keeps the port 8443. " * 12
SUMMARY = f"The user works on src/parse.py, where {SAYING}. The port is 8443. Next: run the tests again."


class Seen:
    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = TracerProvider(), MeterProvider([self.reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))

    def spans(self, name: str) -> list[Any]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        metrics = [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics] if data else []
        return [point for metric in metrics if metric.name == name for point in metric.data.data_points]

    def everything(self) -> str:
        return "".join(span.to_json() for span in self.exporter.get_finished_spans()) + str(
            self.reader.get_metrics_data()
        )


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """What OpenTelemetry is told during a test: its API is configured once, so ours is made anew on top of these."""
    from opentelemetry import metrics, trace  # noqa: PLC0415 - an extra

    found = Seen()
    monkeypatch.setattr(trace, "get_tracer", found.tracers.get_tracer)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: found.tracers)
    monkeypatch.setattr(metrics, "get_meter", found.meters.get_meter)
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "6000")
    telemetry._instruments.cache_clear()
    yield found
    telemetry._instruments.cache_clear()


class Writer:
    model = "claude-haiku-5-5"

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def __call__(self, _prompt: Prompt) -> Answer:
        if self.error is not None:
            raise self.error
        return Answer(SUMMARY, "end_turn", self.model, 900, 40, 800, 0.01)


def policy(writer: Writer) -> Policy:
    return cf.recipes.summary(summarizer=writer)


def prepared(writer: Writer) -> cf.Request:
    with cf.Session.open(thread="talk", model=MODEL, policy=policy(writer)) as session:
        for number in range(40):
            session.append({"role": "user", "content": f"Question {number}. {SAID}"})
        return session.prepare(max_tokens=500)


def test_a_turn_is_a_span_with_its_sizes_and_folds(seen: Seen) -> None:
    request = prepared(Writer())
    (span,) = seen.spans("contextfold.prepare")
    assert span.attributes["gen_ai.conversation.id"] == "talk"
    assert span.attributes["gen_ai.request.model"] == MODEL
    assert span.attributes["contextfold.tokens.before"] == request.report.before
    assert [event.name for event in span.events] == ["contextfold.fold"]
    assert [point.value for point in seen.points("contextfold.folds")] == [1]
    assert seen.points("contextfold.tokens.hidden")[0].value > 1_000
    assert seen.points("contextfold.prepare.duration")[0].count == 1


def test_a_question_is_a_client_span_inside_it(seen: Seen) -> None:
    prepared(Writer())
    (turn,), (span,) = seen.spans("contextfold.prepare"), seen.spans("chat claude-haiku-5-5")
    assert span.parent.span_id == turn.context.span_id
    assert span.kind.name == "CLIENT"
    assert {name: value for name, value in span.attributes.items() if name.startswith("gen_ai")} == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "custom",
        "gen_ai.request.model": "claude-haiku-5-5",
        "gen_ai.response.finish_reasons": ("end_turn",),
        "gen_ai.usage.input_tokens": 900,
        "gen_ai.usage.output_tokens": 40,
        "gen_ai.usage.cache_read.input_tokens": 800,
    }
    assert sorted(point.sum for point in seen.points("gen_ai.client.token.usage")) == [40, 900]


def test_a_failure_is_told_by_its_class_alone(seen: Seen) -> None:
    prepared(Writer(RuntimeError(SAYING)))
    (span,) = seen.spans("chat claude-haiku-5-5")
    assert span.attributes["error.type"] == "RuntimeError"
    assert span.status.status_code.name == "ERROR"
    assert [point.attributes["error.type"] for point in seen.points("contextfold.refusals")] == ["failed"]
    assert seen.points("gen_ai.client.operation.duration")[0].attributes["error.type"] == "RuntimeError"


def test_a_turn_that_cannot_fit_ends_its_span(seen: Seen) -> None:
    with cf.Session.open(model=MODEL) as session:
        session.append({"role": "user", "content": SAID * 60})
        with pytest.raises(CannotFit):
            session.prepare()
    (span,) = seen.spans("contextfold.prepare")
    assert span.attributes["error.type"] == "CannotFit"


def test_nothing_that_was_said_is_told(seen: Seen) -> None:
    prepared(Writer())
    prepared(Writer(RuntimeError(SAYING)))
    assert seen.spans("contextfold.prepare")
    assert SAYING not in seen.everything()


def test_the_conventions_own_switch_adds_what_was_asked_and_answered(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(telemetry.CONTENT_SWITCH, "true")
    prepared(Writer())
    (span,) = seen.spans("chat claude-haiku-5-5")
    assert SAYING in span.attributes["gen_ai.output.messages"]
    assert SAYING in span.attributes["gen_ai.input.messages"]


async def test_an_awaited_session_tells_the_same(seen: Seen) -> None:
    session = await cf.aio.Session.open(model=MODEL, policy=policy(Writer()))
    for number in range(40):
        await session.append({"role": "user", "content": f"Question {number}. {SAID}"})
    await session.prepare(max_tokens=500)
    await session.fold()
    await session.close()
    (turn,), (fold,) = seen.spans("contextfold.prepare"), seen.spans("contextfold.fold")
    first = seen.spans("chat claude-haiku-5-5")[0]
    assert first.parent.span_id == turn.context.span_id
    assert fold.attributes["contextfold.trigger"] == "explicit"


def test_without_the_api_nothing_is_told_and_nothing_fails() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "import contextfold as cf\n"
        "with cf.Session.open(model='gpt-4o') as session:\n"
        "    session.append({'role': 'user', 'content': 'Hi'})\n"
        "    assert session.prepare().json\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
