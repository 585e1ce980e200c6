"""Wire formats: a package each (parse, render, rules), found by name. No I/O; nothing here decides what to fold."""

from . import neutral
from .anthropic import AnthropicDialect
from .assembly import Heard
from .cache_marks import Marks, boundary, newest_fold
from .dialect import Dialect, Wish
from .gemini import GeminiDialect
from .given import plain, refuse_empty, together, understand
from .ids import IdFields
from .openai_chat import OpenAIChatDialect
from .openai_responses import OpenAIResponsesDialect
from .options import SETTINGS, without_secrets
from .registry import all_known, asked_in, detect, find, known, names, reading, reply, spoken, suited
from .repairs import OPENING, Repair, Repaired
from .streams import Listener
from .tools import defined
from .usage import bill, neutral_bill
from .wire import elements, fields

__all__ = [
    "OPENING",
    "SETTINGS",
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
    "defined",
    "detect",
    "elements",
    "fields",
    "find",
    "known",
    "names",
    "neutral",
    "neutral_bill",
    "newest_fold",
    "plain",
    "reading",
    "refuse_empty",
    "reply",
    "spoken",
    "suited",
    "together",
    "understand",
    "without_secrets",
]
