"""What is done otherwise where the log is on another machine: fewer looks, and no commit of several threads."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from contextfold.domain import DistantLog


def one_look(distant: DistantLog | None) -> AbstractContextManager[None]:
    """What is done inside takes one look at the log for granted."""
    return nullcontext() if distant is None else distant.one_look()


def shared_commit(
    distant: DistantLog | None, batch: Callable[[], AbstractContextManager[None]]
) -> AbstractContextManager[None]:
    """One commit for jobs of several threads.

    Two machines that lock the same threads in another order wait for each other, so there each job commits by itself.
    """
    return batch() if distant is None else nullcontext()
