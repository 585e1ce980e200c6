"""What a session tells whoever listens: hooks for programs, a log for those who run them.

Hooks are told, never asked: an error in one is logged and goes no further. The log has numbers, names and reasons,
never anything that was said, and no error's own words, which may hold a key.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from contextfold.folding import MadeFold
from contextfold.models import Model

log = logging.getLogger("contextfold.session")

Hook: TypeAlias = Callable[..., Any] | None


@dataclass(frozen=True, slots=True)
class FoldNotice:
    """A fold was made: what, why, for which model, by whose prompt, and one line for people."""

    fold: MadeFold
    trigger: str
    model: Model
    instructions: str  # the caller's own, as given to the summarizer
    text: str  # one line in the thread's language


@dataclass(frozen=True, slots=True)
class Hooks:
    """Callables, each optional. In an asynchronous session they may be coroutine functions."""

    on_fold: Hook = None  # (FoldNotice)
    on_unfold: Hook = None  # (fold id)
    on_cannot_fit: Hook = None  # (CannotFit)
    on_drift: Hook = None  # (Drift)
    on_warning: Hook = None  # (Decision), once when folding comes nearer
    on_progress: Hook = None  # (stage, done, of)


def journal(level: int, event: str, **facts: object) -> None:
    """One line for people, and the same facts as `record.contextfold` for machines."""
    listed = " ".join(f"{name}={value}" for name, value in facts.items())
    log.log(level, "%s %s", event, listed, extra={"contextfold": {"event": event, **facts}})
