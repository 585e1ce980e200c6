"""The session the demo runs: a coding agent at work on an imaginary web shop, the same on every machine."""

from __future__ import annotations

from pathlib import Path

from contextfold.domain import encode
from contextfold.private import write_private
from contextfold.replay import RecordedSession, Settings
from contextfold.testing import histories
from contextfold.transcripts import Recorded

from .words import Language

SEED = 20
TOKENS = 70_000  # by a plain tokenizer; the demo's model counts about 120,000
WINDOW = 32_000
MODEL = "claude-sonnet-5-5"
FILE = "session.jsonl"

# Every body is checked and counted anew, not only those that folded: the demo claims it of every request.
SETTINGS = Settings(
    policies=("balanced", "roo_code", "claude_code", "sliding_window"), window=WINDOW, model=MODEL, check_every=1
)


def sitting(language: Language) -> RecordedSession:
    """The session, as if it had been recorded."""
    messages = histories.session(SEED, tokens=TOKENS, language=language)
    turns = tuple(
        Recorded(encode(message), (number,), human=_is_typed(message)) for number, message in enumerate(messages, 1)
    )
    return RecordedSession(FILE, "demo", 0, "generated", histories.SYSTEM, turns, tools=tuple(histories.tools()))


def save(given: RecordedSession, directory: Path) -> Path:
    """The session as JSON lines, for whoever wants to replay it."""
    path = directory / FILE
    write_private(path, b"".join(turn.raw + b"\n" for turn in given.turns))
    return path


def _is_typed(message: object) -> bool:
    return isinstance(message, dict) and message.get("role") == "user" and isinstance(message.get("content"), str)
