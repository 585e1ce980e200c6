"""A session for a command: the thread that was named, with the recipe in force.

Apart from `invocation`, because folding takes longest to import and many commands only look.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import contextfold as cf
from contextfold.folding import Policy, Summarizer
from contextfold.preferences import policy_for

from .invocation import Invocation


@contextmanager
def session_of(call: Invocation, summarizer: Summarizer | None = None) -> Iterator[cf.Session]:
    """The thread that was named, with the policy in force; `summarizer` writes its summaries."""
    with call.store() as store:
        artifacts = call.settings["artifacts"] or None
        name = call.thread_name(store)
        policy = policy_of(call, store.thread(name, model=call.model).model.name, summarizer)
        yield cf.Session.on(store, name, call.model, policy, artifacts=artifacts)


def policy_of(call: Invocation, model: str = "", summarizer: Summarizer | None = None) -> Policy:
    """The recipe in force, under everything that is set about folding."""
    return policy_for(call.settings, model or call.settings["model"], summarizer=summarizer)
