"""What stands in for what is folded: prompts, checks, the digest, and every text that models and people read."""

from .checks import check
from .extractive import OutOfTime, Watch, digest, ledger, quick_digest
from .frames import frame, guarded, neutral, nonce_of
from .language import Language, language_of
from .prompt import Prompt, prompt
from .refusal import Refusal
from .request import Source, SummaryRequest
from .reuse import reuse
from .sections import missing_sections, second_pass
from .shared_prompt import Shared, closing_request
from .speech import placeholder, said, spoken
from .texts import (
    ClearedKind,
    cleared_block_text,
    cleared_text,
    covered,
    emergency_header,
    fold_notice,
    gap_text,
    go_on_text,
    interrupted_text,
    offload_text,
    pruned_notice,
    summary_text,
    window_text,
)

__all__ = [
    "ClearedKind",
    "Language",
    "OutOfTime",
    "Prompt",
    "Refusal",
    "Shared",
    "Source",
    "SummaryRequest",
    "Watch",
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
    "language_of",
    "ledger",
    "missing_sections",
    "neutral",
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
    "window_text",
]
