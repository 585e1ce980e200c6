"""Wire formats: a package each (parse, render, rules), found by name. No I/O; nothing here decides what to fold."""

from .anthropic import Anthropic
from .openai_chat import OpenAIChat
from .registry import Format, all_known, detect, find, known, names, reply, spoken

__all__ = ["Anthropic", "Format", "OpenAIChat", "all_known", "detect", "find", "known", "names", "reply", "spoken"]
