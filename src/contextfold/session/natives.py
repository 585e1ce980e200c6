"""What a provider compacts by itself: from when on, by which request, and what it made that still stands.

Looks and writes requests; `compaction` decides what becomes of the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold import dialects
from contextfold.domain import Folded, decode
from contextfold.folding import Budget, Native, PlannedFold, Policy
from contextfold.models import Model
from contextfold.thread import Thread

LEAST = 50_000  # tokens; the smallest size from which a provider compacts by itself


class Natives:
    """The live folds of what a provider made. Each time only what happened since the last look is looked at."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._found: list[int] = []
        self._seen = 0

    def live(self) -> list[tuple[int, Folded]]:
        projection = self._thread.branch
        if self._seen != len(projection.events):
            self._found += [entry.seq for entry in projection.events[self._seen :] if _is_native(entry.event)]
            self._seen = len(projection.events)
        if not self._found:
            return []
        found = [projection.folds[seq] for seq in self._found if seq in projection.folds]
        return [(fold.seq, fold.event) for fold in found if fold.is_live]


def _is_native(event: object) -> bool:
    return isinstance(event, Folded) and event.kind == "native"


def compacts_at(policy: Policy, model: Model, budget: Budget, dialect: str) -> int:
    """From which size on the provider compacts by itself, if the policy prefers that and the model can; else 0."""
    on_demand = any(isinstance(stage, Native) for stage in policy.stages)
    if policy.native != "prefer" or on_demand or dialects.find(dialect).inline not in model.compaction:
        return 0
    firings = [trigger.fires(budget.usable, budget, model) for trigger in policy.triggers]
    at = max(LEAST, min((firing.threshold for firing in firings if firing), default=0))
    return at if at < budget.usable else 0


def compacts_on_demand(model: Model, dialect: str) -> bool:
    """Whether the model's provider compacts when it is asked to, in this dialect."""
    return bool(dialects.known(dialect)) and dialects.find(dialect).on_demand in model.compaction


def compaction_request(
    thread: Thread, planned: PlannedFold, dialect: str, system: object, tools: object
) -> Mapping[str, Any]:
    """The request that has the provider compact what a fold is to hide: the conversation up to there, unchanged."""
    view, covered = thread.view, {*planned.seqs, *planned.folds}
    stop = max(place for place, item in enumerate(view.items) if item.seq in covered) + 1
    fields: dict[str, object] = {"model": thread.model.name}
    if system:
        fields["system"] = system
    rendering = thread.rendering(dialect)
    fields |= rendering.dialect.compaction_settings(tools)
    chunks = rendering.chunks(view, thread.lens)[:stop]
    body: Mapping[str, Any] = decode(rendering.dialect.body(chunks, fields, view.item(0)))
    return body
