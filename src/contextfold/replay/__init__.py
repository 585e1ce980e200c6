"""Recorded sessions through policies: validity, fit, folds, tokens, cache, money and what is kept, without a model."""

from contextfold.domain.harmless import short_line as harmless

from .html import as_html
from .products import full, recorded
from .recorded_session import RecordedSession
from .results import report_of, totals_of, without_times
from .run import OnProgress, replay
from .tables import Lang, answer, as_csv, as_markdown, baseline, money
from .values import (
    FULL,
    RECORDED,
    VERSION,
    Cost,
    Folding,
    ReplayFailure,
    ReplayProgress,
    ReplayReport,
    Retained,
    Row,
    Settings,
    Share,
    Total,
    decode_report,
    encode_report,
    schema,
)
from .walk import THREAD, Walk, walk

__all__ = [
    "FULL",
    "RECORDED",
    "THREAD",
    "VERSION",
    "Cost",
    "Folding",
    "Lang",
    "OnProgress",
    "RecordedSession",
    "ReplayFailure",
    "ReplayProgress",
    "ReplayReport",
    "Retained",
    "Row",
    "Settings",
    "Share",
    "Total",
    "Walk",
    "answer",
    "as_csv",
    "as_html",
    "as_markdown",
    "baseline",
    "decode_report",
    "encode_report",
    "full",
    "harmless",
    "money",
    "recorded",
    "replay",
    "report_of",
    "schema",
    "totals_of",
    "walk",
    "without_times",
]
