"""The digest: a summary without a model, made of the conversation's own lines.

Every line is a candidate; those are shown that most likely will be needed again. Deterministic, within its budget to
the token, readable, in the order of time. It invents nothing, rewords nothing, and shows nothing of the reasoning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .composer import Composer
from .cuts import MARK, Count, head
from .frames import neutral
from .layout import Page
from .lines import split
from .request import SummaryRequest

MEGABYTE = 1_000_000  # characters that a digest's time is allowed for


class OutOfTime(Exception):
    """A digest took longer than it may."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Looks at a clock while a digest is made, and stops it when its time is over."""

    clock: Callable[[], float]
    until: float

    @classmethod
    def on(cls, request: SummaryRequest, clock: Callable[[], float], seconds: float) -> Watch:
        """So many seconds for each million characters begun, because a larger history takes longer to read."""
        sources = (*request.earlier, *request.sources, *request.kept)
        size = len(request.previous) + sum(len(source.message.text) for source in sources)
        return cls(clock, clock() + seconds * (size // MEGABYTE + 1))

    def look(self) -> None:
        if self.clock() > self.until:
            raise OutOfTime


def digest(request: SummaryRequest, count: Count, watch: Watch | None = None) -> str:
    """The digest of the request's sources and its previous summary, within its budget; empty if there is nothing.

    Raises `OutOfTime` where a watch says so.
    """
    return _composed(request, count, "", watch)


def quick_digest(request: SummaryRequest, count: Count) -> str:
    """The previous summary's beginning, then the newest words of each speaker: for when there is no time to choose."""
    before = head(request.previous[: request.budget * _QUICK_CHARACTERS], request.budget // 4, count)
    front = [f"- {line}" for line in before.splitlines() if line.strip()]
    room = request.budget - sum(count(line) + 1 for line in front)
    newest: list[str] = []
    for source in reversed(request.sources):
        said = next(split(source.message.text[: _QUICK_CHARACTERS * 8]), "")[:_QUICK_CHARACTERS]
        line = f"#{source.seq} {'>' if source.message.role == 'user' else '-'} {said}"
        room -= count(line) + 1
        if room < 0:
            break
        newest += [line] if said else []
    return head(neutral("\n".join((*front, *reversed(newest)))), request.budget, count, f"\n{MARK}")


_QUICK_CHARACTERS = 200  # of one message


def ledger(request: SummaryRequest, count: Count, missing_from: str) -> str:
    """What the digest has and a summary written by a model lacks, to stand behind that summary."""
    return _composed(request, count, missing_from)


def _composed(request: SummaryRequest, count: Count, standing: str, watch: Watch | None = None) -> str:
    if request.budget <= 0:
        return ""
    composer = Composer(request, count, standing, watch.look if watch else lambda: None)
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
