"""Where a view may be cut: one file a rule, each saying which neighbours it keeps together and how to check a view.

A cut is legal where every rule allows it. Rules look at outlines only; what a provider's wire format demands beyond
these is the dialects' business.
"""

from collections.abc import Sequence

from contextfold.domain.items import Item
from contextfold.domain.reply import Problem

from . import batch, completion, pairing, reasoning
from .edge import Edge
from .reasoning import leads_on

RULES = (pairing, batch, completion, reasoning)
_KEEP = tuple(rule.keeps_together for rule in RULES)


def keeps_together(edge: Edge) -> bool:
    """Whether some rule forbids a cut between these neighbours."""
    for keeps in _KEEP:  # noqa: SIM110  # a generator here would cost as much as the rules themselves, on every append
        if keeps(edge):
            return True
    return False


def check(items: Sequence[Item]) -> list[Problem]:
    """Everything in a view that would break a rule."""
    return [problem for rule in RULES for problem in rule.check(items)]


__all__ = ["RULES", "Edge", "check", "keeps_together", "leads_on"]
