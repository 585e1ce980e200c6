"""The digest: a summary without a model, made of the conversation's own lines.

Every line is a candidate; those are shown that most likely will be needed again. Deterministic, within its budget to
the token, readable, in the order of time. It invents nothing and rewords nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .coverage import Coverage, Prices, Shown, Worth
from .cuts import Count, head
from .layout import Page, heading
from .lines import Line, lines_of, split
from .passages import History, Topic, history_of
from .request import SummaryRequest
from .requests import keep, sayings, told
from .scoring import DEFINES, chances, plain_words, word_chances
from .terms import Term, terms_in
from .texts import wording

REQUESTS, PLAN, LAST, FILES = 0.35, 0.05, 0.08, 0.06  # shares of the budget; the rest is for lines

_FAILS = re.compile(
    r"\b(?:error|exception|failed|failure|fatal|panic|traceback|undefined|denied|FAIL)\b|エラー|失敗|例外",
    re.IGNORECASE,
)


def digest(request: SummaryRequest, count: Count) -> str:
    """The digest of the request's sources and its previous summary, within its budget."""
    history = history_of(request.sources, request.previous, request.kept)
    if request.budget <= 0 or not history.folded:
        return ""
    lines = lines_of(history.passages)
    page = _Maker(request, count, history, lines).page()
    return _fitted(page, request.budget, count)


class _Maker:
    """Fills a page: fixed sections first, then lines by what they bring."""

    def __init__(self, request: SummaryRequest, count: Count, history: History, lines: list[Line]) -> None:
        self.request, self.count, self.history, self.lines = request, count, history, lines
        self.words = wording(request.language)
        self.shown = Shown()
        said = [passage for passage in history.passages if passage.speaker == "user"]
        wanted = "\n".join(passage.text for passage in said[-2:])
        self.said = [passage for passage in said if passage.order < history.folded]
        self.chances = chances(lines, wanted)
        self._kept = frozenset(source.seq for source in request.kept)
        self._costs: dict[int, int] = {}
        self._headings: dict[Topic, int] = {}
        self._topic_names: dict[Topic, tuple[Term, ...]] = {}
        self._word_chances = word_chances(lines, wanted)
        self._line_words: dict[int, list[str]] = {}

    def page(self) -> Page:
        budget = self.request.budget
        page = Page(self.request.language)
        page.requests = self._requests(int(budget * REQUESTS))
        page.plan = self._plan(int(budget * PLAN))
        page.last = self._last(int(budget * LAST))
        page.topics = self._files(int(budget * FILES))
        for line in self.lines:
            if line.passage.order >= self.history.folded:
                self.shown.add(line.terms, self._words_of(line))
        self._show(page.requests + page.plan + page.last + [topic.name for topic in page.topics])
        self.shown.topics.update(page.topics)
        told = " ".join(page.requests)
        candidates = [line for line in self.lines if line.is_newest and not self._is_told(line, told)]
        topics = (*self.history.files.values(), *self.history.commands)
        worth = Worth(self.chances, self._word_chances, self._words_of, self._factor)
        prices = Prices(self._cost, self._heading_cost, self._names)
        coverage = Coverage(candidates, topics, worth, self.shown, prices)
        for _ in range(3):  # counting parts overestimates the whole; the difference is spent in further rounds
            spent = self.count(page.text())
            if spent >= budget - 8:
                break
            lines, opened = coverage.choose(budget - spent)
            page.lines += lines
            page.topics += opened
        return page

    def _is_told(self, line: Line, told: str) -> bool:
        """Whether the line stands on the page, or in view after it, as it is."""
        return line.passage.order >= self.history.folded or (line.passage.speaker == "user" and line.text in told)

    def _requests(self, room: int) -> list[str]:
        return told(keep(sayings(self.said), room, self.count))

    def _plan(self, room: int) -> list[str]:
        steps = self.history.plan.lines() if self.history.plan.seq not in self._kept else []
        ordered = [step for step in steps if not step[0]] + [step for step in reversed(steps) if step[0]]
        fit = set(_fill([f"- {text}" for _, text in ordered], room, self.count))
        return [line for _, text in steps if (line := f"- {text}") in fit]

    def _last(self, room: int) -> list[str]:
        spoken = [passage for passage in self.history.passages if passage.speaker == "assistant"]
        if spoken and spoken[-1].seq in self._kept:
            return []
        lines = [f"#{spoken[-1].seq} - {text}" for text in split(spoken[-1].text)] if spoken else []
        waiting = [heading(topic, self.words) for topic in self.history.commands[-8:] if not topic.answered]
        return _fill(waiting + lines, room, self.count)

    def _files(self, room: int) -> list[Topic]:
        best = sorted(self.history.files.values(), key=lambda topic: (-self._wanted(topic), -topic.order))
        out = []
        for topic in best:
            price = self._heading_cost(topic)
            if price <= room:
                room -= price
                out.append(topic)
        return out

    def _wanted(self, topic: Topic) -> float:
        return max((self.chances.get(term, 0.0) for term in terms_in(topic.name)), default=0.0)

    def _show(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.shown.add(terms_in(text), plain_words(text))

    def _cost(self, line: Line) -> int:
        cost = self._costs.get(line.place)
        if cost is None:
            cost = self._costs[line.place] = self.count(line.text) + 2
        return cost

    def _heading_cost(self, topic: Topic) -> int:
        cost = self._headings.get(topic)
        if cost is None:
            cost = self._headings[topic] = self.count(heading(topic, self.words)) + 1
        return cost

    def _names(self, topic: Topic) -> tuple[Term, ...]:
        names = self._topic_names.get(topic)
        if names is None:
            names = self._topic_names[topic] = tuple(sorted(terms_in(topic.name)))
        return names

    def _words_of(self, line: Line) -> Sequence[str]:
        if line.passage.speaker != "assistant":
            return ()
        words = self._line_words.get(line.place)
        if words is None:
            words = self._line_words[line.place] = sorted(self._word_chances.keys() & set(plain_words(line.text)))
        return words

    def _factor(self, line: Line) -> float:
        factor = 1.2 if line.passage.speaker in ("assistant", "call") else 1.0
        if line.passage.is_error or _FAILS.search(line.text):
            factor *= 1.15
        if DEFINES.match(line.text):
            factor *= 1.1
        if line.text.count(" ") < 3:
            factor *= 0.6
        return factor * 0.3 if line.is_replaced else factor


def _fill(lines: Iterable[str], room: int, count: Count) -> list[str]:
    out = []
    for line in lines:
        price = count(line) + 1
        if price <= room:
            room -= price
            out.append(line)
    return out


def _fitted(page: Page, budget: int, count: Count) -> str:
    """The page's text within the budget: the last chosen lines go first, and a very small budget gets its beginning."""
    text = page.text()
    while count(text) > budget and (page.lines or page.topics or page.plan):
        if page.lines:
            page.lines = page.lines[: -max(1, len(page.lines) // 50)]
        elif page.topics:
            page.topics = page.topics[:-1]
        else:
            page.plan = page.plan[:-1]
        text = page.text()
    return text if count(text) <= budget else head(text, budget, count)
