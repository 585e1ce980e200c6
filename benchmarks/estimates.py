"""How close our counts are to what providers billed, on recorded runs.

The logs hold neither system prompts nor tool schemas, so a calibration fits a fixed part too. Weights for Claude were
fitted on the runs whose name's SHA-256 is even; both halves are shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import median, quantiles

from benchmarks.frame import Row, absent, at_most, reported
from benchmarks.recorded import ABSENT, Stretch, is_here, japanese_dialogues, stretches
from benchmarks.samples import SAMPLES
from contextfold.domain import Message, Text
from contextfold.tokens import Calibration, counter_for, learn
from contextfold.tokens.counters import weights

_CODEX = "gpt-5.5"


@dataclass(frozen=True, slots=True)
class Judged:
    """Errors of one stretch, each as a share of the bill or of its growth."""

    run: str
    calibrated: list[float]
    next_one: list[float]
    growth: list[float]


def judge(stretch: Stretch) -> Judged:
    """Calibrate on the first fifth of the calls, judge on the rest."""
    raw = _counted(stretch)
    billed = [call.billed for call in stretch.calls]
    taught = max(2, -(-len(raw) // 5))
    calibration = Calibration("")
    next_one = []
    frozen = calibration
    for at, (counted, bill) in enumerate(zip(raw, billed, strict=True)):
        if at == taught:
            frozen = calibration
        if at >= taught:
            next_one.append(abs(calibration.apply(counted) - bill) / bill)
        calibration = learn(calibration, counted, bill)
    rest = zip(raw[taught:], billed[taught:], strict=True)
    steps = zip(pairwise(raw), pairwise(billed), strict=True)
    return Judged(
        stretch.run,
        [abs(frozen.apply(counted) - bill) / bill for counted, bill in rest],
        next_one,
        [
            abs((now - then) - (bill - before)) / (bill - before)
            for (then, now), (before, bill) in steps
            if bill > before
        ],
    )


def _counted(stretch: Stretch) -> list[int]:
    """Our raw count of what each call saw."""
    counter = counter_for(next((call.model for call in stretch.calls if call.model), _CODEX))
    sums = [0, *accumulate(counter.tokens(counter.shape(message)) for message in stretch.messages)]
    return [max(1, sums[min(call.messages, len(sums) - 1)]) for call in stretch.calls]


def _p90(values: Sequence[float]) -> float:
    return quantiles(values, n=10)[-1]


def _is_even(name: str) -> bool:
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == 0


def _pooled(judged: Iterable[Judged], field: str) -> list[float]:
    return [100 * error for each in judged for error in getattr(each, field)]


def _billed(label: str, formats: tuple[str, ...], halves: bool) -> list[Row]:
    judged = [judge(stretch) for stretch in stretches(*formats)]
    calibrated, growth = _pooled(judged, "calibrated"), _pooled(judged, "growth")
    note = f"{len(calibrated)} calls in {len(judged)} stretches"
    rows = [
        at_most(f"{label}: calibrated error, median", median(calibrated), 3, "%", note),
        at_most(f"{label}: calibrated error, p90", _p90(calibrated), 8, "%"),
        at_most(f"{label}: growth uncalibrated, median", median(growth), 15, "%", f"{len(growth)} steps"),
        reported(f"{label}: calibrated at every call, p90", _p90(_pooled(judged, "next_one")), "%"),
    ]
    if halves:
        for name, even in (("fitted on", True), ("not fitted on", False)):
            part = [each for each in judged if _is_even(each.run) is even]
            errors = _pooled(part, "calibrated")
            rows += [
                reported(f"{label}, runs {name}: calibrated median", median(errors), "%", f"p90 {_p90(errors):.2f} %"),
                reported(f"{label}, runs {name}: growth median", median(_pooled(part, "growth")), "%"),
            ]
    return rows


def _samples() -> list[Row]:
    """Estimates from classes against the exact count of the same encoding, on text nobody was fitted on."""
    rows = []
    for kind, text in SAMPLES.items():
        worst, where = 0.0, ""
        for encoding, model in (
            ("o200k", "gpt-5.5"),
            ("qwen", "qwen3"),
            ("deepseek", "deepseek-v3"),
            ("gemma", "gemma-3"),
        ):
            counter = counter_for(model)
            measure = counter.shape(Message("user", (Text(text),))).blocks[0].measure
            exact, estimated = measure.bpe[encoding], weights(encoding).tokens(measure.classes)
            error = 100 * abs(estimated - exact) / exact
            if error >= worst:
                worst, where = error, f"{encoding}: {estimated} for {exact}"
        gate = kind.startswith(("Japanese", "Chinese", "JSON"))
        name = f"{kind}: estimate against exact, worst of four encodings"
        rows.append(at_most(name, worst, 15, "%", where) if gate else reported(name, worst, "%", where))
    return rows


def _dialogues() -> Row:
    """Estimates of whole Japanese dialogues that people had, against the exact count."""
    errors = []
    for text in japanese_dialogues():
        measure = counter_for(_CODEX).shape(Message("user", (Text(text),))).blocks[0].measure
        errors.append(100 * abs(weights("o200k").tokens(measure.classes) - measure.bpe["o200k"]) / measure.bpe["o200k"])
    return at_most("Japanese dialogues: estimate against exact, p90", _p90(errors), 15, "%", f"{len(errors)} dialogues")


def run() -> list[Row]:
    rows = _samples()
    if not is_here():
        return [*rows, absent("billed runs", ABSENT)]
    rows.append(_dialogues())
    return [*rows, *_billed("Claude Code", ("claude-code",), halves=True), *_billed("Codex", ("codex",), halves=False)]
