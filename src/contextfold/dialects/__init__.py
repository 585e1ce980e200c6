"""Wire formats: a package each (parse, render, rules), found by name. No I/O; nothing here decides what to fold."""

from .anthropic import Anthropic
from .asked import asked_in
from .gathering import Heard
from .gemini import Gemini
from .mending import Repair, Repaired
from .openai_chat import OpenAIChat
from .openai_responses import OpenAIResponses
from .registry import Format, all_known, detect, find, known, names, reading, reply, spoken, suited
from .streams import Listener

__all__ = [
    "Anthropic",
    "Format",
    "Gemini",
    "Heard",
    "Listener",
    "OpenAIChat",
    "OpenAIResponses",
    "Repair",
    "Repaired",
    "all_known",
    "asked_in",
    "detect",
    "find",
    "known",
    "names",
    "reading",
    "reply",
    "spoken",
    "suited",
]
