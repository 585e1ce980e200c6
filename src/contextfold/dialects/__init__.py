"""Wire formats: a package each (parse, render, rules), found by name. No I/O; nothing here decides what to fold."""

from . import neutral
from .aliases import IdFields
from .anthropic import AnthropicDialect
from .asked import asked_in
from .cache_marks import Marks, boundary, newest_fold
from .compaction import Wish
from .dialect import Dialect
from .gathering import Heard
from .gemini import GeminiDialect
from .given import plain, together, understand
from .mending import Repair, Repaired
from .openai_chat import OpenAIChatDialect
from .openai_responses import OpenAIResponsesDialect
from .registry import all_known, detect, find, known, names, reading, reply, spoken, suited
from .streams import Listener
from .usage import bill

__all__ = [
    "AnthropicDialect",
    "Dialect",
    "GeminiDialect",
    "Heard",
    "IdFields",
    "Listener",
    "Marks",
    "OpenAIChatDialect",
    "OpenAIResponsesDialect",
    "Repair",
    "Repaired",
    "Wish",
    "all_known",
    "asked_in",
    "bill",
    "boundary",
    "detect",
    "find",
    "known",
    "names",
    "neutral",
    "newest_fold",
    "plain",
    "reading",
    "reply",
    "spoken",
    "suited",
    "together",
    "understand",
]
