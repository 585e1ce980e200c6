"""What the Messages API rejects, one small rule each. Signatures cannot be verified here; all else in the rule book is.

Rules see a request as the API does: neighbouring messages of one role are merged first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from contextfold.dialects.rulebook import read_messages
from contextfold.dialects.surrogates import lone_surrogate
from contextfold.domain import Problem

from . import content, marks, models, pairs
from .models import allowed_in
from .turns import Allowed, MessagesRequest, merged

Rule = Callable[[MessagesRequest], Iterator[Problem]]
RULES: tuple[Rule, ...] = (
    content.unknown_role,
    content.foreign_field,
    content.first_from_user,
    content.system_placement,
    content.ends_with_assistant,
    content.empty_message,
    content.blank_text,
    content.misplaced_thinking,
    content.unsigned_thinking,
    content.empty_error,
    pairs.unanswered_call,
    pairs.orphan_result,
    pairs.orphan_server_result,
    pairs.unanswered_server_call,
    pairs.dangling_caller,
    pairs.results_first,
    pairs.duplicate_result,
    pairs.duplicate_call,
    pairs.misplaced_tool,
    pairs.malformed_call,
    marks.too_many_breakpoints,
    marks.breakpoint_on_thinking,
    marks.breakpoint_order,
    models.sampling,
    models.thinking_budget,
    models.forced_tool,
    models.starts_with_thinking,
)


def check(
    body: Mapping[str, Any], allowed: Allowed | None = None, rules: Sequence[Rule] | None = None
) -> list[Problem]:
    """Everything the API would reject in this request; unless told, the model's name says what it takes."""
    messages, problems = read_messages(body)
    asked = MessagesRequest(body, messages, merged(messages), allowed or allowed_in(body))
    problems += lone_surrogate(body)
    return problems + [problem for rule in rules or RULES for problem in rule(asked)]


__all__ = ["RULES", "Allowed", "allowed_in", "check", "models"]
