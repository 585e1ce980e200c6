"""The digest: a summary without a model, made of the conversation's own lines.

Every line is a candidate; those are shown that most likely will be needed again. Deterministic, within its budget to
the token, readable, in the order of time. It invents nothing, rewords nothing, and shows nothing of the reasoning.
"""

from __future__ import annotations

from .composing import Composer
from .cuts import Count, head
from .layout import Page
from .request import SummaryRequest


def digest(request: SummaryRequest, count: Count) -> str:
    """The digest of the request's sources and its previous summary, within its budget; empty if there is nothing."""
    return _composed(request, count, "")


def ledger(request: SummaryRequest, count: Count, missing_from: str) -> str:
    """What the digest has and a summary written by a model lacks, to stand behind that summary."""
    return _composed(request, count, missing_from)


def _composed(request: SummaryRequest, count: Count, standing: str) -> str:
    if request.budget <= 0:
        return ""
    composer = Composer(request, count, standing)
    return _fitted(composer.page(), request.budget, count) if composer.history.folded else ""


def _fitted(page: Page, budget: int, count: Count) -> str:
    """The page's text within the budget: what was chosen last goes first, and a tiny budget gets a page's beginning."""
    text = page.text()
    while count(text) > budget and _shortened(page):
        text = page.text()
    return text if count(text) <= budget else head(text, budget, count)


def _shortened(page: Page) -> bool:
    """Take a little away; False if only the user's words and the last words are left."""
    if page.names:
        topic, names = page.names.popitem()
        if names[:-1]:
            page.names[topic] = names[:-1]
    elif page.lines:
        del page.lines[-max(1, len(page.lines) // 50) :]
    elif page.topics:
        page.topics.pop()
    elif page.plan:
        page.plan.pop()
    else:
        return False
    return True
