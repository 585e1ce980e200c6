"""This conversation under several policies: the replay of `contextfold replay`, on one thread, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from contextfold.domain import Appended, encode
from contextfold.errors import NotFound
from contextfold.folding.recipes import RECIPES
from contextfold.replay import ReplayReport, Settings, replay
from contextfold.session import Session

_LISTS = {"gemini": "contents", "openai-responses": "input"}  # what a request calls its messages, where not "messages"


def recorded(session: Session) -> bytes:
    """The live branch as a recording that a replay reads: system, and every message with its bytes."""
    branch, system = session.thread.branch, session.thread.surroundings()[0]
    seqs = [seq for seq in branch.path if isinstance(branch.events[seq - 1].event, Appended)]
    messages = [session.thread.message(seq) for seq in seqs]
    if not messages:
        raise NotFound("Nothing was said in this session yet, so there is nothing to compare.")
    name = _LISTS.get(messages[-1].dialect, "messages")
    raw = b",".join(message.raw for message in messages if message.raw)
    head = b"" if system is None else b'"system":' + encode(system) + b","
    return b"{" + head + encode(name) + b":[" + raw + b"]}"


def compared(recording: bytes, policies: Sequence[str], *, model: str, window: int) -> ReplayReport:
    """What each policy would have made of it."""
    chosen = tuple(dict.fromkeys(policies)) or ("balanced",)
    with TemporaryDirectory(prefix="contextfold-") as directory:
        path = Path(directory) / "session.json"
        path.write_bytes(recording)
        return replay([path], Settings(policies=chosen, model=model, window=window, retention=False))


def policies() -> tuple[str, ...]:
    """The recipes there are to compare."""
    return tuple(RECIPES)
