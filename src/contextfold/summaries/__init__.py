"""What stands in for what is folded: prompts, checks, the digest, and every text that models and people read."""

from .checks import Refusal, check
from .coverage import Rest, no_rest
from .earlier import is_digest, unlike_digest
from .extractive import OutOfTime, Stopwatch, digest, ledger
from .notebook import Notebook, NotebookShelf, reuse
from .passages import SourceMessage
from .prompt import Prompt, Shared, closing_request, missing_sections, prompt, second_pass
from .quick import quick_digest
from .request import Language, SummaryRequest, beginning_of, language_of
from .texts import (
    PREVIEW,
    ClearedKind,
    cleared_block_text,
    cleared_text,
    covered,
    emergency_header,
    fold_notice,
    frame,
    gap_text,
    go_on_text,
    guarded,
    interrupted_text,
    neutral,
    nonce_of,
    offload_text,
    placeholder,
    pruned_notice,
    said,
    spoken,
    summary_text,
    window_text,
)

__all__ = [
    "PREVIEW",
    "ClearedKind",
    "Language",
    "Notebook",
    "NotebookShelf",
    "OutOfTime",
    "Prompt",
    "Refusal",
    "Rest",
    "Shared",
    "SourceMessage",
    "Stopwatch",
    "SummaryRequest",
    "beginning_of",
    "check",
    "cleared_block_text",
    "cleared_text",
    "closing_request",
    "covered",
    "digest",
    "emergency_header",
    "fold_notice",
    "frame",
    "gap_text",
    "go_on_text",
    "guarded",
    "interrupted_text",
    "is_digest",
    "language_of",
    "ledger",
    "missing_sections",
    "neutral",
    "no_rest",
    "nonce_of",
    "offload_text",
    "placeholder",
    "prompt",
    "pruned_notice",
    "quick_digest",
    "reuse",
    "said",
    "second_pass",
    "spoken",
    "summary_text",
    "unlike_digest",
    "window_text",
]
