"""The digest: a summary without a model, made of the conversation's own lines.

The user's orders, the plan, where the work stands, what the model concluded and the files have room of their own; every
other line is a candidate, and those are shown that most likely will be needed again. What the reader has in view anyway
is worth nothing here. Deterministic, within its budget to the token, readable, in the order of time. It invents
nothing, rewords nothing, and shows nothing of the reasoning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from msgspec import Struct

from .chances import Chances, WordChances, plain_words
from .coverage import (
    WORD_WORTH,
    Coverage,
    DigestLine,
    Exposure,
    LinePrices,
    Rest,
    WordWorths,
    no_rest,
    resting,
    without_alike,
)
from .lines import Count, Term, head, split, telling, terms_in
from .notebook import Notebook
from .page import Page, heading
from .passages import Topic
from .request import SummaryRequest
from .roots import common_root, shortened
from .sayings import by_recency, keep, needed, sentences, told, with_task
from .texts import wording

# Shares of the budget; what they leave unused, and the rest, is for lines. Each section has its share before any line.
REQUESTS, PLAN, WORK, TALK, FILES, NAMES = 0.35, 0.04, 0.1, 0.1, 0.06, 0.12
REPORTS = 0.04  # for what may be words of a user who rejected a command; a tool may have made them up
PROTECTED_REQUESTS = 0.5  # what the user's orders may take where they need it
ONE_CALL = 3  # one part in so many is the most for lines of one call
_ROUNDS = 3
TALK_WORTH = 0.4  # of a rare word, where what the model said is chosen
LEAST_WORTH = 0.25  # of a word, as a share, in large digests: there the lines of names bring most words with them
TIGHT = 3_000  # tokens below which a word is worth less than that: every line has to name something
LARGE = 4_000  # tokens from which on talk, and where the work stands, have their whole share; with less, names pay more
_MOST_NAMES = 400  # tokens; beyond, lines are the better use of room
_SPARE = 8  # tokens not worth another round
_NEWEST_COMMANDS = 60  # that may say where the work stands
_LABEL = 6  # tokens that name the tool in front of a line
_SHORT = 100  # characters of such a command

_NAMED = frozenset({"ident", "error", "flag", "path", "hash"})  # kinds that say something beside the file they stand in


class Composer:
    """Makes one page. `standing` is text the reader has beside it.

    `look` is called at each piece of text that is weighed, and may raise; `rest` wherever else it takes its time.
    """

    def __init__(
        self,
        notebook: Notebook,
        request: SummaryRequest,
        count: Count,
        standing: str = "",
        look: Rest = no_rest,
        rest: Rest = no_rest,
    ) -> None:
        self.notebook, self.request, self.count, self.standing = notebook, request, count, standing
        self.look, self.rest = look, rest
        self.words = wording(request.language)
        self.root = common_root(notebook.reader.files)
        self.chances: Chances = notebook.chances()
        self.shown = Exposure(self.chances)
        self.word_chances = WordChances(notebook.uses, notebook.wanted)
        self._kept = frozenset(source.seq for source in request.kept)
        self._headings: dict[Topic, int] = {}

    def page(self) -> tuple[Page, str]:
        """The page, and its text if that fits; it may be a little over the budget, as parts are counted one by one."""
        budget = self.request.budget
        small = min(1.0, budget / LARGE)
        for line in resting(self.notebook.in_view, self.rest):
            self.shown.add(line.terms, line.talk)
        self._show(self.standing.splitlines())
        requests, plan = self._requests(int(budget * REQUESTS)), self._plan(int(budget * PLAN))
        self.rest()
        last = self._work(int(budget * WORK * max(0.6, small)))
        topics = self._files(int(budget * FILES))
        self._show(plan + last + [topic.name for topic in topics])
        for said in requests:  # by its names only: what speaks of a word that was asked for is worth the more
            self.shown.add(terms_in(said))
        self.shown.topics.update(topics)
        self.look()
        candidates = self._candidates(" ".join(requests))
        reports = self._reports(candidates, int(budget * REPORTS))
        talk = self._talk(candidates, int(budget * TALK * small))
        candidates, alike = without_alike([line for line in candidates if line not in reports], self.rest)
        page = Page(self.request.language, requests, plan, [*reports, *talk], topics, last, root=self.root, alike=alike)
        self.look()
        return page, self._spend(page, candidates, budget)

    def _spend(self, page: Page, candidates: Sequence[DigestLine], budget: int) -> str:
        """Lines for what is left, and the text if it fits then and was written.

        The sum of counted parts is more than the whole: the difference is spent again.
        """
        word = WORD_WORTH * min(1.0, budget / TIGHT) ** 2 * max(LEAST_WORTH, min(1.0, LARGE / budget))
        coverage = self._coverage(candidates, self.notebook.topics(), word)
        names = min(int(budget * NAMES), _MOST_NAMES)
        for number in range(_ROUNDS):
            self.look()
            text = page.text()
            left = budget - self.count(text)
            if left <= _SPARE:
                return text if left >= 0 else ""
            lines, opened = coverage.choose(left if number else left - names, budget // ONE_CALL)
            page.lines.extend(lines)
            page.topics.extend(opened)
            if not page.names:
                page.names.update(self._also(page, names))
        return ""

    def _talk(self, candidates: Sequence[DigestLine], room: int) -> list[DigestLine]:
        """What the model concluded: names alone do not say why, nor what was tried and failed."""
        if self.standing:
            return []
        said = [line for line in candidates if line.passage.topic is None and line.passage.is_models_speech]
        chosen = self._coverage(said, (), TALK_WORTH).choose(room, room)[0]
        newest = (line for line in sorted(said, key=lambda line: -line.place) if self._cost(line) <= room)
        return chosen or list(islice(newest, 1))

    def _reports(self, candidates: Sequence[DigestLine], room: int) -> list[DigestLine]:
        """What may be a person's words in a tool's result, the newest first; told as reported by the tool."""
        reports: list[DigestLine] = []
        for line in sorted((line for line in candidates if line.passage.is_doubtful), key=lambda line: -line.place):
            price = self._cost(line) + _LABEL
            if price <= room:
                room -= price
                reports.append(line)
        return reports

    def _candidates(self, told_already: str) -> list[DigestLine]:
        """The lines that may be shown: not what is to be read elsewhere, nor what an edit has replaced since."""
        folded, standing = self.notebook.folded, self.standing
        found: list[DigestLine] = []
        for line in resting(self.notebook.lines.values(), self.rest):
            passage = line.passage
            if passage.is_replaced or passage.order >= folded or (standing and line.text in standing):
                continue
            if passage.speaker.is_person and all(
                piece in told_already or piece in standing for piece in sentences(line.text)
            ):
                continue
            found.append(line)
        return found

    def _coverage(self, candidates: Sequence[DigestLine], topics: Iterable[Topic], word: float) -> Coverage:
        """A choice of these, where a word is worth that share of a name."""
        said = set[str]().union(*[line.talk for line in candidates])
        words = WordWorths(self.word_chances, word, self.shown.words, said)
        return Coverage(candidates, topics, words, self.shown, LinePrices(self._cost, self._heading_cost), self.rest)

    def _requests(self, room: int) -> list[str]:
        said = with_task([each for order, each in self.notebook.said.items() if order < self.notebook.folded])
        protected = [saying for each in said for saying in each if saying.text not in self.standing]
        room = max(room, min(needed(protected, self.notebook.price), int(self.request.budget * PROTECTED_REQUESTS)))
        missing = [saying for saying in by_recency(said) if saying.text not in self.standing]
        return told(keep(missing, room, self.notebook.price))

    def _plan(self, room: int) -> list[str]:
        """Open steps before done ones, as many as fit, in their order."""
        plan = self.notebook.reader.plan
        if self.standing or plan.seq in self._kept:
            return []
        steps = plan.lines()
        ordered = [step for step in steps if not step[0]] + [step for step in reversed(steps) if step[0]]
        fit = set(self._fill([f"- {text}" for _, text in ordered], room))
        return [line for _, text in steps if (line := f"- {text}") in fit]

    def _work(self, room: int) -> list[str]:
        """Where the work stands: calls that wait, the last check, what fails still, and the model's last words."""
        if self.standing:
            return []
        spoken = self.notebook.spoken
        is_hidden = spoken is not None and not self.notebook.is_in_view(spoken)
        lines = [f"#{spoken.seq} - {text}" for text in split(spoken.text)] if spoken is not None and is_hidden else []
        newest = list(self.notebook.reader.commands.values())[-_NEWEST_COMMANDS:]
        waiting = [heading(topic, self.words) for topic in newest[-8:] if is_hidden and not topic.answered]
        ended = [
            f"#{topic.seq} - {shortened(topic.name, self.root)[:_SHORT]} → "
            f"{self.words.marks['failed' if topic.failed else 'ok']}: {topic.outcome}"
            for topic in telling(newest)
            if topic.order < self.notebook.folded
        ]
        said = self._fill(waiting + lines, room - min(room // 2, sum(self.count(line) + 1 for line in ended)))
        return self._fill(ended, room - sum(self.count(line) + 1 for line in said)) + said

    def _files(self, room: int) -> list[Topic]:
        """The files most likely needed again, with or without a line of theirs."""
        files = [topic for topic in self.notebook.reader.files.values() if topic.name not in self.standing]
        wanted = {topic: max((self.chances[term] for term in topic.terms), default=0.0) for topic in files}
        best = sorted(files, key=lambda topic: (-wanted[topic], -topic.order))
        out = []
        for topic in best:
            price = self._heading_cost(topic)
            if price <= room:
                room -= price
                out.append(topic)
        return out

    def _also(self, page: Page, room: int) -> dict[Topic, list[str]]:
        """Names that no shown line has, behind the shown file or command where they stand."""
        where = self._places_of_names(page)
        out: dict[Topic, list[str]] = {}
        best = sorted(resting(where, self.rest), key=lambda term: (-self.chances[term] / (2 + len(term.key) / 4), term))
        for term in resting(best, self.rest):
            price = self.count(f" {term.key},") + (0 if where[term] in out else 5)
            if price > room:
                break
            room -= price
            out.setdefault(where[term], []).append(term.key)
            self.shown.add((term,))
        return out

    def _places_of_names(self, page: Page) -> dict[Term, Topic]:
        """For each name not shown yet a heading on the page, of a file if there is one."""
        opened = set(page.topics) | {line.passage.topic for line in page.lines}
        folded, about = self.notebook.folded, list[tuple[int, Topic, DigestLine]]()
        for line in resting(self.notebook.lines.values(), self.rest):
            passage, topic = line.passage, line.passage.topic
            if passage.order < folded and not passage.is_replaced and topic is not None and topic in opened:
                about.append((line.place, topic, line))
        where: dict[Term, Topic] = {}
        for _, topic, line in sorted(about, key=lambda each: each[0]):
            for term in line.terms:
                is_new = term.kind in _NAMED and not self.shown.terms.is_shown(term)
                if is_new and (topic.is_file or term not in where):
                    where[term] = topic
        told_longer = {term.key.rpartition("/")[2] for term in where if "/" in term.key}
        return {term: topic for term, topic in where.items() if term.key not in told_longer}

    def _show(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.shown.add(terms_in(text), plain_words(text))

    def _fill(self, lines: Iterable[str], room: int) -> list[str]:
        out = []
        for line in lines:
            price = self.count(line) + 1
            if price <= room:
                room -= price
                out.append(line)
        return out

    def _cost(self, line: DigestLine) -> int:
        if not line.price:
            self.look()
            line.weigh(self.count)
        return line.price

    def _heading_cost(self, topic: Topic) -> int:
        cost = self._headings.get(topic)
        if cost is None:
            cost = self._headings[topic] = self.notebook.price(heading(topic, self.words, self.root)) + 1
        return cost


MEGABYTE = 1_000_000  # characters that a digest's time is allowed for


class OutOfTime(Exception):
    """A digest took longer than it may."""


class Stopwatch(Struct, frozen=True):
    """Looks at a clock while a digest is made, and stops it when its time is over; at each look it may `rest`."""

    clock: Callable[[], float]
    until: float
    rest: Rest = no_rest

    @classmethod
    def on(
        cls,
        request: SummaryRequest,
        clock: Callable[[], float],
        seconds: float,
        rest: Rest = no_rest,
    ) -> Stopwatch:
        """So many seconds for each million characters begun, because a larger history takes longer to read."""
        sources = (*request.earlier, *request.sources, *request.kept)
        size = len(request.previous) + sum(len(source.message.text) for source in resting(sources, rest))
        return cls(clock, clock() + seconds * (size // MEGABYTE + 1), rest)

    def look(self) -> None:
        self.rest()
        if self.clock() > self.until:
            raise OutOfTime


def digest(
    request: SummaryRequest, count: Count, watch: Stopwatch | None = None, notebook: Notebook | None = None
) -> str:
    """The digest of the request's sources and its previous summary, within its budget; empty if there is nothing.

    A notebook that stands for the previous summary is gone on with: then nothing earlier is read again. Raises
    `OutOfTime` where a watch says so.
    """
    look, rest = (watch.look, watch.rest) if watch else (no_rest, no_rest)
    return _composed(request, count, "", look, rest, notebook)


def ledger(
    request: SummaryRequest,
    count: Count,
    missing_from: str,
    notebook: Notebook | None = None,
    rest: Rest = no_rest,
) -> str:
    """What the digest has and a summary written by a model lacks, to stand behind that summary."""
    return _composed(request, count, missing_from, rest, rest, notebook)


def _composed(
    request: SummaryRequest, count: Count, standing: str, look: Rest, rest: Rest, notebook: Notebook | None
) -> str:
    if request.budget <= 0:
        return ""
    notebook = notebook or Notebook()
    with notebook.opened(request, count, look):
        if not notebook.folded:
            return ""
        page, text = Composer(notebook, request, count, standing, look, rest).page()
        return text or _fitted(page, request.budget, count, rest)


def _fitted(page: Page, budget: int, count: Count, rest: Rest) -> str:
    """The page's text within the budget: what was chosen last goes first, and a tiny budget gets a page's beginning.

    Writing a page takes longer than taking something from it. So twice as much is taken at every try until it fits,
    and then as much is put back as there is room for.
    """
    text = page.text()
    least, most = 0, 1  # how often something is taken away: too seldom, and often enough
    if count(text) <= budget:
        return text
    while True:
        rest()
        smaller = page.copy()
        is_left = _shortened(smaller, most)
        text = smaller.text()
        if count(text) <= budget:
            break
        if not is_left:
            return head(text, budget, count)
        page, most = smaller, most * 2
    while most - least > 1:
        rest()
        smaller, middle = page.copy(), (least + most) // 2
        _shortened(smaller, middle)
        longer = smaller.text()
        if count(longer) <= budget:
            text, most = longer, middle
        else:
            least = middle
    return text


def _shortened(page: Page, times: int) -> bool:
    """Take a little away, so many times; False if only the user's words and the last words are left."""
    for _ in range(times):
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
