"""Wire formats: a package each (parse, render, rules), found by name. No I/O; nothing here decides what to fold."""

from .anthropic import Anthropic
from .asked import asked_in
from .mending import Repair, Repaired
from .openai_chat import OpenAIChat
from .registry import Format, all_known, detect, find, known, names, reply, spoken

__all__ = [
    "Anthropic",
    "Format",
    "OpenAIChat",
    "Repair",
    "Repaired",
    "all_known",
    "asked_in",
    "detect",
    "find",
    "known",
    "names",
    "reply",
    "spoken",
]
