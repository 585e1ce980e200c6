"""A session for a command: the thread that was named, with the recipe in force.

Apart from `invocation`, because folding takes longest to import and many commands only look.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import contextfold as cf
from contextfold.errors import BadConfiguration
from contextfold.folding import Policy, Summarizer, recipes
from contextfold.models import nearest

from .invocation import Invocation


@contextmanager
def session_of(call: Invocation, summarizer: Summarizer | None = None) -> Iterator[cf.Session]:
    """The thread that was named, with the policy in force; `summarizer` writes its summaries."""
    policy = policy_of(call)
    if summarizer is not None:
        policy = policy.with_(summarizer=summarizer)
    with call.store() as store:
        artifacts = call.settings["artifacts"] or None
        yield cf.Session.on(store, call.thread_name(store), call.model, policy, artifacts=artifacts)


def policy_of(call: Invocation) -> Policy:
    """The recipe in force, with the profile in force where it takes one."""
    setting = call.settings.settings["policy"]
    name, profile = str(setting.value), call.settings["profile"]
    if name not in recipes.RECIPES:
        guess = nearest(name, list(recipes.RECIPES))
        raise BadConfiguration(f"{setting.source}: there is no recipe {name!r}{guess}")
    if name == "roo_code" and profile:
        return recipes.roo_code(profile=call.settings.models.profile(profile))
    return recipes.RECIPES[name]()
